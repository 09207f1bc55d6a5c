"""L2-regularised logistic regression, one class versus the rest, as LIBLINEAR fits it."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier

COSTS = tuple(2.0**k for k in range(-10, 16))


def l2_multinomial_logit(*, random_state: Any = 0, n_jobs: int | None = None) -> GridSearchCV:
    """L2-regularised logistic regression with its penalty cross-validated.

    One logistic regression a class against all others, with a bias term that is penalised
    like the other coefficients; C from 2^-10, 2^-9, ..., 2^15 by the error of five-fold
    cross-validation, the smallest C of equal ones. The tolerance is LIBLINEAR's default.

    Parameters
    ----------
    random_state : int, RandomState or None, default=0
        Division into folds.
    n_jobs : int or None, default=None
        Fits that run at the same time.

    Returns
    -------
    GridSearchCV
        Not fitted yet. ``best_estimator_`` has one hyperplane a class (the paper counts
        one less).

    Examples
    --------
    >>> from reproduction.peers import l2_multinomial_logit
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = l2_multinomial_logit().fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """
    binary = LogisticRegression(solver="liblinear", tol=0.01, max_iter=1000)
    return GridSearchCV(
        OneVsRestClassifier(binary),
        {"estimator__C": list(COSTS)},
        cv=StratifiedKFold(5, shuffle=True, random_state=random_state),
        n_jobs=n_jobs,
    )
