"""Inverse Gaussian variates."""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import sampler
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import normal


@sampler
def inverse_gaussian_by_ratio(stream, mean, ratio):
    """Draw an inverse Gaussian of a positive finite mean, given mean / shape >= 0."""
    z, stream = normal(stream)
    # The smaller root of the quadratic of Michael, Schucany and Haas (1976), as a
    # quotient of positive terms, so that nothing cancels.
    w = 0.5 * z * z * ratio
    small = mean / (1.0 + w + math.sqrt(w) * math.sqrt(2.0 + w))
    u, stream = uniform(stream)
    if u * (mean + small) > mean:
        return mean * (mean / small), stream
    return small, stream


@sampler
def inverse_gaussian(stream, mean, shape):
    """Draw from the inverse Gaussian distribution of the given mean and shape.

    The variance is mean^3 / shape. An infinite mean is the Levy distribution, shape over a
    squared normal. NaN unless mean > 0 and 0 < shape < inf.
    """
    if not (mean > 0.0 and shape > 0.0 and shape < np.inf):
        return np.nan, stream
    ratio = mean / shape
    if ratio < 1e300:
        return inverse_gaussian_by_ratio(stream, mean, ratio)
    z, stream = normal(stream)
    return shape / (z * z), stream
