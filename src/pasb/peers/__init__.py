"""The methods that the paper compares with, behind the scikit-learn interface."""

from __future__ import annotations

from pasb.peers.hyperplanes import AdaptiveMultiHyperplane
from pasb.peers.hyperplanes_cv import AdaptiveMultiHyperplaneCV
from pasb.peers.kernel_svm import n_support_vectors, rbf_svm
from pasb.peers.linear import l2_multinomial_logit
from pasb.peers.multinomial_logit import BayesianMultinomialLogit

__all__ = [
    "AdaptiveMultiHyperplane",
    "AdaptiveMultiHyperplaneCV",
    "BayesianMultinomialLogit",
    "l2_multinomial_logit",
    "n_support_vectors",
    "rbf_svm",
]
