"""Sparse matrices: some rows at a time where that is enough, else dense within a limit.

The sampler needs all rows dense, because the scaled columns are. Predictions go through the rows
block by block, so that a sparse matrix stays sparse there, whatever its size. Sparse columns of
pandas are one too, if what they leave out is 0; else, with the usual NaN for instance, they are
made dense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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
    _refuse_beyond_limit(*matrix.shape)
    return np.ascontiguousarray(matrix.toarray(), dtype=np.float64)


def dense_table(X: Any) -> Any:
    """A table of any kind, dense if it was a sparse matrix or a pandas frame with sparse columns.

    Raises
    ------
    ValueError
        Where it would be larger than the limit.
    """
    return densified(X) if sparse.issparse(X) else _with_dense_columns(X, lambda fill: True)


def as_one_matrix(X: Any) -> Any:
    """A table whose sparse columns leave out nothing but 0, as scikit-learn wants them.

    Raises
    ------
    ValueError
        Where columns have to be made dense, and would be larger than the limit.
    """
    return _with_dense_columns(X, lambda fill: fill != 0)


def _with_dense_columns(X: Any, chosen: Callable[[Any], bool]) -> Any:
    """A pandas frame, dense if a sparse column leaves out values that are `chosen`."""
    if not (type(X).__module__.startswith("pandas") and getattr(X, "ndim", 0) == 2):
        return X
    import pandas as pd

    types = {
        name: dtype.subtype for name, dtype in X.dtypes.items() if isinstance(dtype, pd.SparseDtype)
    }
    if not any(chosen(dtype.fill_value) for dtype in X.dtypes[list(types)]):
        return X
    _refuse_beyond_limit(*X.shape)
    return X.astype(types)


def _refuse_beyond_limit(n_rows: int, n_columns: int) -> None:
    needed = 8 * n_rows * n_columns
    if needed > 2**24 and needed > (limit := memory_limit()):
        raise ValueError(
            f"X is sparse, but the model needs it dense: {n_rows:,} rows and {n_columns:,} columns "
            f"take {in_words(needed)}, more than the limit of {in_words(limit)} (half of the "
            f"memory that is free; {VARIABLE} sets another, in GiB). Use fewer columns, for "
            "instance by sklearn.decomposition.TruncatedSVD or SelectKBest."
        )
