"""The methods that the paper compares with, behind the scikit-learn interface."""

from __future__ import annotations

from reproduction.peers.kernel_svm import n_support_vectors, rbf_svm
from reproduction.peers.l2_logit import l2_multinomial_logit
from reproduction.peers.multi_hyperplane import AdaptiveMultiHyperplane
from reproduction.peers.multi_hyperplane_cv import AdaptiveMultiHyperplaneCV
from reproduction.peers.multinomial_logit import BayesianMultinomialLogit

__all__ = [
    "AdaptiveMultiHyperplane",
    "AdaptiveMultiHyperplaneCV",
    "BayesianMultinomialLogit",
    "l2_multinomial_logit",
    "n_support_vectors",
    "rbf_svm",
]
