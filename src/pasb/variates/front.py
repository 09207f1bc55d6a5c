"""Random variates on arrays, with the calling conventions of `numpy.random.Generator`.

Element i of a result, counted in row-major order, is drawn from its own stream, keyed by
the seed, the name of the law and i. So the draws depend neither on the shape of the
result nor on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pasb.variates import kernels
from pasb.variates.scalar.binomials import LARGEST_COUNT
from pasb.variates.scalar.poissons import LARGEST_RATE
from pasb.variates.scalar.polya_gammas import EXACT_H_LIMIT
from pasb.variates.scalar.stream import stream_key
from pasb.variates.scalar.truncated import SMALLEST_DF

Seed = int | np.random.Generator | None
Size = int | tuple[int, ...] | None
Result = Any  # a number when every argument is one and no size is asked for, else an array

_LAWS = (
    "uniform",
    "normal",
    "exponential",
    "gamma",
    "log_gamma",
    "polya_gamma",
    "crt",
    "poisson",
    "zero_truncated_poisson",
    "binomial",
    "inverse_gaussian",
    "truncated_normal",
    "truncated_t",
)


def law_key(law: str, seed: Seed) -> np.uint64:
    """Key of the streams from which `law` draws under `seed`.

    Two laws under one seed have different keys: their draws are independent.
    """
    if seed is None:
        number = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    elif isinstance(seed, np.random.Generator):
        number = int(seed.integers(0, 2**64, dtype=np.uint64))
    elif isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        number = int(seed)
        if not 0 <= number < 2**64:
            raise ValueError(f"seed must lie between 0 and 2**64 - 1, got {seed}")
    else:
        raise TypeError(
            f"seed must be an int, a numpy.random.Generator or None, got {type(seed).__name__}"
        )
    return np.uint64(stream_key(np.uint64(number), 0, 0, 0, 0, _LAWS.index(law)))


def _reals(name: str, value: ArrayLike) -> np.ndarray:
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


def _counts(name: str, value: ArrayLike) -> np.ndarray:
    """Read an argument as counts; floats are taken if they are whole."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = _reals(name, array)
        if (array != np.floor(array)).any():
            raise ValueError(f"{name} must be whole, got {_first(array, array != np.floor(array))}")
    elif array.dtype.kind not in "iub":
        raise TypeError(
            f"{name} must be a count or an array of counts, "
            f"got {type(value).__name__} of dtype {array.dtype}"
        )
    _require(name, array, (array >= 0) & (array <= LARGEST_COUNT), "between 0 and 2**62")
    return array.astype(np.int64, copy=False)


def _first(array: np.ndarray, where: np.ndarray) -> Any:
    """First offending value, for the message."""
    return array[where].flat[0].item()


def _require(name: str, array: np.ndarray, holds: np.ndarray, wish: str) -> None:
    """Raise unless every element satisfies the wish."""
    if not np.all(holds):
        raise ValueError(f"{name} must be {wish}, got {_first(array, ~np.asarray(holds))}")


def _positive(name: str, value: ArrayLike) -> np.ndarray:
    array = _reals(name, value)
    _require(name, array, array > 0.0, "greater than zero")
    return array


def _finite_positive(name: str, value: ArrayLike) -> np.ndarray:
    array = _reals(name, value)
    _require(name, array, (array > 0.0) & (array < np.inf), "greater than zero and finite")
    return array


def _rates(value: ArrayLike) -> np.ndarray:
    array = _reals("rate", value)
    _require("rate", array, (array >= 0.0) & (array <= LARGEST_RATE), "between 0 and 2**62")
    return array


