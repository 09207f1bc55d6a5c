r"""Polya-Gamma variates PG(h, c) for every real h > 0 and every finite c.

The density of PG(h, c), with c taken positive, is that of an inverse Gaussian with mean
h/(2c) and shape h^2/4, times the constant (1 + e^(-c))^h, times

    A(x) = sum over n >= 0 of (-1)^n (h)_n / n! (2n + h)/h exp(-n(n + h)/(2x)),

which lies in (0, 1] and is free of c. So the inverse Gaussian is proposed and accepted
with probability A(x). Partial sums of A bound it from above and below in turn once
their terms decrease, and the terms of this series rise at most once and then fall, so
the decision is exact after a few terms. A proposal is accepted with probability
exp(-b), where b = h log(1 + e^(-c)) is called the *burden* here.

* Up to a burden of about 1.4 one such draw is made.
* Above it, h is cut into equal parts, because PG(h1 + h2, c) is the sum of independent
  PG(h1, c) and PG(h2, c). The number of parts keeps the burden of each near one, where
  the cost is least.
* From a burden of `THREE_GAMMA_BURDEN` on, `polya_gamma` leaves exactness by less than
  1e-7 of the distribution function, see `three_gammas`. `polya_gamma_exact` never does.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import inlined_sampler, sampler
from pasb.variates.moments import MEAN_SERIES, SERIES_BELOW, THIRD_SERIES, VARIANCE_SERIES
from pasb.variates.scalar.gammas import gamma_from_one
from pasb.variates.scalar.inverse_gaussians import inverse_gaussian_by_ratio
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import normal

THREE_GAMMA_BURDEN = 3.0
"""Burden from which `polya_gamma` uses `three_gammas`; at c = 0 it is h = 4.33.

