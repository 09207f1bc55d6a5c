"""Counts of tables in a Chinese restaurant, CRT(m, r).

CRT(m, r) is the sum over j = 0..m-1 of independent Bernoulli(r / (r + j)): how many
tables m guests occupy when the concentration is r.

Small m is added up one by one. Otherwise the guests are taken in blocks. Within a block
the success probability falls from `high` to `low`, so every guest is, independently,

* a sure success with probability low,
* a sure failure with probability 1 - high,
* undecided with probability high - low, and then a success with a probability that
  depends on j.

The few undecided guests are found by skipping from one to the next, and the others are
one binomial draw. That is exact, needs about sqrt(r) log(1 + m/r) blocks, and works
alike where successes are rare (r small against j) and where failures are.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import sampler
from pasb.variates.scalar.binomials import binomial
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import exponential, normal

ONE_BY_ONE = 128
"""Largest number of guests that are added up one by one."""

LARGEST_COUNT = 2**62
"""Largest m that is accepted."""

BLOCK_LIMIT = 1e4
"""Number of blocks, about 2 ms of time, from which `crt` uses `crt_normal`.

The variance is then at least 9e6.
"""

_UNDECIDED = 2.0
"""The square root of the undecided guests aimed at in a block."""


@sampler
def _one_by_one(stream, start, stop, r):
    """Add up the guests start..stop-1."""
    tables = np.int64(0)
    for j in range(start, stop):
        u, stream = uniform(stream)
        if u * (r + j) < r:
            tables += np.int64(1)
    return tables, stream


@sampler
def _block(stream, start, size, r):
    """Add up `size` guests from `start` >= 1 on."""
    first = np.float64(start)
    last = np.float64(start + size - 1)
    low = r / (r + last)
    failing = first / (r + first)
    undecided = low * ((last - first) / (r + first))
    rate = -math.log1p(-undecided)
    tables = np.int64(0)
    settled = size
    # The gap to the next undecided guest is geometric: an exponential, rounded down.
    position = 0.0
    while rate > 0.0:
        gap, stream = exponential(stream)
        position += gap / rate
        if not position < size:
            break
        position = np.float64(math.floor(position))
        settled -= np.int64(1)
        j = first + position
        u, stream = uniform(stream)
        # (p_j - low) / (high - low)
        if u * (last - first) * (r + j) < (last - j) * (r + first):
            tables += np.int64(1)
        position += 1.0
    if low < failing:
        successes, stream = binomial(stream, settled, low / (low + failing))
        return tables + successes, stream
    failures, stream = binomial(stream, settled, failing / (low + failing))
    return tables + (settled - failures), stream


@sampler
def _by_blocks(stream, m, r):
    """Draw CRT(m, r) exactly, block by block."""
    tables, stream = _one_by_one(stream, np.int64(0), np.int64(ONE_BY_ONE), r)
    j = np.int64(ONE_BY_ONE)
    width = _UNDECIDED / math.sqrt(r)
    while j < m:
        left = m - j
        wish = (r + np.float64(j)) * width
        size = left
        if wish < np.float64(left):
            size = max(np.int64(wish), np.int64(ONE_BY_ONE))
            size = min(size, left)
        if size <= ONE_BY_ONE:
            more, stream = _one_by_one(stream, j, j + size, r)
        else:
            more, stream = _block(stream, j, size, r)
        tables += more
        j += size
    return tables, stream


@sampler
def _crt_moments(m, r):
    """Mean of the failures, variance and third central moment, for large m and r.

    Integrals in place of the sums, and half the last term for the difference.
    """
    x = m / r
    y = x / (1.0 + x)
    if x < 0.01:
        failures = x * x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x * (0.2 - x / 6.0))))
        variance = x * x * (0.5 - x * (2.0 / 3.0 - x * (0.75 - x * (0.8 - x * 5.0 / 6.0))))
    else:
        failures = x - math.log1p(x)
        variance = math.log1p(x) - y
    third = r * (variance - y * y)
    return r * failures - 0.5 * y, r * variance - 0.5 * y * (1.0 - y), third


@sampler
def crt_normal(stream, m, r):
    """Draw nearly CRT(m, r) for astronomically large m and r.

    A normal variate, corrected for skewness (Cornish and Fisher) and rounded. The error
    of the distribution function is about 0.1 over the variance.
    """
    failures, variance, third = _crt_moments(np.float64(m), r)
    deviation = math.sqrt(variance)
    z, stream = normal(stream)
    z += third / (variance * deviation) * (z * z - 1.0) / 6.0
    mean = np.float64(m) - failures
    if mean < failures:
        tables = np.int64(math.floor(mean + deviation * z + 0.5))
    else:
        tables = m - np.int64(math.floor(failures - deviation * z + 0.5))
    return max(np.int64(1), min(m, tables)), stream


@sampler
def crt(stream, m, r):
    """Draw CRT(m, r); zero if m is zero, -1 unless 0 <= m <= `LARGEST_COUNT` and r > 0."""
    count = np.int64(m)
    if not (count >= 0 and count <= LARGEST_COUNT and r > 0.0):
        return np.int64(-1), stream
    if r == np.inf:
        return count, stream
    if count <= ONE_BY_ONE:
        return _one_by_one(stream, np.int64(0), count, r)
    blocks = math.sqrt(r) * math.log1p(np.float64(count) / r) / _UNDECIDED
    if blocks > BLOCK_LIMIT:
        return crt_normal(stream, count, r)
    return _by_blocks(stream, count, r)
