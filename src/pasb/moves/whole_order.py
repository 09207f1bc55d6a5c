"""The whole order at once, from one vector of coefficients for every stick that matters.

Changes the order, and the coefficients and precisions of the sticks that change. Swaps of
neighbours stay in the valley of orders that a chain fell into. Here many sticks (c, R), category c
with the set R behind it, get coefficients: those on the path of the present order keep theirs, the
others get the end of a bridge (`pasb.binary.bridge`) from their normal approximation to their
posterior. Sticks of the present order get a bridge back from their coefficients. With w(c, R) the
weight of a bridge, the order given all bridges has a probability proportional to the product of w
over its sticks: bridges are pseudo-priors (Carlin and Chib 1995). That is a sum over known sticks
(`pasb.orders.known_sticks`), from which an order can be drawn exactly, which leaves the posterior
invariant. Latents and precisions are integrated out.

A stick that the present order does not have takes part with a probability of its own, its
*share*, and its weight is divided by that, because were it in the present order it would take
part for sure. So sticks of no importance cost next to nothing. Applies to logistic and robit sticks
whose approximations are known; an order with a stick that is not known stays as it is. Costs a
trajectory or two of every stick that takes part, and nothing where they make no other order.
Counts `whole_order_proposed` and `whole_order_sticks_changed`.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.binary.bridge import bridge
from pasb.binary.linear import LinearSampler
from pasb.binary.linear_kernels import draw_precisions
from pasb.binary.travel import enough_steps
from pasb.moves.independence import ADOPTION, CHOICE, DECISION, PROPOSAL
from pasb.moves.move import Move, State, place_of
from pasb.moves.whitened import Whitened
from pasb.numerics.compiled import kernel
from pasb.orders.known_sticks import (
    BITS,
    draw_known_stick,
    find_stick,
    mark_useful,
    sum_known_orders,
)
from pasb.orders.table import OrderTable, keep_group_sums
from pasb.sticks import ABSENT, FAILURE, SUCCESS, assign_roles, order_with_set
from pasb.variates.scalar import stream_key, uniform_at

# kinds of moves, beside those of `pasb.moves.independence`; those behind it are for velocities
WHOLE = np.int64(16)
ZERO = np.int64(0)

# mypy: disable-error-code="call-arg"


class WholeOrder(Move):
    """Draw the order as a whole; sticks, table and approximations are those of `whitened`."""

    statistics = ("whole_order_proposed", "whole_order_sticks_changed")

    def __init__(self, whitened: Whitened):
        super().__init__()
        self.whitened = whitened
        self.sampler: LinearSampler = whitened.sampler
        self.order_table: OrderTable = whitened.order_table
        self.gaussians = whitened.gaussians

    @cached_property
    def space(self) -> tuple[NDArray, ...]:
        """Of every stick: coefficients, sums, weight, whether it takes part; of sets, two."""
        n_sticks, rows = len(self.gaussians), self.sampler.rows
        n_sets = len(self.whitened.graph[1])
        return (
            np.zeros((n_sticks, rows.blocks.shape[1])),
            np.zeros((n_sticks, rows.n_groups)),
            np.zeros(n_sticks),
            np.zeros(n_sticks, dtype=np.bool_),
            np.zeros((2, n_sets)),
        )

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        whitened = self.whitened
        n_changed = draw_whole_order(
            self.sampler.regression,
            whitened.forward,
            place_of(state, self.order_table),
            self.gaussians,
            whitened.graph,
            whitened.efforts,
            self.space,
            whitened.work,
            tuple(keys),
        )
        if n_changed < 0:
            self.sampler.guards["skipped_whole_orders"] += 1
        if n_changed > 0:
            whitened.forget()
        self.counted += 1, max(n_changed, 0)


@kernel
def draw_whole_order(regression, forward, place, gaussians, graph, efforts, space, work, keys):
    """Draw an order, adopt its coefficients; the number of sticks that changed.

    If the present order cannot be weighed, all stays as it is: -1. `gaussians` (sticks, packed
    size) are the approximations of all known sticks, `graph` says how they follow each other
    (`pasb.orders.known_sticks`), `efforts` are their steps, leaps and shares, `space` is that of
    `WholeOrder`, `work` that of `pasb.binary.travel`. `regression`, `forward`, `place` and `keys`
    are as for `pasb.moves.independence.independence_move`. The table gets what the
    sticks of the new order need.
    """
    order, coef, precision, accept, reject, groups = place
    ends, sums, weights, included, (below, above) = space
    steps, leaps, shares = efforts
    stick_keys, sets, lower, _ = graph
    _, prior, _ = regression
    n_categories, n = coef.shape
    stop, go_on = (SUCCESS, FAILURE) if forward else (FAILURE, SUCCESS)
    roles = np.empty(accept.shape[1], dtype=np.int8)
    some = np.empty(n_categories, dtype=np.int64)  # an order with the stick in question
    present = np.full(n_categories, -1, dtype=np.int64)  # the stick of each category
    key = stream_key(*keys, ZERO, WHOLE, CHOICE)
    for k in range(stick_keys.shape[0]):
        included[k] = shares[k] >= 1.0 or uniform_at(key, k) < shares[k]
    later = (1 << n_categories) - 1
    for c in order[:-1]:
        later &= ~(1 << c)
        present[c] = find_stick(stick_keys, c, later)
        if present[c] < 0:
            return 0
        included[present[c]] = True
    if mark_useful(graph, included, below, above) < n_categories:
        return 0
    for k in range(stick_keys.shape[0]):
        weights[k] = -np.inf
        if not included[k]:
            continue
        c = stick_keys[k] & ((1 << BITS) - 1)
        stick = order_with_set(c, sets[lower[k]], some)
        assign_roles(some, stick, stop, go_on, ABSENT, groups, roles)
        if steps[k] == 0:
            steps[k] = enough_steps(regression, gaussians[k], roles, work)
        away = k != present[c]
        if not away:
            ends[k, :n] = coef[c]
        effort = (steps[k], leaps[k])
        names = (keys[0], keys[1], keys[2], np.int64(k), WHOLE, PROPOSAL)
        weight = bridge(regression, gaussians[k], roles, effort, away, names, ends[k], work)
        sums[k] = work[2]
        if not away and not abs(weight) < np.inf:
            return -1
        weights[k] = weight - math.log(shares[k]) if weight < np.inf else -np.inf  # nor NaN
    sum_known_orders(graph, weights, below)
    n_changed = 0
    r = sets.shape[0] - 1
    for stick in range(n_categories - 1):
        key = stream_key(*keys, stick, WHOLE, DECISION)
        k = draw_known_stick(graph, weights, below, r, uniform_at(key, ZERO))
        r = lower[k]
        c = stick_keys[k] & ((1 << BITS) - 1)
        order[stick] = c
        if k != present[c]:
            n_changed += 1
            coef[c] = ends[k, :n]
            key = stream_key(*keys, stick, WHOLE, ADOPTION)
            draw_precisions(coef[c], prior, key, precision[c])
        if groups[0].shape[0] > 0:
            keep_group_sums(accept, reject, groups[0], c, sums[k])
            continue
        accept[c, c] = sums[k, c]
        for d in range(n_categories):
            if sets[r] >> d & 1:
                reject[c, d] = sums[k, d]
    for c in range(n_categories):
        if sets[r] >> c & 1:
            order[n_categories - 1] = c
    return n_changed
