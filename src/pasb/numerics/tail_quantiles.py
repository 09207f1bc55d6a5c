"""Means and tail quantiles of many draws, without sorting them.

An interval needs four order statistics: two neighbours in each tail, between which
`numpy.quantile` interpolates. A sample of the draws gives a bound for each tail; one pass copies
what lies beyond the bounds; a selection among these few finds the order statistics. They are
exact whatever the bounds: where a bound was too narrow, the selection is among all draws.

Arguments of the compiled functions: `values` are draws of one number, `sign` 1 for the lower tail
and -1 for the upper one, `k` counts order statistics from 0; `floor` and `ceiling` are the bounds
of the tails and `bound` that of one of them; `low`, `high` and `beyond` (draws + 1) what lies
beyond them.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.numerics.compiled import kernel, summing

STRIDE = 16  # one of so many draws is in the sample
FEW = 64  # draws that are not worth a sample


@summing
def _sum(values):
    total = 0.0
    for d in range(values.size):
        total += values[d]
    return total


@kernel
def means(values, out):
    """``out[i, s]``, the mean of ``values[i, s, :]``, scaled so that the means of a row add to 1.

    Every draw's probabilities add to one up to rounding, and so must their means.
    """
    for i in range(values.shape[0]):
        total = 0.0
        for s in range(values.shape[1]):
            out[i, s] = _sum(values[i, s])
            total += out[i, s]
        for s in range(values.shape[1]):
            out[i, s] /= total


@kernel
def tail_quantiles(values, lower_tail, upper_tail, lower, upper):
    """Quantiles of ``values[i, s, :]``, as `numpy.quantile` defines them, into ``[i, s]``.

    `lower_tail` < `upper_tail` are their probabilities, `lower` and `upper` the results.
    """
    n = values.shape[2]
    low, high, beyond = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    lower_place, upper_place = lower_tail * (n - 1), upper_tail * (n - 1)
    k = min(int(lower_place), max(n - 2, 0))
    # counted from the largest
    m = min(max(n - 2 - int(upper_place), 0), max(n - 2, 0))
    for i in range(values.shape[0]):
        for s in range(values.shape[1]):
            v = values[i, s]
            if n == 1:
                lower[i, s] = upper[i, s] = v[0]
                continue
            floor, ceiling = _bounds(v, k, m, beyond)
            n_low, n_high = _beyond(v, floor, ceiling, beyond, low, high)
            first, second = _lowest(v, 1.0, k, floor, n_low, low)
            lower[i, s] = _between(first, second, lower_place - k)
            first, second = _lowest(v, -1.0, m, -ceiling, n_high, high)
            upper[i, s] = _between(-second, -first, upper_place - (n - 2 - m))


@kernel
def _between(a, b, share):
    """The point at a share of the way from a to b, by the formula of `numpy.quantile`."""
    if a == b:
        return a
    return a + (b - a) * share if share < 0.5 else b - (b - a) * (1.0 - share)


@kernel
def _bounds(values, k, m, sample):
    """A value that is in all likelihood above the k + 2 least, and one below the m + 2 greatest."""
    n = values.size
    if n < FEW:
        return -np.inf, np.inf
    size = n // STRIDE
    for j in range(size):
        sample[j] = values[j * STRIDE]
    first, second = _safe_rank(k, n, size), size - 1 - _safe_rank(m, n, size)
    select(sample, 0, size - 1, first)
    # what is on either side of the first stays there
    if second > first:
        select(sample, first + 1, size - 1, second)
    elif second < first:
        select(sample, 0, first - 1, second)
    return sample[first], sample[second]


@kernel
def _beyond(values, floor, ceiling, beyond, low, high):
    """Copy what is below the floor and, with the other sign, what is above the ceiling.

    Returns how many values each are. Loops without a branch: there is always something to copy,
    and what does not count is written over.
    """
    middle, half = 0.5 * (floor + ceiling), 0.5 * (ceiling - floor)
    half -= 4e-16 * (abs(floor) + abs(ceiling))  # rounding must not lose any
    n = np.uint64(0)
    for d in range(values.size):
        x = values[d]
        beyond[n] = x
        n += np.uint64(abs(x - middle) > half)
    n_low = n_high = np.uint64(0)
    for d in range(n):
        x = beyond[d]
        low[n_low] = x
        n_low += np.uint64(x < floor)
        high[n_high] = -x
        n_high += np.uint64(x > ceiling)
    return int(n_low), int(n_high)


@kernel
def _safe_rank(k, n, size):
    """The rank in a sample of a value that is in all likelihood above the k + 2 least of all."""
    share = (k + 2.0) / n
    rank = share * size + 3.0 * math.sqrt(share * (1.0 - share) * size) + 1.0
    return min(int(rank), size - 1)


@kernel
def _lowest(values, sign, k, bound, n_below, below):
    """The order statistics k and k + 1 of the values times a sign.

    The first `n_below` entries of `below` are those less than the bound; `below` has room for all.
    """
    if n_below < k + 2:
        n = 0
        for d in range(values.size):
            n += sign * values[d] <= bound
        if n >= k + 2:  # many equal the bound
            first = below[:n_below].max() if k < n_below else bound
            return first, bound
        n_below = values.size
        for d in range(n_below):
            below[d] = sign * values[d]
    return _neighbours(below, n_below, k)


@kernel
def _neighbours(a, n, k):
    """The order statistics k and k + 1, from 0, of the first n entries of `a`; permutes them."""
    select(a, 0, n - 1, k)
    following = np.inf
    for i in range(k + 1, n):
        following = min(following, a[i])
    return a[k], following


@kernel
def select(a, first, last, k):
    """Permute ``a[first]`` to ``a[last]`` until none before place k is greater, none behind less.

    Quickselect. Places are unsigned: Numba looks whether others are negative.
    """
    left, right, place, one = np.uint64(first), np.uint64(last), np.uint64(k), np.uint64(1)
    while left < right:
        x, y, z = a[left], a[(left + right) >> one], a[right]
        pivot = max(min(x, y), min(max(x, y), z))
        store = left
        i = left
        while i <= right:  # without a branch that would be mispredicted
            v = a[i]
            a[i] = a[store]
            a[store] = v
            store += np.uint64(v < pivot)
            i += one
        if place < store:
            right = store - one
            continue
        if store > left:
            left = store
            continue
        i = left  # the pivot is the least, and there may be many of it
        while i <= right:
            v = a[i]
            a[i] = a[store]
            a[store] = v
            store += np.uint64(v <= pivot)
            i += one
        if place < store:
            break  # all from `left` to `store` are the same
        left = store
