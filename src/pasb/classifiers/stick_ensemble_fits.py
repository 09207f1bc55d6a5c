"""Fits of scikit-learn estimators on sticks, and how well they predict rows they have not seen.

A stick is a category and the set of categories behind it. Its binary problem has the rows of these
categories, labelled 1 where the row stops at the stick and 0 where it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from pasb.classifiers.settings import method_params, rows_of

LEAST_PROBABILITY = 1e-15  # of a row's own label; trees and neighbours also predict 0
FINAL = -1  # in place of a fold


class Fold(NamedTuple):
    """Rows to learn from and rows to judge by."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


class Share:
    """Takes the place of an estimator where the rows of a stick all have the same label.

    The probability is that of the labels seen, half a row of each label added.

    Parameters
    ----------
    labels : array of 0 and 1
    weights : array
    """

    def __init__(self, labels: NDArray[np.int64], weights: NDArray[np.float64]):
        self.classes_ = np.array([0, 1])
        self.share = float((weights @ labels + 0.5) / (weights.sum() + 1.0))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The same probabilities for every row."""
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        return np.tile([1 - self.share, self.share], (n_rows, 1))


@dataclass(frozen=True)
class StickFits:
    """What the binary fits of all sticks have in common.

    Attributes
    ----------
    estimator : estimator
        Cloned for each fit.
    X : table of any kind that the estimator takes
    categories : integer array of shape (n_rows,)
    weights : array of shape (n_rows,)
        Rows of weight 0 are left out.
    params : dict
        What is passed on to the estimator's `fit`; what has a value for each row is cut to the rows
        of the stick.
    seed : int
        Estimators whose random state is None get one that follows from it, the stick and the fold.
    classes : array
        Names of the categories, for messages.
    """

    estimator: Any
    X: Any
    categories: NDArray[np.int64]
    weights: NDArray[np.float64]
    params: dict[str, Any]
    seed: int
    classes: NDArray

    def rows_and_labels(
        self, category: int, later: int, rows: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of some rows (of all by default) a stick has, and their labels."""
        members = [c for c in range(len(self.classes)) if (later | 1 << category) >> c & 1]
        rows = np.arange(len(self.categories)) if rows is None else rows
        own = rows[np.isin(self.categories[rows], members) & (self.weights[rows] > 0)]
        return own, (self.categories[own] == category).astype(np.int64)

    def fitted(
        self, category: int, later: int, rows: NDArray[np.int64] | None = None, fold: int = FINAL
    ) -> Any:
        """An estimator fitted to a stick, or a `Share` where there is nothing to tell apart."""
        own, labels = self.rows_and_labels(category, later, rows)
        if len(np.unique(labels)) < 2:
            return Share(labels, self.weights[own])
        estimator = clone(self.estimator)
        _seed(estimator, [self.seed, category, later, fold + 1])
        params = method_params(self.X, self.params, own)
        with self._named_errors(category, later, fold):
            return estimator.fit(rows_of(self.X, own), labels, **params)

    @contextmanager
    def _named_errors(self, category: int, later: int, fold: int) -> Iterator[None]:
        """Add to an error of the estimator on which stick it happened."""
        try:
            yield
        except Exception as error:
            where = "" if fold == FINAL else f", with the rows that fold {fold + 1} leaves in"
            members = [c for c in range(len(self.classes)) if (later | 1 << category) >> c & 1]
            counts = {str(self.classes[c]): int(np.sum(self.categories == c)) for c in members}
            shown = ", ".join(f"{n} of {c}" for c, n in counts.items())
            error.add_note(
                f"This happened on the stick {self.name(category, later)}{where}. There are "
                f"{shown} in all; leave out or join classes that are too rare for the estimator."
            )
            raise

    def name(self, category: int, later: int) -> str:
        """A stick in words."""
        behind = [repr(c) for k, c in enumerate(self.classes.tolist()) if later >> k & 1]
        return f"{self.classes.tolist()[category]!r} against {', '.join(behind)}"

    def score(self, category: int, later: int, number: int, fold: Fold) -> tuple[float, bool]:
        """Log-likelihood of the rows that a fold holds out, and whether a fit was needed."""
        model = self.fitted(category, later, fold.train, number)
        rows, labels = self.rows_and_labels(category, later, fold.test)
        real = not isinstance(model, Share)
        if not len(rows):
            return 0.0, real
        with self._named_errors(category, later, number):
            stop, go_on = stop_and_go_on(model, rows_of(self.X, rows))
        own = np.maximum(np.where(labels == 1, stop, go_on), LEAST_PROBABILITY)
        return float(self.weights[rows] @ np.log(own)), real


def stop_and_go_on(model: Any, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of the two labels of a stick, for each row."""
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != 2:
        raise ValueError(
            f"predict_proba of {type(model).__name__} must have two columns on a stick, for the "
            f"labels 0 and 1; its shape is {p.shape}"
        )
    return p[:, 1], p[:, 0]


def _seed(estimator: Any, key: Sequence[int]) -> None:
    """Set the random states of an estimator, and of the steps in it, that are None."""
    parameters = estimator.get_params(deep=True)
    names = [n for n in sorted(parameters) if n.split("__")[-1] == "random_state"]
    seeds = np.random.SeedSequence(key).generate_state(max(1, len(names)))
    chosen = zip(names, (seeds >> 1).tolist(), strict=False)
    estimator.set_params(**{name: seed for name, seed in chosen if parameters[name] is None})
