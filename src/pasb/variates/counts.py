"""Distributions of counts as arrays, called like methods of `numpy.random.Generator`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pasb.variates.arguments import Size, counts, positive, rates, reals, require
from pasb.variates.drawing import Result, Seed, draw


def crt(m: ArrayLike, r: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw counts of tables in a Chinese restaurant.

    CRT(m, r) is the sum over j = 0..m-1 of independent Bernoulli(r / (r + j)). Exact,
    except where both m and r are so large that the variance exceeds 9e6 and a draw
    would take milliseconds: there a normal distribution, corrected for skewness, is used.
    Its distribution function is off by less than 1e-7.

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
    arguments = {"m": counts("m", m), "r": positive("r", r)}
    return draw("crt", size, seed, arguments, dtype=np.int64)


def poisson(rate: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw from Poisson distributions.

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
    return draw("poisson", size, seed, {"rate": rates(rate)}, dtype=np.int64)


def zero_truncated_poisson(rate: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw from Poisson distributions given that the count is not zero.

    Parameters
    ----------
    rate : array_like
        From 0 to 2**62. A rate of zero means the limit: the count is one.
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
    arguments = {"rate": rates(rate)}
    return draw("zero_truncated_poisson", size, seed, arguments, dtype=np.int64)


def binomial(n: ArrayLike, p: ArrayLike, *, size: Size = None, seed: Seed = None) -> Result:
    """Draw from binomial distributions.

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
    probability = reals("p", p)
    inside = (probability >= 0.0) & (probability <= 1.0)
    require("p", probability, inside, "between 0 and 1")
    arguments = {"n": counts("n", n), "p": probability}
    return draw("binomial", size, seed, arguments, dtype=np.int64)