def _interval(lower: ArrayLike, upper: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    low, high = _reals("lower", lower), _reals("upper", upper)
    _require("lower", low, low < np.inf, "less than infinity")
    _require("upper", high, high > -np.inf, "greater than minus infinity")
    try:
        gap = high - low
    except ValueError:
        return low, high  # shapes that do not broadcast are reported with the others
    if (gap < 0.0).any():
        raise ValueError("lower must not exceed upper: swap or widen the bounds")
    return low, high


def _shape(size: Size, arguments: dict[str, np.ndarray]) -> tuple[int, ...]:
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


def _draw(
    law: str,
    size: Size,
    seed: Seed,
    arguments: dict[str, np.ndarray],
    *,
    kernel: Callable | None = None,
    dtype: type = np.float64,
) -> Result:
    """Broadcast the arguments, run the kernel, and shape the result."""
    shape = _shape(size, arguments)
    out: np.ndarray = np.empty(shape, dtype=dtype)
    flat = []
    for array in arguments.values():
        # One number for all elements is passed as it is; the kernel does not step on.
        if array.size != 1:
            array = np.broadcast_to(array, shape)
        flat.append(np.ascontiguousarray(array).reshape(-1))
    kernel = kernel or getattr(kernels, law)
    kernel(law_key(law, seed), *flat, out.reshape(-1))
    if size is None and shape == ():
        return out.item()
    return out


def uniform(*, size: Size = None, seed: Seed = None) -> Result:
    """Draw from the uniform law strictly inside (0, 1).

    Parameters
    ----------
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> 0.0 < variates.uniform(seed=1) < 1.0
    True
    """
    return _draw("uniform", size, seed, {})


def normal(*, size: Size = None, seed: Seed = None) -> Result:
    """Draw from the standard normal law.

    Parameters
    ----------
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> variates.normal(size=(2, 3), seed=1).shape
    (2, 3)
    """
    return _draw("normal", size, seed, {})


def exponential(*, size: Size = None, seed: Seed = None) -> Result:
    """Draw from the exponential law of mean one.

    Parameters
    ----------
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> variates.exponential(seed=1) > 0.0
    True
    """
    return _draw("exponential", size, seed, {})


def gamma(
    shape: ArrayLike, scale: ArrayLike = 1.0, *, size: Size = None, seed: Seed = None
) -> Result:
    """Draw from gamma laws.

    Parameters
    ----------
    shape : array_like
        Positive; very small shapes give draws that underflow to zero, see `log_gamma`.
    scale : array_like
        Positive.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> variates.gamma([0.5, 3.0], seed=1).shape
    (2,)
    """
    arguments = {"shape": _positive("shape", shape), "scale": _positive("scale", scale)}
    # The scale takes part in the broadcasting only.
    factor = arguments["scale"]
    size_of_all = _shape(size, arguments)
    scalar = size is None and size_of_all == ()
    draws = _draw("gamma", size_of_all, seed, {"shape": arguments["shape"]}) * factor
    return draws.item() if scalar else draws


def log_gamma(shape: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw the logarithms of gamma variates of scale one.

    The logarithms never underflow, however small the shape.

    Parameters
    ----------
    shape : array_like
        Positive, down to 1e-300 and below.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> variates.log_gamma(1e-300, seed=1) < -1e290
    True
    """
    return _draw("log_gamma", size, seed, {"shape": _positive("shape", shape)})


def crt(m: ArrayLike, r: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw counts of tables in a Chinese restaurant.

    CRT(m, r) is the sum over j = 0..m-1 of independent Bernoulli(r / (r + j)). Exact,
    except where both m and r are so large that the variance exceeds 9e6 and a draw
    would take milliseconds: there a normal law corrected for skewness is used, which is
    off by less than 1e-7 in the distribution function.

    Parameters
    ----------
    m : array_like
        Numbers of guests, from 0 to 2**62.
    r : array_like
        Concentration, positive.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    int or array of ints

    Examples
    --------
    >>> from pasb import variates
    >>> 1 <= variates.crt(1000, 2.5, seed=1) <= 1000
    True
    """
    arguments = {"m": _counts("m", m), "r": _positive("r", r)}
    return _draw("crt", size, seed, arguments, dtype=np.int64)


def poisson(rate: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw from Poisson laws.

    Parameters
    ----------
    rate : array_like
        From 0 to 2**62.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    int or array of ints

    Examples
    --------
    >>> from pasb import variates
    >>> variates.poisson([0.0, 1e6], seed=1)[0]
    np.int64(0)
    """
    return _draw("poisson", size, seed, {"rate": _rates(rate)}, dtype=np.int64)


def zero_truncated_poisson(rate: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw from Poisson laws given that the count is not zero.

    Parameters
    ----------
    rate : array_like
        From 0 to 2**62. At zero the law is the limit: the count is one.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    int or array of ints

    Examples
    --------
    >>> from pasb import variates
    >>> variates.zero_truncated_poisson(1e-12, seed=1)
    1
    """
    arguments = {"rate": _rates(rate)}
    return _draw("zero_truncated_poisson", size, seed, arguments, dtype=np.int64)


def binomial(n: ArrayLike, p: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw from binomial laws.

    Parameters
    ----------
    n : array_like
        Numbers of trials, from 0 to 2**62.
    p : array_like
        Probability of success, from 0 to 1.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    int or array of ints

    Examples
    --------
    >>> from pasb import variates
    >>> variates.binomial(10, [0.0, 1.0], seed=1)
    array([ 0, 10])
    """
    probability = _reals("p", p)
    inside = (probability >= 0.0) & (probability <= 1.0)
    _require("p", probability, inside, "between 0 and 1")
    arguments = {"n": _counts("n", n), "p": probability}
    return _draw("binomial", size, seed, arguments, dtype=np.int64)


def inverse_gaussian(
    mean: ArrayLike, shape: ArrayLike, *, size: Size = None, seed: Seed = None
) -> Result:
    """Draw from inverse Gaussian laws, of variance mean^3 / shape.

    Parameters
    ----------
    mean : array_like
        Positive; infinite for the Levy law.
    shape : array_like
        Positive and finite.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> variates.inverse_gaussian(2.0, [1.0, 5.0], seed=1).shape
    (2,)
    """
    arguments = {"mean": _positive("mean", mean), "shape": _finite_positive("shape", shape)}
    return _draw("inverse_gaussian", size, seed, arguments)


def truncated_normal(
    lower: ArrayLike,
    upper: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    size: Size = None,
    seed: Seed = None,
) -> Result:
    """Draw normal variates restricted to an interval.

    Parameters
    ----------
    lower, upper : array_like
        Bounds, in the units of the result; either may be infinite.
    loc, scale : array_like
        Mean and standard deviation before the restriction.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> 40.0 < variates.truncated_normal(40.0, float("inf"), seed=1) < 41.0
    True
    """
    low, high = _interval(lower, upper)
    centre = _reals("loc", loc)
    _require("loc", centre, np.isfinite(centre), "finite")
    spread = _finite_positive("scale", scale)
    arguments = {"lower": low, "upper": high, "loc": centre, "scale": spread}
    shape = _shape(size, arguments)
    standard = {"lower": (low - centre) / spread, "upper": (high - centre) / spread}
    draws = _draw("truncated_normal", shape, seed, standard)
    draws = np.clip(centre + spread * draws, low, high)
    return draws.item() if size is None and shape == () else draws


def truncated_t(
    df: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, size: Size = None, seed: Seed = None
) -> Result:
    """Draw standard Student t variates restricted to an interval.

    Parameters
    ----------
    df : array_like
        Degrees of freedom, positive; infinite for the normal law.
    lower, upper : array_like
        Bounds; either may be infinite.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> 40.0 < variates.truncated_t(7.0, 40.0, 50.0, seed=1) < 50.0
    True
    """
    low, high = _interval(lower, upper)
    freedom = _reals("df", df)
    _require("df", freedom, freedom >= SMALLEST_DF, "at least 1e-300")
    arguments = {"df": freedom, "lower": low, "upper": high}
    return _draw("truncated_t", size, seed, arguments)


def polya_gamma(
    h: ArrayLike,
    c: ArrayLike,
    *,
    size: Size = None,
    seed: Seed = None,
    method: Literal["auto", "exact"] = "auto",
) -> Result:
    """Draw from Polya-Gamma laws PG(h, c).

    Parameters
    ----------
    h : array_like
        Shape, positive.
    c : array_like
        Tilt, finite.
    size : int or tuple of ints, optional
        Shape of the result. By default the shape to which the arguments broadcast.
    seed : int, numpy.random.Generator or None
        The same int gives the same draws every time; None takes fresh entropy.
    method : {"auto", "exact"}
        Where h log(1 + exp(-abs(c))) is below 3, as for h below 4.3, both are exact.
        Beyond, "exact" adds up exact draws, in time proportional to h and for h up to a
        million, while "auto" takes three gamma draws, whose distribution function is
        off by less than 1e-7.

    Returns
    -------
    float or array of floats

    Examples
    --------
    >>> from pasb import variates
    >>> draws = variates.polya_gamma(1.0, [0.0, 2.0, -2.0], seed=1)
    >>> draws.shape, bool((draws > 0.0).all())
    ((3,), True)
    """
    shape = _finite_positive("h", h)
    tilt = _reals("c", c)
    _require("c", tilt, np.isfinite(tilt), "finite")
    arguments = {"h": shape, "c": tilt}
    if method == "auto":
        return _draw("polya_gamma", size, seed, arguments)
    if method != "exact":
        raise ValueError(f'method must be "auto" or "exact", got {method!r}')
    _require("h", shape, shape <= EXACT_H_LIMIT, 'at most 1e6 for method="exact"')
    return _draw("polya_gamma", size, seed, arguments, kernel=kernels.polya_gamma_exact)
