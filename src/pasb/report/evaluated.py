"""The rows a report is about, and what the model says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.covariates.availability import checked_availability
from pasb.covariates.frame_input import rows_of
from pasb.plots.subject import Subject
from pasb.posterior.fitted import Fitted
from pasb.report.row_names import RowNames

NUMBERS = 4e7  # probabilities that are worked out at most; fewer draws where rows are many
FEWEST_DRAWS = 200
SEEN = 0.5  # share of the watched training rows found again, from which rows count as training rows


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A fitted model and some rows, with their probabilities.

    Attributes
    ----------
    subject : Subject
    X : table
        As a user passes it, but only the rows that are looked at.
    columns : table
        The same as the classifier sees it.
    category : integer array of shape (n_rows,) or None
        True classes by number; None where they are not known.
    names : RowNames
        What these rows are called.
    n_given : int
        Rows of that table.
    proba : array of shape (n_rows, n_classes)
    n_draws : int
        Draws that the probabilities average over.
    seen : bool
        Whether these rows look like those of the fit.
    available : boolean array of shape (n_rows, n_classes) or None
        Which classes the rows can choose; None where nothing was said of that.
    """

    subject: Subject
    X: Any
    columns: Any
    category: NDArray[np.int64] | None
    names: RowNames
    n_given: int
    proba: NDArray[np.float64]
    n_draws: int
    seen: bool
    available: NDArray[np.bool_] | None = None

    @property
    def fitted(self) -> Fitted:
        """What was fitted."""
        return self.subject.classifier.fitted_

    @property
    def classes(self) -> list[str]:
        """The labels as text."""
        return [str(label) for label in self.fitted.classes]

    @property
    def n_rows(self) -> int:
        """How many rows are looked at."""
        return len(self.proba)

    @property
    def labels(self) -> NDArray:
        """The true labels."""
        assert self.category is not None
        return self.fitted.classes[self.category]

    def available_to(self, rows: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Which classes some of the rows can choose; None where nothing was said of that."""
        return None if self.available is None else self.available[rows]

    def among_available(
        self, proba: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """What another model's probabilities become over the classes that rows can choose."""
        available = self.available_to(rows)
        if available is None:
            return proba
        left = np.maximum(proba, np.finfo(float).tiny) * available
        return left / left.sum(axis=1, keepdims=True)

    def some(self, most: int) -> NDArray[np.int64]:
        """At most so many of the rows, evenly spaced."""
        return spaced(self.n_rows, most)

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike | None,
        max_rows: int,
        row_numbers: ArrayLike | None = None,
        availability: Any = None,
    ) -> Evaluated:
        """Choose rows, check their labels and predict them."""
        subject = Subject.of(model)
        fitted = subject.classifier.fitted_
        n_given = n_rows_of(X)
        if n_given == 0:
            raise ValueError("X has no rows")
        if availability is None:
            fitted.check_all_available("a report on rows")
        names = RowNames.of(subject, X, n_given, row_numbers)
        row = spaced(n_given, max_rows)
        chosen = X if len(row) == n_given else rows_of(X, row)
        known = None if y is None else categories(y, fitted.classes, n_given)
        available = None
        if availability is not None:
            checked = checked_availability(availability, fitted.classes, n_given, known)
            everything = np.ones((len(row), len(fitted.classes)), dtype=np.bool_)
            available = everything if checked is None else checked[row]
        category = None if known is None else known[row]
        columns = subject.columns(chosen)
        total = fitted.draws.n_chains * fitted.draws.n_draws
        most = int(NUMBERS // (len(row) * len(fitted.classes)))
        n_draws = min(total, max(FEWEST_DRAWS, most))
        proba = subject.classifier.predict_proba(columns, n_draws, available)
        seen = _are_training_rows(fitted, columns)
        names = names.of_rows(row)
        told = (names, n_given, proba, n_draws, seen, available)
        return cls(subject, chosen, columns, category, *told)


def spaced(n: int, most: int) -> NDArray[np.int64]:
    """At most so many of `n` numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def n_rows_of(X: Any) -> int:
    """Rows of a data frame, an array, a sparse matrix or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def categories(y: ArrayLike, classes: NDArray, n_rows: int) -> NDArray[np.int64]:
    """Labels as numbers of classes; ValueError for one that the model does not know."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y must hold a label for each of the {n_rows} rows of X")
    place = {str(label): k for k, label in enumerate(classes.tolist())}
    texts = [str(label) for label in labels.tolist()]
    unknown = next((text for text in texts if text not in place), None)
    if unknown is not None:
        shown = ", ".join(list(place)[:8]) + (" ..." if len(place) > 8 else "")
        raise ValueError(f"y holds {unknown!r}, which is not a class of the model ({shown})")
    return np.array([place[text] for text in texts], dtype=np.int64)


def _are_training_rows(fitted: Fitted, columns: Any) -> bool:
    """Whether most of the training rows that the model remembers are among these rows."""
    watched = fitted.watched.inner
    weights = np.random.default_rng(0).normal(size=watched.shape[1])
    wanted = watched @ weights
    inner = fitted.inner_rows(columns)
    found = np.zeros(len(wanted), dtype=bool)
    for start in range(0, len(inner), 4096):
        there = np.sort(inner[start : start + 4096] @ weights)
        at = np.clip(np.searchsorted(there, wanted), 1, max(1, len(there) - 1))
        for near in (at - 1, np.minimum(at, len(there) - 1)):
            found |= np.isclose(there[near], wanted, rtol=1e-9, atol=1e-9)
    return bool(found.mean() >= SEEN)
