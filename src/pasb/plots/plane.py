"""Rows of a table in the plane of two of its columns, and typical rows over that plane."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.posterior.frames import native_frame


class Plane(NamedTuple):
    """Two columns of a table, and a typical value of every column.

    Attributes
    ----------
    x, y : array of shape (n_rows,)
    first, second : int
        Their numbers.
    typical : dict
        The median of each column, or the most frequent value of one that does not hold numbers.
    library : {"pandas", "polars"} or None
        Of the table; None for an array.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    first: int
    second: int
    typical: dict[str, Any]
    library: str | None

    @classmethod
    def of(cls, X: ArrayLike, first: int, second: int) -> Plane:
        """From what a user passes as `X`; ValueError if one of the two columns holds no numbers."""
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            table = np.asarray(X, dtype=np.float64)
            typical = {str(v): value for v, value in enumerate(np.median(table, axis=0))}
            return cls(table[:, first], table[:, second], first, second, typical, None)
        typical = {}
        for name, dtype in frame.schema.items():
            column = frame[name]
            if dtype.is_numeric() or dtype == nw.Boolean:
                typical[name] = float(np.median(column.to_numpy().astype(np.float64)))
            else:
                typical[name] = column.mode()[0]
        for name in (frame.columns[first], frame.columns[second]):
            if not frame.schema[name].is_numeric():
                raise ValueError(f"features: column {name!r} does not hold numbers")
        values = [frame[frame.columns[k]].to_numpy().astype(np.float64) for k in (first, second)]
        library = "polars" if frame.implementation.is_polars() else "pandas"
        return cls(values[0], values[1], first, second, typical, library)

    def grid(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> Any:
        """Typical rows with other values of the two columns, as a table like the user's."""
        columns = {name: np.repeat([value], len(x)) for name, value in self.typical.items()}
        names = list(columns)
        columns[names[self.first]], columns[names[self.second]] = x, y
        if self.library is None:
            return np.column_stack(list(columns.values()))
        return native_frame(columns, self.library)
