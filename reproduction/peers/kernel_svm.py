"""Support vector machine with a Gaussian kernel, as LIBSVM fits it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

LOWEST, HIGHEST = -10, 10  # powers of two, for C and for gamma


def rbf_svm(*, step: int = 1, random_state: Any = 0, n_jobs: int | None = None) -> GridSearchCV:
    """Support vector machine with a Gaussian kernel, one class versus one.

    C and gamma each from 2^-10, 2^-9, ..., 2^10 by the error of three-fold
    cross-validation; of equal ones the smallest C, then the smallest gamma.

    Parameters
    ----------
    step : int, default=1
        Distance between the powers of two that are tried: the 441 cells of the paper's grid
        become 121 with 2, and 25 with 5.
    random_state : int, RandomState or None, default=0
        Division into folds.
    n_jobs : int or None, default=None
        Fits that run at the same time.

    Returns
    -------
    GridSearchCV
        Not fitted yet.

    Examples
    --------
    >>> from reproduction.peers import n_support_vectors, rbf_svm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = rbf_svm(step=5).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> n_support_vectors(model) < len(X)
    True
    """
    if step < 1:
        raise ValueError(f"step must be 1 or more, not {step!r}")
    powers = (2.0 ** np.arange(LOWEST, HIGHEST + 1, step)).tolist()
    return GridSearchCV(
        SVC(kernel="rbf"),
        {"C": powers, "gamma": powers},
        cv=StratifiedKFold(3, shuffle=True, random_state=random_state),
        n_jobs=n_jobs,
    )


def n_support_vectors(search: GridSearchCV) -> int:
    """Number of rows that are support vectors of a fitted `rbf_svm`."""
    check_is_fitted(search)
    return int(search.best_estimator_.n_support_.sum())
