"""Values that are missing in a column, which encoders before a classifier may know how to fill."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_gap(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or what pandas calls NA or NaT."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # what pandas calls NA is neither equal nor unequal
        return True


def gaps_in(column: NDArray) -> NDArray[np.bool_]:
    """Which values of a column are missing."""
    values = np.asarray(column)
    if values.dtype.kind in "biu":
        return np.zeros(len(values), dtype=np.bool_)
    if values.dtype.kind in "fmM":
        return values != values
    return np.array([is_gap(value) for value in values.tolist()], dtype=np.bool_)


def without_gaps(column: NDArray) -> NDArray:
    """The values that are there."""
    values = np.asarray(column)
    return values[~gaps_in(values)]


def numbers_in(name: str, column: NDArray) -> NDArray[np.float64]:
    """The numbers of a column that are there; a ValueError if there are none."""
    numbers = without_gaps(np.asarray(column, dtype=np.float64))
    if not len(numbers):
        raise ValueError(f"column {name!r} has no value in any row")
    return numbers


def check_no_gaps(name: str, column: NDArray, change: str) -> None:
    """Refuse to change a column in proportion to what rows have where some have nothing."""
    gaps = gaps_in(np.asarray(column, dtype=np.float64))
    if gaps.any():
        raise ValueError(
            f"variables: {name!r} has no value in {gaps.sum()} of {len(gaps)} rows, which have no "
            f"{change}; leave these rows out, or compare two values that all rows get, such as "
            f"comparisons(..., {{{name!r}: 'iqr'}})"
        )
