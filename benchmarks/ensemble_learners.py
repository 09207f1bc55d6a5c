"""Learners with `predict_proba`, and four ways in which they handle many classes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pasb import StickEnsembleClassifier


class OneVsOne(ClassifierMixin, BaseEstimator):
    """One class against one other, coupled: scikit-learn's has no probabilities.

    With r_ij the probability of class i against class j, the class probabilities p minimise the
    sum of (r_ji p_i - r_ij p_j)^2 (T.-F. Wu, C.-J. Lin and R. C. Weng, Probability estimates for
    multi-class classification by pairwise coupling, JMLR 5, 2004, their second method).
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimators_ = {}
        for i, j in combinations(range(len(self.classes_)), 2):
            rows = (codes == i) | (codes == j)
            self.estimators_[i, j] = clone(self.estimator).fit(X[rows], codes[rows] == i)
        self.n_fits_ = len(self.estimators_)
        return self

    def predict_proba(self, X):
        n = len(self.classes_)
        r = np.zeros((len(X), n, n))
        for (i, j), model in self.estimators_.items():
            r[:, i, j] = np.clip(model.predict_proba(X)[:, 1], 1e-7, 1 - 1e-7)
            r[:, j, i] = 1 - r[:, i, j]
        return coupled(r)


def coupled(r: np.ndarray) -> np.ndarray:
    """Class probabilities from those of pairs, `r` of shape (rows, classes, classes)."""
    n_rows, n = r.shape[:2]
    system = np.ones((n_rows, n + 1, n + 1))
    system[:, :n, :n] = -np.transpose(r, (0, 2, 1)) * r
    everyone = np.arange(n)
    system[:, everyone, everyone] = (r**2).sum(axis=1)
    system[:, n, n] = 0.0
    right = np.zeros((n_rows, n + 1, 1))
    right[:, n] = 1.0
    p = np.clip(np.linalg.solve(system, right)[:, :n, 0], 0.0, None)
    return p / p.sum(axis=1, keepdims=True)


def boosting(n_columns: int):
    return HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False, random_state=0
    )


def support_vectors(n_columns: int):
    return make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), cv=3, ensemble=False))


def gaussian_process(n_columns: int):
    """With a fixed kernel: its optimisation takes minutes on a lattice, whatever the way."""
    kernel = ConstantKernel(10.0) * RBF(float(np.sqrt(n_columns)))
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, optimizer=None))


def naive_bayes(n_columns: int):
    return GaussianNB(var_smoothing=1e-3)


def logistic(n_columns: int):
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


MOST_FITS = 1000  # all orders up to six classes; the default has no limit up to eight


def sticks(search: str) -> Callable:
    settings = {"search": search, "max_fits": MOST_FITS, "random_state": 0}
    return lambda estimator: StickEnsembleClassifier(estimator, **settings)


LEARNERS: dict[str, Callable] = {
    "gradient boosting": boosting,
    "support vectors": support_vectors,
    "Gaussian process": gaussian_process,
    "naive Bayes": naive_bayes,
    "logistic": logistic,
}
WAYS: dict[str, Callable] = {
    "native": clone,
    "one against rest": OneVsRestClassifier,
    "one against one": OneVsOne,
    "sticks": sticks("auto"),
}
SEARCHES: dict[str, Callable] = {
    "all orders": sticks("lattice"),
    "walk": sticks("walk"),
    "peeled": sticks("peel"),
}
