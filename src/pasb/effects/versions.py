"""How versions of the same rows differ, and which of them can share exponentials.

Versions differ from the rows as they are in few columns. Where a column changes by the same amount
in all rows, the exponential of a linear predictor is multiplied by one factor for all rows. Where
all rows get one value of a column, and then another one, the two versions differ by such a factor
too: the first one leads the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import elementwise


class Versions(NamedTuple):
    """Versions of rows, side by side.

    Attributes
    ----------
    columns : integer array of shape (n_changed,)
        The columns that versions change, one version after the other.
    change : array of shape (n_changed, rows padded)
        By how much.
    same : boolean array of shape (n_changed,)
        Whether all rows by as much.
    starts : integer array of shape (n_versions + 1,)
        Where the columns of each version begin.
    leaders : integer array of shape (n_versions,)
        For each version another one that all rows differ from alike. -1 stands for the rows as
        they are, and a version that changes rows in its own way leads itself.
    shift : array of shape (n_changed,)
        By how much columns differ from the leader's, where its changes that are the same for all
        rows are left out.
    """

    columns: NDArray[np.int64]
    change: NDArray[np.float64]
    same: NDArray[np.bool_]
    starts: NDArray[np.int64]
    leaders: NDArray[np.int64]
    shift: NDArray[np.float64]

    @classmethod
    def of(
        cls, base: NDArray[np.float64], others: Sequence[NDArray[np.float64]], n_padded: int
    ) -> Versions:
        """Compare rows as they are, (rows, columns), with other versions of them."""
        each = [_changed_columns(base, other, n_padded) for other in others]
        starts = np.cumsum([0, *(len(columns) for columns, _ in each)])
        columns = np.concatenate([columns for columns, _ in each]).astype(np.int64)
        change = np.concatenate([change for _, change in each])
        same = _same_everywhere(base, columns, change)
        leaders, shift = _leaders(base, columns, change, same, starts)
        return cls(columns, change, same, starts, leaders, shift)


def _changed_columns(
    base: NDArray[np.float64], other: NDArray[np.float64], n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Columns in which two versions of rows differ, and by how much, (columns, rows padded)."""
    change = other - base
    columns = np.flatnonzero(change.any(axis=0))
    out = np.zeros((len(columns), n_rows))
    out[:, : len(base)] = change[:, columns].T
    return columns, out


def _same_everywhere(
    base: NDArray[np.float64], columns: NDArray[np.int64], change: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which changes are the same for all rows, up to the rounding of a sum; they are made equal."""
    own = change[:, : len(base)]
    size = np.abs(base[:, columns]).max(axis=0) + np.abs(own).max(axis=1)
    same = np.ptp(own, axis=1) <= 8 * np.finfo(np.float64).eps * size
    change[same] = own[same].mean(axis=1)[:, None]
    return same


def _leaders(
    base: NDArray[np.float64],
    columns: NDArray[np.int64],
    change: NDArray[np.float64],
    same: NDArray[np.bool_],
    starts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each version another one that all rows differ from alike, and by how much columns do."""
    leaders = np.full(len(starts) - 1, -1)
    shift = np.where(same, change[:, 0], 0.0)
    last = -1
    for v in range(len(leaders)):
        own = np.arange(starts[v], starts[v + 1])
        if same[own].all():
            continue
        leaders[v] = v
        first = np.arange(starts[last], starts[last + 1]) if last >= 0 else own[:0]
        if np.array_equal(columns[own], columns[first]) and (same[own] == same[first]).all():
            varying = ~same[own]
            apart = change[own[varying]] - change[first[varying]]
            if _same_everywhere(base, columns[own[varying]], apart).all():
                leaders[v] = last
                shift[own[varying]] = apart[:, 0]
        last = int(leaders[v])
    return leaders, shift


@elementwise
def add_product(factor, values, out):
    """``out += factor * values``."""
    for i in range(out.size):
        out[i] += factor * values[i]
