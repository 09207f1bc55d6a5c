"""The t distribution function in logs, accurate however far out, and a quick table of it.

Everything is computed from the lower tail, log F(-|x|): with a = df / 2 and
s = df / (df + x^2) it is log(I_s(a, 1/2) / 2), and the incomplete beta function is a power of
s, whose log is known, times a continued fraction near one. That takes some 300 ns, where a
sweep needs the same function of thousands of rows. So for given degrees of freedom log F is
kept as polynomials on short intervals, which are as accurate and take 14 ns; beyond the
intervals the continued fraction is used.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel
from pasb.variates.jit import inlined_sampler as inlined

N_PIECES, DEGREE = 256, 9
LOGISTIC = 0.0  # degrees of freedom that stand for the logistic link


def t_constant(df: float) -> float:
    """Log of Gamma((df + 1) / 2) / (Gamma(df / 2) sqrt(pi)); zero for infinite `df`."""
    if df == math.inf:
        return 0.0
    a = 0.5 * df
    if a < 50:
        ratio = math.lgamma(a + 0.5) - math.lgamma(a)
    else:  # the difference of two large numbers would lose digits
        b = 1 / (a * a)
        ratio = 0.5 * math.log(a) - (1 / 8 - b * (1 / 192 - b * (1 / 640 - b * 17 / 14336))) / a
    return ratio - 0.5 * math.log(math.pi)


@kernel
def _continued_fraction(a, b, x):
    """Continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2).

    I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) times this (modified Lentz).
    """
    c = 1.0
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 100_000):
        term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        value *= c * d
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


@kernel
def _log_normal_tail(x):
    """Log of the standard normal distribution function at -x, x >= 0."""
    if x < 25.0:
        return math.log(0.5 * math.erfc(x * math.sqrt(0.5)))
    r = 1.0 / (x * x)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r))))
    return -0.5 * x * x - math.log(x) - 0.5 * math.log(2 * math.pi) + math.log(series)


@kernel
def log_tail(x, df, constant):
    """Log of the t distribution function at -|x|; `constant` is `t_constant(df)`."""
    x = abs(x)
    if df == np.inf:
        return _log_normal_tail(x)
    a = 0.5 * df
    if not x <= 1e100:  # where the square might overflow the tail is a power; NaN stays NaN
        return constant + 0.5 * (df - 2.0) * math.log(df) - df * math.log(x)
    square = x * x
    near = square / (df + square)
    if near * (a + 2.5) < 1.5:
        root = math.sqrt(near)
        power = math.exp(constant - a * math.log1p(square / df))
        return math.log(0.5 - root * power * _continued_fraction(0.5, a, near))
    log_far, log_near = -math.log1p(square / df), -math.log1p(df / square)
    fraction = _continued_fraction(a, 0.5, df / (df + square))
    return constant - math.log(df) + a * log_far + 0.5 * log_near + math.log(fraction)


@kernel
def _log_cdf(u, df, constant):
    """Log of the t distribution function, by the continued fraction."""
    low = log_tail(u, df, constant)
    return math.log1p(-math.exp(low)) if u > 0.0 else low


@inlined
def _width(df):
    """Width of an interval: log F has singularities at a distance of sqrt(df)."""
    return 0.125 if df > 1.0 else 0.125 * math.sqrt(df)


@lru_cache(maxsize=16)
def t_pieces(df: float) -> NDArray[np.float64]:
    """Coefficients of log F on the intervals, in the distance from their middle."""
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    middles = (np.arange(N_PIECES) - 0.5 * (N_PIECES - 1)) * _width(df)
    points = middles[:, None] + 0.5 * _width(df) * nodes
    values = np.array([_log_cdf(u, df, t_constant(df)) for u in points.ravel()])
    powers = nodes[:, None] ** np.arange(DEGREE + 1)
    pieces = np.ascontiguousarray(np.linalg.solve(powers, values.reshape(points.shape).T).T)
    pieces.setflags(write=False)
    return pieces


LOGISTIC_LINK: tuple[float, float, NDArray[np.float64]] = (LOGISTIC, 0.0, np.zeros((0, DEGREE + 1)))
"""What stands for the logistic link in the place of a t distribution."""
LOGISTIC_LINK[2].setflags(write=False)


def t_link(df: float) -> tuple[float, float, NDArray[np.float64]]:
    """Degrees of freedom, constant and pieces, as compiled code takes them."""
    return df, t_constant(df), t_pieces(df)


@inlined
def log_cdf_and_slope(u, df, constant, pieces):
    """Log F(u) and its derivative; `constant` and `pieces` are those of `df`."""
    place = u / _width(df) + 0.5 * N_PIECES
    if place > 0.0 and place < N_PIECES:
        k = int(place)
        row = pieces[k]
        t = 2.0 * (place - k) - 1.0
        value, slope = row[DEGREE], 0.0
        for j in range(DEGREE - 1, -1, -1):
            slope = slope * t + value
            value = value * t + row[j]
        return value, 2.0 * slope / _width(df)
    value = _log_cdf(u, df, constant)
    if df == np.inf:
        return value, math.exp(-0.5 * (u * u + math.log(2 * math.pi)) - value)
    log_f = constant - 0.5 * math.log(df) - 0.5 * (df + 1.0) * math.log1p(u / df * u)
    return value, math.exp(log_f - value)


@inlined
def log_cdf(u, df, constant, pieces):
    """Log F(u)."""
    return log_cdf_and_slope(u, df, constant, pieces)[0]
