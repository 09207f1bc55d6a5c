"""A fit that fails leaves a model as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator


@contextmanager
def undone_by_errors(*estimators: BaseEstimator) -> Iterator[None]:
    """Let a fit that fails leave estimators as they were, with the draws of the last one."""
    before = [dict(vars(estimator)) for estimator in estimators]
    try:
        yield
    except BaseException:
        for estimator, attributes in zip(estimators, before, strict=True):
            vars(estimator).clear()
            vars(estimator).update(attributes)
        raise
