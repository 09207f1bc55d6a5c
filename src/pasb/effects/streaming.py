"""Averages over rows and intervals of rows, in memory that does not grow with the rows.

An *evaluation* turns some rows into quantities under one slice of draws after the other. Rows are
cut in the same way whatever the number of threads, and sums are taken from the first block to the
last, so that no result depends on that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.effects.altered_rows import AlteredRows, Changes
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import BLOCK
from pasb.posterior.predict import Predictor

ROWS_AT_ONCE = 1024
MOST_GROUPS = 1000
NUMBERS_AT_ONCE = 2**22  # of all draws of the rows whose intervals are worked out, 32 MiB

Evaluation = Callable[[slice], Iterator[tuple[slice, NDArray[np.float64]]]]
"""From rows to (draws, quantities (draws, measures, classes, rows padded)), draws in turn."""


class Grouping(NamedTuple):
    """Which rows are averaged together, and how much each counts.

    Attributes
    ----------
    labels : list of tuples
        Values of the columns by which rows are grouped.
    of_row : integer array of shape (n_rows,)
    weights : array of shape (n_rows,)
    """

    labels: list[tuple]
    of_row: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, names: Sequence[str], columns: Sequence[list], weights: ArrayLike | None, n_rows: int
    ) -> Grouping:
        """Rows with the same values in some columns; all rows together if there are none."""
        own = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
        if own.shape != (n_rows,) or not (own >= 0).all() or not own.any():
            raise ValueError("weights must hold one number for each row, not negative, not all 0")
        tuples = list(zip(*columns, strict=True)) if columns else [()] * n_rows
        labels = sorted(set(tuples), key=lambda label: [(str(type(v)), v) for v in label])
        if len(labels) > MOST_GROUPS:
            raise ValueError(
                f"by: {' and '.join(map(repr, names))} would make {len(labels)} groups, more "
                f"than {MOST_GROUPS}: cut a column of numbers into a few intervals first"
            )
        place = {label: k for k, label in enumerate(labels)}
        return cls(labels, np.array([place[label] for label in tuples]), own)

    def of_block(self, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The groups that a block of rows has, and a weight for each row, padded, and group."""
        present, own = np.unique(self.of_row[rows], return_inverse=True)
        table = np.zeros((-(-len(own) // BLOCK) * BLOCK, len(present)))
        table[np.arange(len(own)), own] = self.weights[rows]
        return present, table

    def shares(self, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        """How much of the weight of each group some rows have, (groups, ...)."""
        own = np.zeros((len(self.labels), *rows.shape[1:]))
        np.add.at(own, self.of_row, (self.weights * rows.T).T)
        return (own.T / self.totals).T

    @property
    def totals(self) -> NDArray[np.float64]:
        """The sum of the weights of each group."""
        return np.bincount(self.of_row, self.weights, len(self.labels)).astype(np.float64)


def of_variants(rows: AlteredRows, predictor: Predictor, variants: Sequence[Changes]) -> Evaluation:
    """Class probabilities of several versions of the same rows, one version a measure."""

    def evaluate(part: slice) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        available = rows.available_to(part)
        chunks = [
            predictor.chunks(rows.inner(part, changes), available=available) for changes in variants
        ]
        for each in zip(*chunks, strict=True):
            yield each[0][0], np.stack([values for _, values in each], axis=1)

    return evaluate


def averages(
    evaluate: Evaluation, groups: Grouping, n_draws: int, n_threads: int
) -> NDArray[np.float64]:
    """Weighted averages over the rows of each group, (groups, draws, measures, classes)."""

    def of_block(rows: slice) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        present, weights = groups.of_block(rows)
        out = np.empty(0)
        for draws, values in evaluate(rows):
            if not out.size:
                out = np.empty((len(present), n_draws, *values.shape[1:3]))
            sums = values.reshape(-1, len(weights)) @ weights
            out[:, draws] = sums.T.reshape(len(present), *values.shape[:3])
        return present, out

    return summed(of_block, groups, n_threads)


def summed(
    of_block: Callable[[slice], tuple[NDArray[np.int64], NDArray[np.float64]]],
    groups: Grouping,
    n_threads: int,
) -> NDArray[np.float64]:
    """Add up what blocks of rows return for the groups they have, over the groups' weights."""
    n_rows = len(groups.of_row)
    blocks = [slice(k, min(k + ROWS_AT_ONCE, n_rows)) for k in range(0, n_rows, ROWS_AT_ONCE)]
    total = np.empty(0)
    with one_blas_thread(), ThreadPoolExecutor(n_threads, thread_name_prefix="pasb") as pool:
        for present, sums in pool.map(of_block, blocks):
            if not total.size:
                total = np.zeros((len(groups.labels), *sums.shape[1:]))
            total[present] += sums
    return total / groups.totals.reshape(-1, *(1,) * (total.ndim - 1))


def of_each_row(
    evaluate: Evaluation, n_rows: int, n_draws: int, n_numbers: int
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """All draws of a few rows at a time, (draws, measures, classes, rows).

    `n_numbers` is how many numbers a row and draw have.
    """
    step = int(np.clip(NUMBERS_AT_ONCE // (n_draws * n_numbers), 1, 256))
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        out = np.empty(0)
        for draws, values in evaluate(rows):
            if not out.size:
                out = np.empty((n_draws, *values.shape[1:3], rows.stop - start))
            out[draws] = values[..., : rows.stop - start]
        yield rows, out
