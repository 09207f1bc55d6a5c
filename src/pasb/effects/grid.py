"""Hypothetical rows: every combination of some values, the other columns at typical ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np

from pasb.covariates.gaps import gaps_in, numbers_in, without_gaps
from pasb.effects.altered_rows import check_known
from pasb.effects.extrapolation import span_of_values, warn_outside


def datagrid(X: Any, values: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
    """Rows with every combination of the values given, the other columns at typical ones.

    A typical number is the mean of its column, a typical level the most frequent one; gaps do not
    count.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_features)
        Where means, levels and ranges come from.
    values : dict, optional
        For some columns a value or a list of them; "all" stands for the distinct ones.
    **more
        The same for columns whose names are Python names.

    Returns
    -------
    array or data frame, as `X` was
        The last of the columns given varies fastest.

    Examples
    --------
    >>> from pasb import effects
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> effects.datagrid(X, {"petal length (cm)": [2, 4]}).round(2)
       sepal length (cm)  sepal width (cm)  petal length (cm)  petal width (cm)
    0               5.84              3.06                2.0               1.2
    1               5.84              3.06                4.0               1.2
    """
    asked = {**(values or {}), **more}
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        array = np.asarray(X, dtype=np.float64)
        names = [f"x{v}" for v in range(array.shape[1])]
        columns = {name: array[:, v] for v, name in enumerate(names)}
        grid = _combined(columns, dict.fromkeys(names, True), asked)
        return np.column_stack([np.asarray(grid[name], dtype=np.float64) for name in names])
    numeric = {name: dtype.is_numeric() for name, dtype in frame.schema.items()}
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    grid = _combined(columns, numeric, asked)
    backend, series = frame.implementation, []
    for name, dtype in frame.schema.items():
        new = nw.new_series(name, grid[name], backend=backend)
        if numeric[name]:
            new = new.cast(nw.Float64)
        elif dtype != nw.Object:
            new = new.cast(dtype)
        series.append(new)
    return nw.to_native(series[0].to_frame().with_columns(*series[1:]))


def _combined(
    columns: Mapping[str, Any], numeric: Mapping[str, bool], asked: Mapping[str, Any]
) -> dict[str, list]:
    choices = []
    for name, wanted in asked.items():
        check_known(name, columns, "datagrid", "a column of X")
        choices.append(_values(name, wanted, columns[name], numeric[name]))
    rows = list(product(*choices))
    grid = {}
    for name, column in columns.items():
        if name in asked:
            place = list(asked).index(name)
            grid[name] = [row[place] for row in rows]
        else:
            grid[name] = [_typical(column, numeric[name])] * len(rows)
    return grid


def _values(name: str, wanted: Any, column: Any, numeric: bool) -> list[Any]:
    """The values of one column, checked."""
    if isinstance(wanted, str) and wanted == "all":
        return np.unique(without_gaps(column)).tolist()
    several = isinstance(wanted, list | tuple | range | np.ndarray)
    values = np.asarray(wanted).tolist() if several else [wanted]
    if not values:
        raise ValueError(f"datagrid: no values for {name!r}")
    if numeric:
        try:
            values = [float(value) for value in values]
        except (TypeError, ValueError):
            raise ValueError(f"datagrid: {name!r} holds numbers; got {wanted!r}") from None
        if not np.isfinite(values).all():
            raise ValueError(f"datagrid: {name!r} must be finite numbers; got {wanted!r}")
        warn_outside(name, values, span_of_values(numbers_in(name, column)))
        return values
    for value in values:
        levels = np.unique(without_gaps(column)).tolist()
        check_known(value, levels, "datagrid", f"a level of {name!r}")
    return values


def _typical(column: Any, numeric: bool) -> Any:
    if gaps_in(column).all():  # of a column that an encoder leaves out
        return np.asarray(column).tolist()[0]
    own = without_gaps(column)
    if numeric:
        return float(np.mean(np.asarray(own, dtype=np.float64)))
    levels, counts = np.unique(own, return_counts=True)
    return levels.tolist()[int(np.argmax(counts))]
