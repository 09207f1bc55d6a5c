"""Plain swaps of two categories in the order, their coefficients as they are.

Changes the order. The pair of sticks is drawn uniformly, as in the paper, and the swap is accepted
with the Metropolis ratio of the likelihoods, times that of pseudo-prior over prior where the
reference changes. So posterior times pseudo-prior is left invariant. By the order table
(`pasb.orders.table`) a proposal costs O(S) whatever the number of rows, so hundreds of them are
made in a sweep; with groups of rows (`pasb.numerics.row_groups`) it costs as much for each group
whose category is between the two. Applies to every model where the order is inferred. Counts
`swap_proposed` and `swap_accepted`.
"""

from __future__ import annotations

import math

from pasb.binary.binary_model import Keys
from pasb.moves.move import Move, State
from pasb.numerics.compiled import kernel
from pasb.orders.table import OrderTable, log_likelihood_between
from pasb.variates.scalar import open_stream, uniform


class Swap(Move):
    """Metropolis swaps of two categories."""

    statistics = ("swap_proposed", "swap_accepted")

    def __init__(self, order_table: OrderTable, n_proposals: int):
        super().__init__()
        self.order_table, self.n = order_table, n_proposals

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        key = keys.at(len(state.order))
        self.counted += self.n, swap_moves(*self.order_table, state.order, self.n, key)


@kernel
def swap_gain(accept, reject, reference, groups, order, a, b):
    """Gain in the log of the target when the categories on sticks `a` < `b` trade places.

    `order` is that of a chain, `accept`, `reject` and `groups` are those of `pasb.orders.table`,
    and `reference` (S) has log-ratios of pseudo-prior to prior, by which category is the last.
    """
    u = order[a]
    v = order[b]
    if groups[0].shape[0] > 0:
        gain = -log_likelihood_between(accept, reject, groups, order, a, b)
        order[a], order[b] = v, u
        gain += log_likelihood_between(accept, reject, groups, order, a, b)
        order[a], order[b] = u, v
        if b == order.shape[0] - 1:
            gain += reference[u] - reference[v]
        return gain
    gain = reject[v, u] - reject[u, v]
    for j in range(a + 1, b):
        m = order[j]
        gain += reject[v, m] - reject[u, m] + reject[m, u] - reject[m, v]
    if b == order.shape[0] - 1:
        gain += accept[v, v] - accept[u, u] + reference[u] - reference[v]
    return gain


@kernel
def swap_moves(accept, reject, reference, groups, order, n_proposals, key):
    """Propose `n_proposals` swaps, change `order` in place, count the accepted ones.

    The pair of sticks is drawn uniformly, as in the paper; proposal number n reads
    the stream of row n under `key`. `accept`, `reject`, `reference` and `groups` are as for
    `swap_gain`.
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
        if math.log(u3) < swap_gain(accept, reject, reference, groups, order, a, b):
            order[a], order[b] = order[b], order[a]
            accepted += 1
    return accepted
