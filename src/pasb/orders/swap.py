"""Metropolis swaps of two categories (the paper's MH step, section 3.2).

A proposal needs only the table of `pasb.orders.table`, so a sweep can afford hundreds.
"""

from __future__ import annotations

import math

from numba import njit

from pasb.variates.scalar import open_stream, uniform


@njit(cache=True, error_model="numpy", nogil=True)
def uniform_at(key, row):
    """Return the first uniform variate of a row's stream, for decisions taken in Python."""
    value, _ = uniform(open_stream(key, row))
    return value


@njit(cache=True, error_model="numpy", nogil=True)
def swap_gain(accept, reject, reference, order, a, b):
    """Gain in the log of the target when the categories on sticks a < b trade places."""
    u = order[a]
    v = order[b]
    gain = reject[v, u] - reject[u, v]
    for j in range(a + 1, b):
        m = order[j]
        gain += reject[v, m] - reject[u, m] + reject[m, u] - reject[m, v]
    if b == order.shape[0] - 1:
        gain += accept[v, v] - accept[u, u] + reference[u] - reference[v]
    return gain


@njit(cache=True, error_model="numpy", nogil=True)
def swap_moves(accept, reject, reference, order, n_proposals, key):
    """Propose `n_proposals` swaps, change `order` in place, count the accepted ones.

    The pair of sticks is drawn uniformly, as in the paper; proposal number n reads
    the stream of row n under `key`.
    """
    n_sticks = order.shape[0]
    accepted = 0
    for n in range(n_proposals):
        stream = open_stream(key, n)
        u1, stream = uniform(stream)
        u2, stream = uniform(stream)
        u3, stream = uniform(stream)
        a = int(u1 * n_sticks)
        b = int(u2 * (n_sticks - 1))
        if b >= a:
            b += 1
        if b < a:
            a, b = b, a
        if math.log(u3) < swap_gain(accept, reject, reference, order, a, b):
            order[a], order[b] = order[b], order[a]
            accepted += 1
    return accepted
