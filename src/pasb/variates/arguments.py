"""Read the arguments of the distributions as arrays, and name those that are invalid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pasb.variates.scalar.binomials import LARGEST_COUNT
from pasb.variates.scalar.poissons import LARGEST_RATE

Size = int | tuple[int, ...] | None


def reals(name: str, value: ArrayLike) -> np.ndarray:
    """Read an argument as floats, without NaN."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(
            f"{name} must be a real number or an array of real numbers, "
            f"got {type(value).__name__} of dtype {array.dtype}"
        )
    array = array.astype(np.float64, copy=False)
    if np.isnan(array).any():
        raise ValueError(f"{name} contains NaN: remove or fill the missing values first")
    return array


def counts(name: str, value: ArrayLike) -> np.ndarray:
    """Read an argument as counts; floats are accepted if they are integers."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = reals(name, array)
        if (array != np.floor(array)).any():
            first = _first(array, array != np.floor(array))
            raise ValueError(f"{name} must be an integer, got {first}")
    elif array.dtype.kind not in "iub":
        raise TypeError(
            f"{name} must be a count or an array of counts, "
            f"got {type(value).__name__} of dtype {array.dtype}"
        )
    require(name, array, (array >= 0) & (array <= LARGEST_COUNT), "between 0 and 2**62")
    return array.astype(np.int64, copy=False)


def positive(name: str, value: ArrayLike) -> np.ndarray:
    """Read an argument as numbers above zero; infinity is one."""
    array = reals(name, value)
    require(name, array, array > 0.0, "greater than zero")
    return array


def finite_positive(name: str, value: ArrayLike) -> np.ndarray:
    """Read an argument as finite numbers above zero."""
    array = reals(name, value)
    require(name, array, (array > 0.0) & (array < np.inf), "greater than zero and finite")
    return array


def rates(value: ArrayLike) -> np.ndarray:
    """Read the rate of a Poisson distribution."""
    array = reals("rate", value)
    require("rate", array, (array >= 0.0) & (array <= LARGEST_RATE), "between 0 and 2**62")
    return array


def interval(lower: ArrayLike, upper: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Read the bounds of an interval; either may be infinite."""
    low, high = reals("lower", lower), reals("upper", upper)
    require("lower", low, low < np.inf, "less than infinity")
    require("upper", high, high > -np.inf, "greater than minus infinity")
    try:
        gap = high - low
    except ValueError:
        return low, high  # shapes that do not broadcast are reported with the others
    if (gap < 0.0).any():
        raise ValueError("lower must not exceed upper: swap or widen the bounds")
    return low, high


def require(name: str, array: np.ndarray, holds: np.ndarray, wish: str) -> None:
    """Raise unless every element satisfies the wish."""
    if not np.all(holds):
        raise ValueError(f"{name} must be {wish}, got {_first(array, ~np.asarray(holds))}")


def _first(array: np.ndarray, where: np.ndarray) -> Any:
    """First offending value, for the message."""
    return array[where].flat[0].item()


def common_shape(size: Size, arguments: dict[str, np.ndarray]) -> tuple[int, ...]:
    """Shape of the result, as NumPy would broadcast it."""
    names = ", ".join(f"{name} {array.shape}" for name, array in arguments.items())
    try:
        common = np.broadcast_shapes(*(array.shape for array in arguments.values()))
    except ValueError:
        raise ValueError(f"the shapes do not broadcast to one: {names}") from None
    if size is None:
        return common
    try:
        parts = tuple(size) if isinstance(size, tuple | list) else (size,)
        shape = tuple(int(np.asarray(part).__index__()) for part in parts)
    except TypeError:
        raise TypeError(f"size must be an int or a tuple of ints, got {size!r}") from None
    if any(part < 0 for part in shape):
        raise ValueError(f"size must not be negative, got {size!r}")
    try:
        fits = np.broadcast_shapes(shape, common) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"size {size!r} does not fit the shapes of the arguments: {names}")
    return shape
