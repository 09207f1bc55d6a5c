"""Standard normal and Student t variates restricted to an interval.

The *energy* of a point is W = x^2/2 for the normal and W = n/2 log(1 + x^2/n) for the t
with n degrees of freedom, whose density is exp(-W) (1 + x^2/n)^(-1/2). An interval that
reaches farther to the left of zero than to the right is mirrored. Then one of three exact
rejections is used, each with a bounded cost:

* the interval is in the tail: W is a shifted exponential, up to a factor of its density that
  decreases, so a truncated exponential is proposed, however far the tail and however
  narrow the interval;
* it is short and near zero: an envelope on the interval, flat for the normal;
* it is long and reaches near zero: draws from the whole distribution, until one falls inside.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import sampler
from pasb.variates.scalar.gammas import log_gamma
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import exponential, normal

_TAIL = 0.6
"""Lower bound, in units of the bulk's scale, from which an interval counts as tail."""

_SHORT = 2.0
"""Energy at the farther bound up to which an interval counts as short."""

SMALLEST_DF = 1e-300
"""Fewest degrees of freedom of `truncated_t`."""

_HUGE = 1e150
"""A number whose square is still finite."""


@sampler
def _is_empty(lower, upper):
    """Whether no finite number lies in the interval, or a bound is NaN."""
    return not (lower <= upper and lower < np.inf and upper > -np.inf)


@sampler
def truncated_exponential(stream, bound):
    """Draw a standard exponential given that it does not exceed `bound` > 0."""
    if bound < 1.0:
        u, stream = uniform(stream)
        return min(bound, -math.log1p(u * math.expm1(-bound))), stream
    while True:
        e, stream = exponential(stream)
        if e <= bound:
            return e, stream


@sampler
def _normal_tail(stream, lower, upper):
    """Draw a normal in [lower, upper], lower >= 0.6 (Marsaglia 1964)."""
    if lower > _HUGE:
        return lower, stream
    bound = 0.5 * (upper - lower) * (upper + lower)
    if not bound > 0.0:
        return lower, stream
    while True:
        e, stream = truncated_exponential(stream, bound)
        gain = 2.0 * e
        x = lower + gain / (lower + math.sqrt(lower * lower + gain))
        u, stream = uniform(stream)
        if u * x <= lower:
            return min(x, upper), stream


@sampler
def truncated_normal(stream, lower, upper):
    """Draw a standard normal in [lower, upper]; either bound may be infinite.

    NaN if a bound is NaN or the interval is empty.
    """
    if _is_empty(lower, upper):
        return np.nan, stream
    sign = 1.0
    if upper < -lower:
        lower, upper = -upper, -lower
        sign = -1.0
    # Now the interval reaches at least as far to the right as to the left.
    if lower >= _TAIL:
        x, stream = _normal_tail(stream, lower, upper)
        return sign * x, stream
    if 0.5 * upper * upper < _SHORT:
        nearest = max(lower, 0.0)
        while True:
            u, stream = uniform(stream)
            x = lower + (upper - lower) * u
            e, stream = exponential(stream)
            if 2.0 * e > (x - nearest) * (x + nearest):
                return sign * x, stream
    while True:
        x, stream = normal(stream)
        if x >= lower and x <= upper:
            return sign * x, stream


@sampler
def _student_t(stream, df):
    """Draw a Student t: a normal over the root of a gamma, through logs for small df."""
    z, stream = normal(stream)
    log_g, stream = log_gamma(stream, 0.5 * df)
    return z * math.exp(0.5 * (math.log(0.5 * df) - log_g)), stream


@sampler
def _t_energy(x, df):
    """Return df/2 log(1 + x^2/df) for x >= 0, also where the square overflows."""
    if x > _HUGE:
        return df * (math.log(x) - 0.5 * math.log(df))
    return 0.5 * df * math.log1p(x * x / df)


@sampler
def _t_tail(stream, df, lower, upper):
    """Draw a t in [lower, upper] with lower in the tail.

    In terms of w = df/2 log(1 + x^2/df) the density is exp(-w) (1 + df/x^2)^(1/2), and
    the second factor falls.
    """
    if lower > _HUGE:
        # Here it is a Pareto distribution.
        bound = df * (math.log(upper) - math.log(lower))
        if not bound > 0.0:
            return lower, stream
        e, stream = truncated_exponential(stream, bound)
        return min(lower * math.exp(e / df), upper), stream
    base = df + lower * lower
    if upper > _HUGE:
        bound = _t_energy(upper, df) - _t_energy(lower, df)
    else:
        bound = 0.5 * df * math.log1p((upper - lower) * ((upper + lower) / base))
    if not bound > 0.0:
        return lower, stream
    while True:
        e, stream = truncated_exponential(stream, bound)
        rise = 2.0 * e / df
        if rise > 100.0:
            x = math.sqrt(base) * math.exp(0.5 * rise)
            ratio = 1.0
        else:
            gain = base * math.expm1(rise)
            x = lower + gain / (lower + math.sqrt(lower * lower + gain))
            ratio = math.sqrt(base + gain) / x
        u, stream = uniform(stream)
        if u * math.sqrt(base) <= lower * ratio:
            return min(x, upper), stream


@sampler
def truncated_t(stream, df, lower, upper):
    """Draw a Student t in [lower, upper]; either bound may be infinite.

    Infinite `df` is the normal. NaN if a bound is NaN, the interval is empty, or df is
    below `SMALLEST_DF`. Where the tails reach beyond the largest floating-point number, as for
    df = 0.01, a draw may be infinite.
    """
    if _is_empty(lower, upper) or not df >= SMALLEST_DF:
        return np.nan, stream
    if df > 1e15:
        return truncated_normal(stream, lower, upper)
    sign = 1.0
    if upper < -lower:
        lower, upper = -upper, -lower
        sign = -1.0
    scale = math.sqrt(df)
    if lower >= _TAIL * scale / math.sqrt(1.0 + df):
        x, stream = _t_tail(stream, df, lower, upper)
        return sign * x, stream
    if _t_energy(upper, df) < _SHORT:
        # The envelope (1 + x^2/df)^(-1/2) is flat in asinh(x / sqrt(df)).
        start = math.asinh(lower / scale)
        length = math.asinh(upper / scale) - start
        while True:
            u, stream = uniform(stream)
            x = scale * math.sinh(start + length * u)
            e, stream = exponential(stream)
            if e >= _t_energy(abs(x), df):
                return sign * max(lower, min(x, upper)), stream
    while True:
        x, stream = _student_t(stream, df)
        if x >= lower and x <= upper:
            return sign * x, stream
