"""Sparse matrices: some rows at a time where that is enough, else dense within a limit.

The sampler needs all rows dense, because the scaled columns are. Predictions go through the rows
block by block, so that a sparse matrix stays sparse there, whatever its size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.free_memory import VARIABLE, in_words, memory_limit


class SparseRows:
    """Rows of a sparse matrix, dense when they are asked for.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_columns), CSR
    """

    def __init__(self, matrix: Any):
        self.matrix = matrix

    def __len__(self) -> int:
        return self.matrix.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        return densified(self.matrix[rows])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape


def densified(matrix: Any) -> NDArray[np.float64]:
    """A sparse matrix as a dense table; ValueError where it would be larger than the limit."""
    n_rows, n_columns = matrix.shape
    needed = 8 * n_rows * n_columns
    if needed > 2**24 and needed > (limit := memory_limit()):
        raise ValueError(
            f"X is sparse, but the model needs it dense: {n_rows:,} rows and {n_columns:,} columns "
            f"take {in_words(needed)}, more than the limit of {in_words(limit)} (half of the "
            f"memory that is free; {VARIABLE} sets another, in GiB). Use fewer columns, for "
            "instance by sklearn.decomposition.TruncatedSVD or SelectKBest."
        )
    return np.ascontiguousarray(matrix.toarray(), dtype=np.float64)
