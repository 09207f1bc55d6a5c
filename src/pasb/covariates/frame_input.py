"""Tables of any library as narwhals data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.rows_elsewhere import is_dask
from pasb.covariates.tables import TableError, twice


def data_frame(X: Any) -> Any:
    """The narwhals data frame of `X`; None if it is none. Names that occur twice are refused."""
    import narwhals as nw

    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise TypeError("X is a lazy frame: call its collect() method and pass the result")
    columns = getattr(X, "columns", None)
    if columns is not None and not callable(columns):
        repeated = twice(getattr(X, "column_names", columns))  # of pyarrow, columns are arrays
        if repeated:
            raise TableError(f"X: two columns are named {repeated[0]!r}; rename one of them")
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame) and is_dask(X):
        raise TypeError("X is a Dask data frame: pass X.compute(), or some of its rows")
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame: call its collect() method and pass the result")
    if not isinstance(frame, nw.DataFrame):
        return None
    wrong = [name for name in frame.columns if not isinstance(name, str)]
    if wrong and hasattr(X, "set_axis"):  # pandas may have names that are no text
        return nw.from_native(X.set_axis([str(name) for name in X.columns], axis=1))
    return frame


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table, as a table of the same kind."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def frame_of_array(array: NDArray, names: Any = None) -> Any:
    """The narwhals data frame of an array; columns without names are ``x0``, ``x1``, ..."""
    import narwhals as nw
    import pandas as pd

    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers")
    columns = [f"x{k}" for k in range(array.shape[1])] if names is None else list(names)
    frame = pd.DataFrame(array, columns=columns, copy=False)
    return nw.from_native(frame.infer_objects() if array.dtype == object else frame)
