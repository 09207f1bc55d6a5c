"""Binomial variates, for instance to split a count over experts."""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import sampler
from pasb.variates.scalar.factorials import HALF_LOG_TWO_PI, deviance, stirling_error
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import exponential

REJECTION_MEAN = 10.0
"""Mean from which transformed rejection replaces the counting of waiting times."""

LARGEST_COUNT = 2**62
"""Largest n that is accepted; above 2**53 the draws fall on the floating-point grid."""


@sampler
def _log_probability(k, n, p):
    """Log of the binomial probability of a float k in 0..n, 0 < p < 1."""
    if k < 1.0:
        return n * math.log1p(-p)
    if k > n - 1.0:
        return n * math.log(p)
    mean, rest = n * p, n * (1.0 - p)
    loss = mean * deviance((k - mean) / mean) + rest * deviance((mean - k) / rest)
    errors = stirling_error(n) - stirling_error(k) - stirling_error(n - k)
    return errors - loss - 0.5 * math.log(k * ((n - k) / n)) - HALF_LOG_TWO_PI


@sampler
def _by_rejection(stream, count, p):
    """Draw a binomial count for p <= 1/2 and n p >= 10 (Hormann 1993, BTRS)."""
    n = np.float64(count)
    deviation = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = n * p + 0.5
    alpha = (2.83 + 5.1 / b) * deviation
    sure = 0.92 - 4.2 / b
    at_mode = _log_probability(np.float64(math.floor((n + 1.0) * p)), n, p)
    while True:
        u, stream = uniform(stream)
        u -= 0.5
        v, stream = uniform(stream)
        room = 0.5 - abs(u)
        place = (2.0 * a / room + b) * u + centre
        if place < 0.0 or place >= n + 1.0:
            continue
        k = np.float64(math.floor(place))
        if room >= 0.07 and v <= sure:
            return min(np.int64(k), count), stream
        height = v * alpha / (a / (room * room) + b)
        if math.log(height) <= _log_probability(k, n, p) - at_mode:
            return min(np.int64(k), count), stream


@sampler
def _by_waiting(stream, count, p):
    """Draw a binomial count for p <= 1/2 and a small mean.

    Of n exponential clocks, those that ring before -log(1 - p) are binomial; the gaps
    between the rings of n, n - 1, ... clocks are independent exponentials.
    """
    end = -math.log1p(-p)
    rung = np.int64(0)
    time = 0.0
    while rung < count:
        wait, stream = exponential(stream)
        time += wait / np.float64(count - rung)
        if not time < end:
            break
        rung += np.int64(1)
    return rung, stream


@sampler
def _lower_half(stream, count, p):
    """Draw a binomial count for 0 <= p <= 1/2."""
    if np.float64(count) * p >= REJECTION_MEAN:
        return _by_rejection(stream, count, p)
    return _by_waiting(stream, count, p)


@sampler
def binomial(stream, n, p):
    """Draw a binomial count; -1 unless 0 <= n <= `LARGEST_COUNT` and 0 <= p <= 1."""
    count = np.int64(n)
    if not (count >= 0 and count <= LARGEST_COUNT and p >= 0.0 and p <= 1.0):
        return np.int64(-1), stream
    if p <= 0.5:
        return _lower_half(stream, count, p)
    failures, stream = _lower_half(stream, count, 1.0 - p)
    return count - failures, stream
