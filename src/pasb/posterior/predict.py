"""Category probabilities from draws, streamed over blocks of rows and draws.

Memory is bounded by a few blocks whatever the number of rows and draws. A row's result
does not depend on the rows around it, nor on the number of threads. The parameters of a
draw's reference category take no part, nor do experts whose weight is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.numerics.lazy_rows import Table
from pasb.numerics.rows import BLOCK, blocked
from pasb.sticks import probabilities_of_draws

NUMBERS_AT_ONCE = 2**17  # 1 MB of float64 for each of four arrays
BLOCKS_AT_ONCE = 4  # coefficients are copied once for all their rows


class Predictor(NamedTuple):
    """Draws on one axis, and the construction they belong to.

    Attributes
    ----------
    model : BinaryModel
    reverse : boolean array of shape (n_draws,)
        Which draws break sticks in reverse.
    parameters : dict of arrays of shape (n_draws, n_categories, ...)
    orders : array of shape (n_draws, n_categories)
    """

    model: BinaryModel
    reverse: NDArray[np.bool_]
    parameters: dict[str, NDArray[np.float64]]
    orders: NDArray[np.int64]

    def chunks(self, X: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Probabilities (draws, categories, rows) of some blocks of rows, draws in turn.

        Rows are padded to whole blocks, and draws are cut in the same way however many rows
        there are, so that every sum over draws or categories is taken in the same way.
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
            probabilities_of_draws(*logs, self.reverse[draws], self.orders[draws], part)
            yield draws, part

    def mean(self, X: Table, n_jobs: int = 1) -> NDArray[np.float64]:
        """Posterior-mean probabilities, (rows, categories)."""
        n_categories = self.orders.shape[1]
        out = np.empty((len(X), n_categories))

        def fill(rows: slice) -> None:
            total = np.zeros((n_categories, 1))
            for _, part in self.chunks(X[rows]):
                total = total + part.sum(axis=0)
            # each draw sums to one up to rounding; so must the mean
            out[rows] = (total / total.sum(axis=0)).T[: rows.stop - rows.start]

        _for_each_block(fill, len(X), n_jobs)
        return out

    def samples(self, X: Table, n_jobs: int = 1) -> NDArray[np.float64]:
        """Probabilities under every draw, (draws, rows, categories)."""
        n_draws, n_categories = self.orders.shape
        out = np.empty((n_draws, len(X), n_categories))

        def fill(rows: slice) -> None:
            for draws, part in self.chunks(X[rows]):
                out[draws, rows] = part.transpose(0, 2, 1)[:, : rows.stop - rows.start]

        _for_each_block(fill, len(X), n_jobs)
        return out


def _for_each_block(fill, n_rows: int, n_jobs: int) -> None:
    # every thread gets rows
    n_blocks = min(BLOCKS_AT_ONCE, max(1, -(-n_rows // (BLOCK * n_jobs))))
    step = n_blocks * BLOCK
    slices = [slice(k, min(k + step, n_rows)) for k in range(0, n_rows, step)]
    if n_jobs == 1 or len(slices) == 1:
        for rows in slices:
            fill(rows)
        return
    with ThreadPoolExecutor(n_jobs, thread_name_prefix="pasb") as pool:
        list(pool.map(fill, slices))
