"""The rows that inform one stick, packed together.

A trajectory passes over the rows of a stick some fifty times, so a copy of just these rows pays:
without it, blocks are half empty on small tables and on the last sticks. Rows of a category have
one label and one power on a stick, so these are kept for each category, not for each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, Rows
from pasb.sticks import ABSENT, SUCCESS

MOST_PACKED = 1 << 13  # rows; from there on blocks are used as they are, which takes no memory
LANES = 16  # the width of a block is a multiple of it


class StickRows(NamedTuple):
    """Rows in groups, each of one category.

    Attributes
    ----------
    blocks : array of shape (n_blocks, padded columns, width)
        As those of `Rows`, of any width.
    bounds : array of shape (n_groups + 1,)
    success : array of shape (n_groups,)
        Whether the rows of a group are successes.
    power : array of shape (n_groups,)
        To which the likelihood of a row is raised: 1, or 0 for rows that take no part.
    """

    blocks: NDArray[np.float64]
    bounds: NDArray[np.int64]
    success: NDArray[np.bool_]
    power: NDArray[np.float64]


def stick_rows(rows: Rows, roles: NDArray[np.int8]) -> StickRows:
    """Those that have a role on a stick, each with its full likelihood."""
    success, power = roles == SUCCESS, np.where(roles == ABSENT, 0.0, 1.0)
    if rows.n_rows > MOST_PACKED:
        return StickRows(rows.blocks, rows.bounds, success, power)
    groups = np.flatnonzero((power > 0) & (np.diff(rows.bounds) > 0))
    bounds = np.concatenate([[0], np.cumsum(np.diff(rows.bounds)[groups])]).astype(np.int64)
    n_blocks = max(1, -(-bounds[-1] // BLOCK))
    width = max(1, -(-bounds[-1] // (n_blocks * LANES))) * LANES
    blocks = np.zeros((n_blocks, rows.blocks.shape[1], width))
    pack(rows.blocks, rows.bounds[groups], bounds, blocks)
    return StickRows(blocks, bounds, success[groups], power[groups])


@kernel
def pack(source, starts, bounds, out):
    """Copy groups of rows, which begin at `starts` in `source`, one after the other."""
    wide, width = source.shape[2], out.shape[2]
    for g in range(starts.shape[0]):
        i, j = starts[g], bounds[g]
        while j < bounds[g + 1]:
            n = min(bounds[g + 1] - j, wide - i % wide, width - j % width)
            for p in range(source.shape[1]):
                for k in range(n):
                    out[j // width, p, j % width + k] = source[i // wide, p, i % wide + k]
            i += n
            j += n


@kernel
def mark_block(rows, b, signs, powers):
    """Labels and powers of the rows of block `b`; whether any takes part.

    A sign is 1 for a success and 0 for a failure.
    """
    width = signs.shape[0]
    start = b * width
    some = False
    signs[:] = 0.0
    powers[:] = 0.0
    for g in range(rows.power.shape[0]):
        first, last = max(rows.bounds[g] - start, 0), min(rows.bounds[g + 1] - start, width)
        if rows.power[g] > 0.0 and first < last:
            some = True
            signs[first:last] = 1.0 if rows.success[g] else 0.0
            powers[first:last] = rows.power[g]
    return some
