"""The whole order at once, from one vector of coefficients for every stick there can be.

Changes the order, and the coefficients and precisions of the sticks that change. Swaps of
neighbours stay in the valley of orders that a chain fell into. Here every stick (c, R), category c
with the set R behind it, gets coefficients: those on the path of the present order keep theirs,
the others draw them from their normal approximation q(. | c, R). With

    w(c, R) = L(b | c, R) p(b) / q(b | c, R),

the order given all these vectors has a probability proportional to the product of w over its
sticks (a pseudo-prior for every stick: Carlin and Chib 1995). That is the lattice of
`pasb.orders.lattice` with weights in the place of evidences, so the order can be drawn from all
S! exactly, which leaves the posterior invariant. Latents and precisions are integrated out. Applies
to logistic and robit sticks with few enough categories for the lattice. Costs a pass over the rows
of all S 2^(S-1) sticks.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.binary.laplace import draw_gaussian, log_weight
from pasb.binary.linear import LinearSampler
from pasb.binary.linear_kernels import draw_precisions
from pasb.moves.independence import ADOPTION, DECISION, PROPOSAL
from pasb.moves.move import Move, State, place_of
from pasb.moves.trajectory import log_likelihoods
from pasb.moves.whitened import Whitened
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK
from pasb.orders.lattice import draw_first, sum_over_orders
from pasb.orders.table import OrderTable
from pasb.sticks import ABSENT, FAILURE, SUCCESS, assign_roles, order_with_set
from pasb.variates.scalar import stream_key, uniform_at

WHOLE = np.int64(16)  # the kind of move, beside those of `pasb.moves.independence`
ZERO = np.int64(0)

# mypy: disable-error-code="call-arg"


class WholeOrder(Move):
    """Draw the order as a whole; sticks, table and approximations are those of `whitened`."""

    statistics = ("whole_order_proposed", "whole_order_sticks_changed")

    def __init__(self, whitened: Whitened):
        super().__init__()
        self.whitened = whitened
        self.sampler: LinearSampler = whitened.sampler
        self.table: OrderTable = whitened.table
        self.gaussians = whitened.gaussians

    @cached_property
    def work(self) -> tuple[NDArray[np.float64], ...]:
        """Of every stick there can be: coefficients and sums; of one: coefficients, predictors."""
        n_sticks, rows = len(self.gaussians), self.sampler.rows
        return (
            np.zeros((n_sticks, rows.n_columns)),
            np.zeros((n_sticks, rows.n_categories)),
            np.zeros(rows.blocks.shape[1]),
            np.zeros(BLOCK),
        )

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        self.whitened.forget()
        n_changed = draw_whole_order(
            self.sampler.regression,
            self.whitened.forward,
            place_of(state, self.table),
            self.gaussians,
            self.whitened.index,
            self.work,
            tuple(keys),
        )
        if n_changed < 0:
            self.sampler.guards["skipped_whole_orders"] += 1
        self.counted += 1, max(n_changed, 0)


@kernel
def draw_whole_order(regression, forward, place, gaussians, index, work, keys):
    """Draw an order, adopt its coefficients; the number of sticks that changed.

    If no order has a weight that is a number above zero, all stays as it is: -1. `work` is that of
    `WholeOrder`. The table gets what the sticks of the new order need.
    """
    order, coef, precision, accept, reject = place
    drawn, sums, padded, eta = work
    _, prior, _ = regression
    n_categories, n = coef.shape
    everyone = 2**n_categories - 1
    stop, go_on = (SUCCESS, FAILURE) if forward else (FAILURE, SUCCESS)
    roles = np.empty(n_categories, dtype=np.int8)
    some = np.empty(n_categories, dtype=np.int64)  # an order with the stick in question
    present = np.full(n_categories, -1, dtype=np.int64)  # the approximation of each stick
    later = everyone
    for c in order[:-1]:
        later &= ~(1 << c)
        present[c] = index[c, later]
    padded[n:] = 0.0
    weights = np.full((n_categories, everyone + 1), -np.inf)
    for c in range(n_categories):
        for later in range(1, everyone + 1):
            number = index[c, later]
            if number < 0:
                continue
            if number == present[c]:
                drawn[number] = coef[c]
            else:
                key = stream_key(*keys, number, WHOLE, PROPOSAL)
                draw_gaussian(gaussians[number], key, drawn[number])
            stick = order_with_set(c, later, some)
            assign_roles(some, stick, stop, go_on, ABSENT, roles)
            padded[:n] = drawn[number]
            log_likelihoods(regression, roles, padded, eta, sums[number])
            weight = log_weight(gaussians[number], drawn[number], *prior)
            weight += sums[number].sum()
            weights[c, later] = weight if weight < np.inf else -np.inf  # nor NaN
    sets = np.empty(everyone + 1)
    sum_over_orders(weights, sets)
    if not sets[everyone] > -np.inf:
        return -1
    n_changed = 0
    left = everyone
    for stick in range(n_categories - 1):
        key = stream_key(*keys, stick, WHOLE, DECISION)
        c = draw_first(weights, sets, left, uniform_at(key, ZERO))
        left &= ~(1 << c)
        number = index[c, left]
        order[stick] = c
        if number != present[c]:
            n_changed += 1
            coef[c] = drawn[number]
            key = stream_key(*keys, stick, WHOLE, ADOPTION)
            draw_precisions(coef[c], *prior, key, precision[c])
        accept[c, c] = sums[number, c]
        for d in range(n_categories):
            if left >> d & 1:
                reject[c, d] = sums[number, d]
    for c in range(n_categories):
        if left >> c & 1:
            order[n_categories - 1] = c
    return n_changed
