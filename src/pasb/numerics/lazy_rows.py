"""The binary model's columns of a table, computed for the rows that are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LazyRows:
    """Represents ``columns(table)``, which would take as much memory as the table.

    Parameters
    ----------
    table : array of shape (n_rows, n_features)
    columns : callable
        Turns some rows of the table into columns, each row by itself.
    """

    def __init__(
        self,
        table: NDArray[np.float64],
        columns: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    ):
        self.table, self.columns = table, columns

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        """The columns of some rows: a slice, a mask or their numbers."""
        return self.columns(self.table[rows])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.table), self[:1].shape[1]


Table = NDArray[np.float64] | LazyRows
