"""Poisson variates, and Poisson variates that are not zero."""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import sampler
from pasb.variates.scalar.factorials import HALF_LOG_TWO_PI, deviance, stirling_error
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import exponential

REJECTION_RATE = 10.0
"""Rate from which transformed rejection replaces the counting of arrivals."""

LARGEST_RATE = 2.0**62
"""Largest rate that is accepted.

Counts above 2**53 fall on the grid of floating-point numbers, whose step is then still
less than a ten-millionth of the standard deviation.
"""

_LARGEST_COUNT = 2.0**63 * (1.0 - 2.0**-53)


@sampler
def _log_probability(k, rate):
    """Log of the Poisson probability of a float k >= 0."""
    if k < 1.0:
        return -rate
    # k log(k / rate) + rate - k, without cancellation
    loss = rate * deviance((k - rate) / rate)
    return -loss - stirling_error(k) - 0.5 * math.log(k) - HALF_LOG_TWO_PI


@sampler
def _by_rejection(stream, rate):
    """Draw a Poisson count for a rate >= 10 (Hormann 1993, algorithm PTRS)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, stream = uniform(stream)
        u -= 0.5
        v, stream = uniform(stream)
        room = 0.5 - abs(u)
        place = (2.0 * a / room + b) * u + rate + 0.43
        if place < 0.0 or place > _LARGEST_COUNT or (room < 0.013 and v > room):
            continue
        k = math.floor(place)
        if room >= 0.07 and v <= sure:
            return np.int64(k), stream
        height = v * inverse_alpha / (a / (room * room) + b)
        if math.log(height) <= _log_probability(np.float64(k), rate):
            return np.int64(k), stream


@sampler
def poisson(stream, rate):
    """Draw a Poisson count; -1 unless 0 <= rate <= `LARGEST_RATE`."""
    if not (rate >= 0.0 and rate <= LARGEST_RATE):
        return np.int64(-1), stream
    if rate >= REJECTION_RATE:
        return _by_rejection(stream, rate)
    count = np.int64(0)
    time, stream = exponential(stream)
    while time < rate:
        count += np.int64(1)
        wait, stream = exponential(stream)
        time += wait
    return count, stream


@sampler
def zero_truncated_poisson(stream, rate):
    """Draw a Poisson count given that it is not zero.

    A rate of zero means the limit, a count of one. -1 unless
    0 <= rate <= `LARGEST_RATE`.
    """
    if not (rate >= 0.0 and rate <= LARGEST_RATE):
        return np.int64(-1), stream
    # The first of the arrivals before `rate` comes at a truncated exponential time;
    # the others are a Poisson process on what is left.
    u, stream = uniform(stream)
    left = max(0.0, rate + math.log1p(u * math.expm1(-rate)))
    others, stream = poisson(stream, left)
    return others + np.int64(1), stream
