"""Draw the whole order at once, from one vector of coefficients for every stick there can be.

Swaps of neighbours stay in the valley of orders that a chain fell into. Here every stick (c, R),
category c with the set R behind it, gets coefficients: those on the path of the present order
keep theirs, the others draw them from their normal approximation q(. | c, R). With

    w(c, R) = L(b | c, R) p(b) / q(b | c, R),

the order given all these vectors has a probability proportional to the product of w over its
sticks (a pseudo-prior for every stick: Carlin and Chib 1995). That is the lattice of
`pasb.orders.lattice` with weights in the place of evidences, so the order can be drawn from all
S! exactly. Latents and precisions are integrated out.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pasb.binary.laplace import draw_law, log_weight
from pasb.binary.logistic_kernels import draw_precisions
from pasb.moves.proposals import ADOPTION, DECISION, PROPOSAL
from pasb.moves.trajectory import log_likelihoods
from pasb.orders.swap import uniform_at
from pasb.sticks import ABSENT, FAILURE, SUCCESS
from pasb.variates.scalar import stream_key

WHOLE = np.int64(16)  # the kind of move, beside those of `pasb.moves.joint`

kernel = njit(cache=True, error_model="numpy", nogil=True)

# mypy: disable-error-code="call-arg"


@kernel
def draw_whole_order(
    setting,
    forward,
    coef,
    precision,
    accept,
    reject,
    order,
    laws,
    law_index,
    drawn,
    sums,
    log_weights,
    padded,
    eta,
    seed,
    chain,
    sweep,
):
    """Draw an order, adopt its coefficients; the number of sticks that changed.

    If no order has a weight that is a number above zero, all stays as it is: -1.
    `drawn`, `sums` and `log_weights` have a row for every law; `padded` and `eta` are work space
    for one vector and one block. The table gets what the sticks of the new order need.
    """
    _, prior, _ = setting
    n_categories, n = coef.shape
    everyone = 2**n_categories - 1
    stop, go_on = (SUCCESS, FAILURE) if forward else (FAILURE, SUCCESS)
    parts = np.empty(n_categories, dtype=np.int8)
    present = np.full(n_categories, -1, dtype=np.int64)  # the law of a category's stick
    later = everyone
    for c in order[:-1]:
        later &= ~(1 << c)
        present[c] = law_index[c, later]
    padded[n:] = 0.0
    for c in range(n_categories):
        for later in range(1, everyone + 1):
            number = law_index[c, later]
            if number < 0:
                continue
            if number == present[c]:
                drawn[number] = coef[c]
            else:
                key = stream_key(seed, chain, sweep, number, WHOLE, PROPOSAL)
                draw_law(laws[number], key, drawn[number])
            for d in range(n_categories):
                parts[d] = stop if d == c else (go_on if later >> d & 1 else ABSENT)
            padded[:n] = drawn[number]
            log_likelihoods(setting, parts, padded, eta, sums[number])
            weight = log_weight(laws[number], drawn[number], *prior)
            weight += sums[number].sum()
            log_weights[number] = weight if weight < np.inf else -np.inf  # nor NaN
    sets = _log_sums_of_sets(log_weights, law_index, n_categories)

    if not sets[everyone] > -np.inf:
        return -1
    n_changed = 0
    left = everyone
    for stick in range(n_categories - 1):
        key = stream_key(seed, chain, sweep, stick, WHOLE, DECISION)
        c = _draw_first(log_weights, law_index, sets, left, uniform_at(key, np.int64(0)))
        left &= ~(1 << c)
        number = law_index[c, left]
        order[stick] = c
        if number != present[c]:
            n_changed += 1
            coef[c] = drawn[number]
            key = stream_key(seed, chain, sweep, stick, WHOLE, ADOPTION)
            draw_precisions(coef[c], *prior, key, precision[c])
        accept[c, c] = sums[number, c]
        for d in range(n_categories):
            if left >> d & 1:
                reject[c, d] = sums[number, d]
    for c in range(n_categories):
        if left >> c & 1:
            order[n_categories - 1] = c
    return n_changed


@kernel
def _log_sums_of_sets(log_weights, law_index, n_categories):
    """Log of the sum over all orders of each set of categories."""
    sets = np.full(2**n_categories, -np.inf)
    for members in range(1, sets.shape[0]):
        if members & (members - 1) == 0:
            sets[members] = 0.0  # one category
            continue
        top = -np.inf
        for c in range(n_categories):
            if members >> c & 1:
                rest = members & ~(1 << c)
                top = max(top, log_weights[law_index[c, rest]] + sets[rest])
        if top == -np.inf:
            continue
        total = 0.0
        for c in range(n_categories):
            if members >> c & 1:
                rest = members & ~(1 << c)
                total += math.exp(log_weights[law_index[c, rest]] + sets[rest] - top)
        sets[members] = top + math.log(total)
    return sets


@kernel
def _draw_first(log_weights, law_index, sets, members, u):
    """Which category of a set leads it."""
    chosen, total = -1, 0.0
    for c in range(law_index.shape[0]):
        if members >> c & 1:
            rest = members & ~(1 << c)
            share = math.exp(log_weights[law_index[c, rest]] + sets[rest] - sets[members])
            if share > 0.0:
                chosen = c
                total += share
                if u < total:
                    break
    return chosen
