"""Error rate, log loss and calibration of predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 10_000


class Scores(NamedTuple):
    """How good predictions are; lower is better.

    Attributes
    ----------
    error : float
        Share of rows whose predicted class is wrong.
    log_loss : float
        Mean of minus the logarithm of the probability given to the true class.
    calibration : float
        Expected calibration error of the predicted class's probability.
    n_rows : int
        Rows they were computed from.
    """

    error: float
    log_loss: float
    calibration: float
    n_rows: int

    @classmethod
    def of(cls, proba: NDArray[np.float64], labels: NDArray, classes: NDArray) -> Scores:
        """From probabilities and true labels, which are compared as text."""
        from pasb.plots.calibration import Calibration

        names, truth = classes.astype(str), np.asarray(labels).astype(str)
        given = (proba * (truth[:, None] == names)).sum(axis=1)
        return cls(
            float(np.mean(names[np.argmax(proba, axis=1)] != truth)),
            float(-np.log(np.maximum(given, np.finfo(float).tiny)).mean()),
            Calibration.of(proba, truth, names).error,
            len(truth),
        )

    def words(self) -> str:
        """One line of numbers."""
        return f"error {self.error:.2%}, log loss {self.log_loss:.4f}"


class RunningScores:
    """Error rate and log loss of rows that come in parts.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    """

    def __init__(self, classes: NDArray):
        self.names = classes.astype(str)
        self.n_rows, self._wrong, self._loss = 0, 0, 0.0

    def add(self, proba: NDArray[np.float64], truth: NDArray[np.str_]) -> None:
        """Take in some rows; those whose label is empty do not count."""
        known = truth != ""
        proba, truth = proba[known], truth[known]
        given = (proba * (truth[:, None] == self.names)).sum(axis=1)
        self.n_rows += len(truth)
        self._wrong += int((self.names[np.argmax(proba, axis=1)] != truth).sum())
        self._loss -= float(np.log(np.maximum(given, np.finfo(float).tiny)).sum())

    def words(self) -> str:
        """One line of numbers."""
        if not self.n_rows:
            return "no labels to compare with"
        return f"error {self._wrong / self.n_rows:.2%}, log loss {self._loss / self.n_rows:.4f}"


def scores_of(model: Any, X: Any, labels: NDArray) -> Scores:
    """Scores on at most `MOST_ROWS` rows, evenly spaced over the table."""
    rows = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MOST_ROWS)).astype(int))
    return Scores.of(model.predict_proba(X.iloc[rows]), labels[rows], model.classes_)
