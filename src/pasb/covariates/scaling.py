"""Scale covariates inside the model, and bring coefficients back to the user's scale."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS_AT_ONCE = 4096  # copies of all rows would take more memory than the chains
FARTHEST = 1e150  # on the inner scale; beyond, products and squares would overflow to NaN


def _chunks(weights: NDArray[np.float64]) -> list[slice]:
    """Blocks of rows of which some count."""
    starts = range(0, len(weights), ROWS_AT_ONCE)
    blocks = [slice(start, start + ROWS_AT_ONCE) for start in starts]
    return [part for part in blocks if weights[part].any()]


def ranges_of(X: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least and the greatest value of each column, (columns, 2), of rows that count."""
    parts = _chunks(weights)
    low = np.min([X[part][weights[part] > 0].min(axis=0) for part in parts], axis=0)
    high = np.max([X[part][weights[part] > 0].max(axis=0) for part in parts], axis=0)
    return np.column_stack([low, high])


def checked_ranges(stored: Any, n_columns: int) -> NDArray[np.float64]:
    """Ranges as a file holds them; ValueError for what are none."""
    ranges = np.array(stored, dtype=np.float64)
    if ranges.shape != (n_columns, 2) or not np.isfinite(ranges).all():
        raise ValueError("the ranges do not fit the covariates")
    if (ranges[:, 0] > ranges[:, 1]).any():
        raise ValueError("a range ends before it begins")
    return ranges


class Scaling(NamedTuple):
    """Each covariate becomes (x - centre) / spread."""

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[np.float64], weights: NDArray[np.float64], how: str | None) -> Scaling:
        """Learn the scaling from the training rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        weights : array of shape (n_rows,)
        how : {"standard", "range", None}
            Mean 0 and variance 1; or the range [-1, 1], as in the paper; or unchanged.
        """
        if how is None:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        chunks = _chunks(weights)
        low, high = ranges_of(X, weights).T
        # halves first: high - low may overflow
        centre, spread = low / 2 + high / 2, high / 2 - low / 2
        if how == "standard":
            width, total = np.where(spread > 0, spread, 1.0), weights.sum()

            def weighted_mean(function):
                sums = np.zeros(X.shape[1])
                for part in chunks:
                    w = weights[part]
                    with np.errstate(invalid="ignore", divide="ignore"):
                        unit = (X[part][w > 0] - centre) / width
                    # row by row, so that a column's sum does not depend on its neighbours
                    sums += np.sum((w[w > 0] / total)[:, None] * function(unit), axis=0)
                return sums

            mean = weighted_mean(lambda unit: unit)
            deviation = np.sqrt(weighted_mean(lambda unit: (unit - mean) ** 2))
            centre, spread = centre + mean * spread, deviation * spread
        # a column that varies only by rounding errors counts as constant
        tiny = 1e-13 * np.maximum(np.abs(low), np.abs(high))
        constant = ~(spread > tiny)
        return cls(np.where(constant, low, centre), np.where(constant, 1.0, spread))

    def check(self) -> None:
        """Raise a ValueError for arrays that are not a scaling, as a damaged file may hold."""
        centre, spread = self
        if centre.ndim != 1 or spread.shape != centre.shape:
            raise ValueError("the scaling is incomplete")
        if not (np.isfinite(centre).all() and np.isfinite(spread).all() and (spread > 0).all()):
            raise ValueError("the scaling is impossible")

    def with_constant(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scaled covariates behind a column of ones."""
        out = np.empty((len(X), X.shape[1] + 1))
        out[:, 0] = 1.0
        scaled = out[:, 1:]
        with np.errstate(over="ignore"):
            np.subtract(X, self.centre, out=scaled)
            scaled /= self.spread
        np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)
        return out

    def intercept_and_slopes(
        self, coef: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coefficients on the user's scale; the last axis has the constant first."""
        slopes = coef[..., 1:] / self.spread
        return coef[..., 0] - slopes @ self.centre, slopes
