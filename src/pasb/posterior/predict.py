"""Category probabilities from draws, streamed over blocks of rows.

Memory is bounded by a few blocks whatever the number of rows. A row's result does not depend on
the rows around it, nor on the number of threads. The parameters of a draw's reference category
take no part, nor do experts whose weight is zero.

There are two ways. Where the binary model offers it and there are enough draws, these are side by
side in memory (`pasb.posterior.laid_out`), and the time is proportional to the rows from one on.
Otherwise rows are, in blocks of 256, and draws come one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.numerics.lazy_rows import Table
from pasb.numerics.rows import BLOCK, blocked
from pasb.numerics.tail_quantiles import means, tail_quantiles
from pasb.posterior.laid_out import LaidOut
from pasb.sticks import LOG_NEVER, probabilities_of_draws, skip_unavailable

NUMBERS_AT_ONCE = 2**17  # 1 MB of float64 for each of a few arrays
BLOCKS_AT_ONCE = 4  # coefficients are copied once for all their rows
LEAST_DRAWS = 64  # that are put side by side
ROWS_OF_A_TILE = 32  # share what is loaded of parameters that do not fit into the cache
MOST_NUMBERS = 2**23  # 64 MB, if a tile takes more than `NUMBERS_AT_ONCE`
TILES_AT_ONCE = 16  # for a thread

Available = NDArray[np.bool_] | None
Intervals = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Draws on one axis, and the construction they belong to.

    Attributes
    ----------
    model : BinaryModel
    reverse : boolean array of shape (n_draws,)
        Which draws break sticks in reverse.
    parameters : dict of arrays of shape (n_draws, n_categories, ...)
    orders : array of shape (n_draws, n_categories)
    least_draws : int
        With fewer, rows are side by side.
    """

    model: BinaryModel
    reverse: NDArray[np.bool_]
    parameters: dict[str, NDArray[np.float64]]
    orders: NDArray[np.int64]
    least_draws: int = LEAST_DRAWS

    @cached_property
    def laid_out(self) -> LaidOut | None:
        """The draws side by side, if they are to be."""
        if len(self.orders) < self.least_draws:
            return None
        return LaidOut.of(self.model, self.reverse, self.parameters, self.orders)

    def mean(self, X: Table, n_jobs: int = 1, available: Available = None) -> NDArray[np.float64]:
        """Posterior-mean probabilities, (rows, categories).

        `available`, (rows, categories), says what each row can be; by default anything.
        """
        out = np.empty((len(X), self.orders.shape[1]))
        laid_out = self.laid_out
        if laid_out is None:

            def fill(rows: slice) -> None:
                out[rows] = self._mean_of(
                    self.chunks(X[rows], available=_part(available, rows)), rows.stop - rows.start
                )

            _for_each(fill, _row_blocks(len(X), n_jobs), n_jobs)
        else:

            def fill(rows: slice) -> None:
                means(laid_out.probabilities(X[rows], _part(available, rows)), out[rows])

            self._for_each_tile(fill, len(X), n_jobs)
        return out

    def samples(
        self, X: Table, n_jobs: int = 1, available: Available = None
    ) -> NDArray[np.float64]:
        """Probabilities under every draw, (draws, rows, categories)."""
        n_draws, n_categories = self.orders.shape
        out = np.empty((n_draws, len(X), n_categories))
        laid_out = self.laid_out
        if laid_out is None:

            def fill(rows: slice) -> None:
                for draws, part in self.chunks(X[rows], available=_part(available, rows)):
                    out[draws, rows] = part.transpose(0, 2, 1)[:, : rows.stop - rows.start]

            _for_each(fill, _row_blocks(len(X), n_jobs), n_jobs)
        else:

            def fill(rows: slice) -> None:
                part = laid_out.probabilities(X[rows], _part(available, rows))
                out[laid_out.source, rows] = part.transpose(2, 0, 1)

            self._for_each_tile(fill, len(X), n_jobs)
        return out

    def intervals(
        self,
        X: Table,
        tails: tuple[float, float],
        n_jobs: int = 1,
        available: Available = None,
    ) -> Intervals:
        """Means as `mean` has them, and lower and upper quantiles, each (rows, categories)."""
        n_draws, n_categories = self.orders.shape
        mean, lower, upper = np.empty((3, len(X), n_categories))
        laid_out = self.laid_out
        if laid_out is None:

            def fill(rows: slice) -> None:
                n_rows = rows.stop - rows.start
                kept = np.empty((n_rows, n_categories, n_draws))
                part = self.chunks(X[rows], kept, _part(available, rows))
                mean[rows] = self._mean_of(part, n_rows)
                tail_quantiles(kept, *tails, lower[rows], upper[rows])

            step = max(1, min(BLOCK, 32 * NUMBERS_AT_ONCE // (n_categories * n_draws)))
            _for_each(fill, _slices(len(X), step), n_jobs)
        else:

            def fill(rows: slice) -> None:
                part = laid_out.probabilities(X[rows], _part(available, rows))
                means(part, mean[rows])
                tail_quantiles(part, *tails, lower[rows], upper[rows])

            self._for_each_tile(fill, len(X), n_jobs)
        return mean, lower, upper

    def _for_each_tile(self, fill: Callable[[slice], None], n_rows: int, n_jobs: int) -> None:
        """Call `fill` for a few rows at a time."""
        at_once = max(NUMBERS_AT_ONCE, min(MOST_NUMBERS, ROWS_OF_A_TILE * self.orders.size))
        tile = max(1, at_once // self.orders.size)

        def fill_some(rows: slice) -> None:
            for start in range(rows.start, rows.stop, tile):
                fill(slice(start, min(start + tile, rows.stop)))

        tiles_of_each = max(1, min(TILES_AT_ONCE, -(-n_rows // (tile * n_jobs))))
        _for_each(fill_some, _slices(n_rows, tile * tiles_of_each), n_jobs)

    def chunks(
        self,
        X: NDArray[np.float64],
        kept: NDArray[np.float64] | None = None,
        available: Available = None,
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Probabilities (draws, categories, rows) of some blocks of rows, draws in turn.

        Rows are padded to whole blocks, and draws are cut in the same way however many rows
        there are, so that every sum over draws or categories is taken in the same way. All
        probabilities are copied to `kept`, (rows, categories, draws).
        """
        n_draws, n_categories = self.orders.shape
        blocks = blocked(X)
        step = max(1, NUMBERS_AT_ONCE // (n_categories * BLOCK * BLOCKS_AT_ONCE))
        out = np.empty((step, n_categories, len(blocks) * BLOCK))
        for start in range(0, n_draws, step):
            draws = slice(start, min(start + step, n_draws))
            which = np.arange(start, draws.stop)[:, None], self.orders[draws, :-1]
            logs = self.model.log_probabilities(
                {name: values[which] for name, values in self.parameters.items()}, blocks
            )
            part = out[: draws.stop - draws.start]
            reverse, orders = self.reverse[draws], self.orders[draws]
            if available is not None:
                skip_unavailable(*logs, reverse, orders, available, LOG_NEVER, 0.0)
            probabilities_of_draws(*logs, reverse, orders, part)
            if available is not None:
                part[:, :, : len(available)] *= available.T
            if kept is not None:
                kept[:, :, draws] = part[:, :, : len(kept)].transpose(2, 1, 0)
            yield draws, part

    def _mean_of(
        self, chunks: Iterator[tuple[slice, NDArray[np.float64]]], n_rows: int
    ) -> NDArray[np.float64]:
        total = np.zeros((self.orders.shape[1], 1))
        for _, part in chunks:
            total = total + part.sum(axis=0)
        # each draw sums to one up to rounding; so must the mean
        return (total / total.sum(axis=0)).T[:n_rows]


def _part(available: Available, rows: slice) -> Available:
    return None if available is None else available[rows]


def _row_blocks(n_rows: int, n_jobs: int) -> list[slice]:
    # every thread gets rows
    n_blocks = min(BLOCKS_AT_ONCE, max(1, -(-n_rows // (BLOCK * n_jobs))))
    return _slices(n_rows, n_blocks * BLOCK)


def _slices(n: int, step: int) -> list[slice]:
    return [slice(k, min(k + step, n)) for k in range(0, n, step)]


def _for_each(fill: Callable[[slice], None], slices: list[slice], n_jobs: int) -> None:
    if n_jobs == 1 or len(slices) == 1:
        for rows in slices:
            fill(rows)
        return
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="pasb") as pool:
        list(pool.map(fill, slices))