The worst error of the distribution function from there on, by Fourier inversion over
0 <= c <= 14, is 6.3e-8 (at c = 0 and just this burden); it falls as h grows.
"""

EXACT_H_LIMIT = 1e6
"""Largest h for which `polya_gamma_exact` stays within the draws of one cell."""

_SURE_RATIO = 38.0
"""First omitted term below e^-38: A(x) is one to double precision."""

_SMALL_H = 2.1
"""Up to this h the bounds below hold: A falls in x, and is rising and convex in h."""
_BOUND_ONE = (0.0362, 0.117)
"""A(x) < 0.0362 + 0.117 h for x >= 1."""
_BOUND_TWO = (0.0004, 0.0046)
"""A(x) < 0.0004 + 0.0046 h for x >= 2."""

_NEGLIGIBLE = 1e-18
_LARGE_C = 750.0
_LARGE_H = 1e100
"""Beyond either, and with a small burden, A(x) is one wherever the proposal has mass."""
_MAX_TERMS = 1000


@inlined_sampler
def _accepts(u, x, h):
    """Whether u < A(x), by the alternating series."""
    inverse = 1.0 / x
    factor = math.exp(-0.5 * (1.0 + h) * inverse)
    power = factor
    coefficient = 2.0 + h
    term = coefficient * power
    total = 1.0 - term
    if u < total:
        return True
    step = math.exp(-inverse)
    for n in range(2, _MAX_TERMS):
        before = term
        factor *= step
        power *= factor
        coefficient *= (n - 1.0 + h) / n * (2.0 * n + h) / (2.0 * n - 2.0 + h)
        term = coefficient * power
        falls = term <= before
        if n % 2 == 0:
            total += term
            if falls and u >= total:
                return False
        else:
            total -= term
            if falls and u < total:
                return True
        if falls and term < _NEGLIGIBLE:
            return u < total
    return False


@inlined_sampler
def _by_inverse_gaussian(stream, h, c):
    """Draw PG(h, c), 0 <= c < `_LARGE_C`, by proposing the inverse Gaussian."""
    half = 0.5 * h
    proposal_scale = 2.0 * half * half
    ratio = half / c if c > 0.0 else 0.0
    load = h * c
    sure = 0.5 * (1.0 + h) / _SURE_RATIO
    while True:
        z, stream = normal(stream)
        y = z * z
        # Stable for h near zero and for c = 0, where it is the Levy distribution.
        x = proposal_scale / (load + y + math.sqrt(y * (y + 2.0 * load)))
        u, stream = uniform(stream)
        if u * (half + c * x) > half:
            x = ratio * (ratio / x)
        if x < sure:
            return x, stream
        u, stream = uniform(stream)
        if x > 1.0:
            if x > 8.0 + h:
                continue  # A(x) < 1e-15
            if h <= _SMALL_H:
                if u > _BOUND_ONE[0] + _BOUND_ONE[1] * h:
                    continue
                if x > 2.0 and u > _BOUND_TWO[0] + _BOUND_TWO[1] * h:
                    continue
        if _accepts(u, x, h):
            return x, stream


@sampler
def _sum_of_parts(stream, h, c, parts):
    """Draw PG(h, c) as the sum of `parts` exact draws."""
    total = 0.0
    for _ in range(parts):
        x, stream = _by_inverse_gaussian(stream, h / parts, c)
        total += x
    return total, stream


@sampler
def _parts(burden):
    """How many equal parts cost least: n exp(burden / n) is smallest near n = burden."""
    return np.int64(max(1.0, math.ceil(burden - 0.45)))


@sampler
def _unit_cumulants(c):
    """First three cumulants of PG(1, c), c >= 0."""
    if c < SERIES_BELOW:
        v = 0.5 * c * c
        first, second, third = 0.0, 0.0, 0.0
        for i in range(MEAN_SERIES.size):
            first = first * v + MEAN_SERIES[i]
            second = second * v + VARIANCE_SERIES[i]
            third = third * v + THIRD_SERIES[i]
        return first, second, third
    e = math.exp(-c)
    t = (1.0 - e) / (1.0 + e)
    slope = 2.0 * e / ((1.0 + e) * (1.0 + e))
    first = 0.5 * t / c
    second = 0.5 * (t - c * slope) / (c * c * c)
    third = 0.5 * (3.0 * t - 3.0 * c * slope - c * c * t * slope) / (c * c * c * c * c)
    return first, second, third


@sampler
def three_gammas(stream, h, c):
    """Draw nearly PG(h, c): two gammas as they are, and one for all the others.

    PG(h, c) is the sum over k of Gamma(h) / d_k with d_k = 2 pi^2 (k - 1/2)^2 + c^2/2.
    The first two terms are drawn; the rest is replaced by a shifted gamma that has the
    rest's first three cumulants. An approximation, see `THREE_GAMMA_BURDEN`.
    """
    first, second, third = _unit_cumulants(c)
    tilt = 0.5 * c * c
    one = 1.0 / (0.5 * math.pi**2 + tilt)
    two = 1.0 / (4.5 * math.pi**2 + tilt)
    first -= one + two
    second -= one * one + two * two
    third -= 2.0 * (one * one * one + two * two * two)
    scale = 0.5 * third / second
    shape = second / (scale * scale)
    shift = first - shape * scale
    x, stream = gamma_from_one(stream, h)
    y, stream = gamma_from_one(stream, h)
    rest, stream = gamma_from_one(stream, h * shape)
    return x * one + y * two + (h * shift + rest * scale), stream


@sampler
def _rare(stream, h, c, exact):
    """Draw PG(h, c) where proposals would be rejected too often, or are invalid."""
    if not (h > 0.0 and h < np.inf and c < np.inf):
        return np.nan, stream
    if exact and h > EXACT_H_LIMIT:
        return np.nan, stream
    burden = h * math.log1p(math.exp(-c))
    if burden >= THREE_GAMMA_BURDEN and not exact:
        return three_gammas(stream, h, c)
    if c >= _LARGE_C or h > _LARGE_H:
        return inverse_gaussian_by_ratio(stream, 0.5 * h / c, 2.0 / h / c)
    return _sum_of_parts(stream, h, c, _parts(burden))


@inlined_sampler
def polya_gamma(stream, h, c):
    """Draw PG(h, c); exact below `THREE_GAMMA_BURDEN`, within 1e-7 beyond.

    NaN unless 0 < h < inf and c is finite.
    """
    c = abs(c)
    if h > 0.0 and h <= 2.0 and c < _LARGE_C:
        return _by_inverse_gaussian(stream, h, c)
    return _rare(stream, h, c, False)


@sampler
def polya_gamma_exact(stream, h, c):
    """Draw PG(h, c) exactly, in time proportional to the burden h log(1 + e^(-|c|)).

    NaN unless 0 < h <= `EXACT_H_LIMIT` and c is finite.
    """
    c = abs(c)
    return _rare(stream, h, c, True)
