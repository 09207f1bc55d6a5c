"""Means and variances of Polya-Gamma distributions, accurate for every tilt."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import zeta

SERIES_BELOW = 0.5
"""Tilt below which cumulants are summed as Taylor series; the closed forms cancel there."""

_TERMS = 10


def _cumulant_series(order: int) -> np.ndarray:
    """Taylor coefficients in v = c^2/2 of a cumulant of PG(1, c), highest first.

    The cumulant of the order n is (n - 1)! times the sum over k of (a_k + v)^-n with
    a_k = 2 pi^2 (k - 1/2)^2. Expanded in v it has the sums over k of a_k^-p, which are
    zeta functions.
    """
    coefficients = [
        (-1) ** i
        * math.comb(order + i - 1, i)
        * math.factorial(order - 1)
        * (2.0 * math.pi**2) ** -(order + i)
        * float(zeta(2.0 * (order + i), 0.5))
        for i in range(_TERMS)
    ]
    return np.array(coefficients[::-1])


MEAN_SERIES = _cumulant_series(1)
VARIANCE_SERIES = _cumulant_series(2)
THIRD_SERIES = _cumulant_series(3)


def polya_gamma_mean(h: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Mean of PG(h, c), h tanh(c/2) / (2c).

    Parameters
    ----------
    h : array_like
        Shape, positive.
    c : array_like
        Tilt.

    Returns
    -------
    array of floats, or a float for numbers

    Examples
    --------
    >>> from pasb.variates import polya_gamma_mean
    >>> float(polya_gamma_mean(2.0, 0.0))
    0.5
    """
    c = np.abs(np.asarray(c, dtype=np.float64))
    away = np.where(c > 0.0, c, 1.0)
    unit = np.where(c > 0.0, 0.5 * np.tanh(0.5 * away) / away, 0.25)
    return np.asarray(h, dtype=np.float64) * unit


def polya_gamma_variance(h: ArrayLike, c: ArrayLike) -> np.ndarray:
    """Variance of PG(h, c), h (sinh(c) - c) / (4 c^3 cosh(c/2)^2).

    Parameters
    ----------
    h : array_like
        Shape, positive.
    c : array_like
        Tilt.

    Returns
    -------
    array of floats, or a float for numbers

    Examples
    --------
    >>> from pasb.variates import polya_gamma_variance
    >>> round(float(polya_gamma_variance(24.0, 0.0)), 12)
    1.0
    """
    c = np.abs(np.asarray(c, dtype=np.float64))
    near = np.minimum(c, SERIES_BELOW)
    # The variance is 1 / (2 c^3) to double precision, and then nil, long before 1e100.
    far = np.clip(c, SERIES_BELOW, 1e100)
    e = np.exp(-far)
    slope = 2.0 * e / (1.0 + e) ** 2
    closed = 0.5 * ((1.0 - e) / (1.0 + e) - far * slope) / far**3
    unit = np.where(c < SERIES_BELOW, np.polyval(VARIANCE_SERIES, 0.5 * near * near), closed)
    return np.asarray(h, dtype=np.float64) * unit
