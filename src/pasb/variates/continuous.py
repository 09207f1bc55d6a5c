"""Continuous distributions as arrays, called like methods of `numpy.random.Generator`."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pasb.variates import kernels
from pasb.variates.arguments import (
    Size,
    common_shape,
    finite_positive,
    interval,
    positive,
    reals,
    require,
)
from pasb.variates.drawing import Result, Seed, draw
from pasb.variates.scalar.polya_gammas import EXACT_H_LIMIT
from pasb.variates.scalar.truncated import SMALLEST_DF


def uniform(*, size: Size = None, seed: Seed = None) -> Result:
    """Draw from the uniform distribution strictly inside (0, 1).

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
    return draw("uniform", size, seed, {})


def normal(*, size: Size = None, seed: Seed = None) -> Result:
    """Draw from the standard normal distribution.

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
    return draw("normal", size, seed, {})


def exponential(*, size: Size = None, seed: Seed = None) -> Result:
    """Draw from the exponential distribution of mean one.

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
    return draw("exponential", size, seed, {})


def gamma(
    shape: ArrayLike, scale: ArrayLike = 1.0, *, size: Size = None, seed: Seed = None
) -> Result:
    """Draw from gamma distributions.

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
    arguments = {"shape": positive("shape", shape), "scale": positive("scale", scale)}
    # The scale takes part in the broadcasting only.
    factor = arguments["scale"]
    size_of_all = common_shape(size, arguments)
    scalar = size is None and size_of_all == ()
    draws = draw("gamma", size_of_all, seed, {"shape": arguments["shape"]}) * factor
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
    return draw("log_gamma", size, seed, {"shape": positive("shape", shape)})


def inverse_gaussian(
    mean: ArrayLike, shape: ArrayLike, *, size: Size = None, seed: Seed = None
) -> Result:
    """Draw from inverse Gaussian distributions, of variance mean^3 / shape.

    Parameters
    ----------
    mean : array_like
        Positive; infinite for the Levy distribution.
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
    arguments = {"mean": positive("mean", mean), "shape": finite_positive("shape", shape)}
    return draw("inverse_gaussian", size, seed, arguments)


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
    low, high = interval(lower, upper)
    centre = reals("loc", loc)
    require("loc", centre, np.isfinite(centre), "finite")
    spread = finite_positive("scale", scale)
    arguments = {"lower": low, "upper": high, "loc": centre, "scale": spread}
    shape = common_shape(size, arguments)
    standard = {"lower": (low - centre) / spread, "upper": (high - centre) / spread}
    draws = draw("truncated_normal", shape, seed, standard)
    draws = np.clip(centre + spread * draws, low, high)
    return draws.item() if size is None and shape == () else draws


def truncated_t(
    df: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, size: Size = None, seed: Seed = None
) -> Result:
    """Draw standard Student t variates restricted to an interval.

    Parameters
    ----------
    df : array_like
        Degrees of freedom, positive; infinite for the normal distribution.
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
    low, high = interval(lower, upper)
    freedom = reals("df", df)
    require("df", freedom, freedom >= SMALLEST_DF, "at least 1e-300")
    arguments = {"df": freedom, "lower": low, "upper": high}
    return draw("truncated_t", size, seed, arguments)


def polya_gamma(
    h: ArrayLike,
    c: ArrayLike,
    *,
    size: Size = None,
    seed: Seed = None,
    method: Literal["auto", "exact"] = "auto",
) -> Result:
    """Draw from Polya-Gamma distributions PG(h, c).

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
    shape = finite_positive("h", h)
    tilt = reals("c", c)
    require("c", tilt, np.isfinite(tilt), "finite")
    arguments = {"h": shape, "c": tilt}
    if method == "auto":
        return draw("polya_gamma", size, seed, arguments)
    if method != "exact":
        raise ValueError(f'method must be "auto" or "exact", got {method!r}')
    require("h", shape, shape <= EXACT_H_LIMIT, 'at most 1e6 for method="exact"')
    return draw("polya_gamma", size, seed, arguments, kernel=kernels.polya_gamma_exact)
