"""Work space of a thread that deals with linear predictors.

An update, a proposal and a normal approximation never run in one thread at the same time, so
they share what they need for every row. Linear predictors are not kept: to work them out anew
where they are needed costs little beside what is done with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.rows import BLOCK, Rows


class LinearSpace(NamedTuple):
    """Two numbers for every row of the blocks, and what else an update or a proposal needs.

    Attributes
    ----------
    pair : two vectors, of all rows of the blocks
    work : tuple of arrays
        Of an update: latents and linear weights (`pair`), used blocks, what the normal draw
        needs, and padded coefficients.
    slots : tuple of arrays
        For proposed coefficients of up to two sticks: the coefficients, padded, the linear
        predictors of one of them (in `pair`), and their rows of the order table.
    """

    pair: tuple[NDArray[np.float64], NDArray[np.float64]]
    work: tuple[NDArray, ...]
    slots: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, rows: Rows) -> LinearSpace:
        """Make one."""
        n_blocks, n_padded, _ = rows.blocks.shape
        n = rows.n_columns
        # by themselves they fit where the preparation of the table left vectors of that size free
        pair = (np.zeros(n_blocks * BLOCK), np.zeros(n_blocks * BLOCK))
        work = (
            *pair,
            np.zeros(n_blocks, dtype=np.bool_),
            np.zeros((n_padded, BLOCK)),
            np.zeros((n_padded, n_padded)),
            np.zeros(n_padded),
            np.zeros(n),
            np.zeros((n, n)),
            np.zeros(n_padded),
        )
        sizes = n_padded, rows.n_categories, rows.n_categories
        coef, accept, reject = (np.zeros((2, size)) for size in sizes)
        return cls(pair, work, (coef, pair[0], accept, reject))
