"""Two functions by which probabilities of counts are computed without cancellation.

The logarithm of a Poisson or binomial probability, written with log-gamma functions, is
a small difference of huge numbers when the counts are large. Written with the two
functions below every part is small (Loader 2000, "Fast and accurate computation of
binomial probabilities").
"""

from __future__ import annotations

import math

from pasb.variates.jit import sampler

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@sampler
def stirling_error(k):
    """Return log k! minus Stirling's formula for it, for a float k >= 1."""
    if k < 16.0:
        return math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - HALF_LOG_TWO_PI
    square = 1.0 / (k * k)
    inner = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square * inner)) / k


@sampler
def deviance(x):
    """Return (1 + x) log(1 + x) - x for x > -1, accurate for small x too."""
    if abs(x) < 0.01:
        # Sum over i >= 2 of (-x)^i / (i (i - 1)).
        series = 1.0 / 6.0 - x * (1.0 / 12.0 - x * (0.05 - x * (1.0 / 30.0 - x / 42.0)))
        return x * x * (0.5 - x * series)
    return (1.0 + x) * math.log1p(x) - x
