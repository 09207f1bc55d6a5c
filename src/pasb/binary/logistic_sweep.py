"""A whole sweep of the logistic model in one compiled call.

It does what `pasb.sweep.Sweeper.sweep` does, step by step and with the same random
numbers; a test holds the two together, bit by bit. A sweep of a small table takes some
ten microseconds of arithmetic, and as many calls from Python would take ten times that
and keep the other chains waiting. It covers the exact scheme where all normal
approximations are at hand: a fixed order, or few enough categories for the lattice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pasb.binary.base import ABSENT, FAILURE, IMPUTED, SUCCESS
from pasb.binary.logistic_kernels import gibbs_step, stretch_and_draw_precisions, sum_logs
from pasb.binary.proposals import independence_move, log_ratios
from pasb.orders.joint import CHOICE, NEIGHBOURS, REFERENCE, REFRESH
from pasb.orders.swap import swap_moves, uniform_at
from pasb.orders.table import order_log_likelihood
from pasb.variates.scalar import stream_key

ZERO, ONE = np.int64(0), np.int64(1)  # plain ints would be compiled as constants


@njit(cache=True, error_model="numpy", nogil=True)
def logistic_sweep(
    blocks,
    weights,
    bounds,
    ard,
    shape,
    rate,
    n_moves,
    coef,
    precision,
    eta,
    padded_coef,
    latents,
    linear_weights,
    used,
    scratch,
    gram,
    linear,
    scale,
    factor,
    slot_coef,
    slot_eta,
    slot_accept,
    slot_reject,
    forward,
    accept,
    reject,
    reference,
    order,
    laws,
    law_index,
    augmented,
    infers,
    n_swaps,
    counts,
    seed,
    chain,
    sweep,
):
    """Advance a chain by one sweep and return its log-likelihood.

    ``law_index[c, R]`` is the row of `laws` for category c with the set R behind it; with a
    fixed order ``law_index[j, 0]`` is that of stick j. `counts` gets the accepted swaps
    and the QR fallbacks added.
    """
    n_categories, n = coef.shape
    last = n_categories - 1
    success, failure = (accept, reject) if forward else (reject, accept)
    stop, go_on = (SUCCESS, FAILURE) if forward else (FAILURE, SUCCESS)
    parts = np.empty(n_categories, dtype=np.int8)
    sticks = np.empty((4, 3), dtype=np.int64)
    law_of = np.empty(max(4, n_categories), dtype=np.int64)

    for stick in range(last):
        for j in range(n_categories):
            if j < stick:
                parts[order[j]] = IMPUTED if augmented else ABSENT
            else:
                parts[order[j]] = stop if j == stick else go_on
        c = order[stick]
        step = gibbs_step(
            blocks,
            weights,
            bounds,
            latents,
            linear_weights,
            used,
            scratch,
            gram,
            linear,
            scale,
            factor,
            eta[c],
            parts,
            precision[c],
            seed,
            chain,
            sweep,
            stick,
            coef[c],
        )
        counts[1] += not step
        stretch_and_draw_precisions(
            blocks,
            weights,
            bounds,
            padded_coef[c : c + 1],
            eta[c],
            parts,
            ard,
            shape,
            rate,
            n_moves,
            seed,
            chain,
            sweep,
            stick,
            coef[c],
            precision[c],
        )

    if infers:
        key = stream_key(seed, chain, sweep, n_categories, ONE, ZERO)
        if uniform_at(key, ZERO) >= 0.5:
            c, d = order[last - 1], order[last]
            coef[d] = -coef[c]
            precision[d] = precision[c]
            order[last - 1], order[last] = d, c

    padded_coef[:, :n] = coef
    sum_logs(blocks, weights, bounds, padded_coef, eta, success, failure)

    everyone = 2**n_categories - 1 if infers else 0
    later = everyone
    for stick in range(last):
        c = order[stick]
        later &= ~(1 << c)
        law_of[0] = law_index[c, later] if infers else law_index[stick, 0]
        law_of[1] = law_of[0]
        for k in range(2):
            sticks[k, 0], sticks[k, 1], sticks[k, 2] = c, -1, stick + 1
        independence_move(
            blocks,
            weights,
            bounds,
            ard,
            shape,
            rate,
            coef,
            precision,
            eta,
            accept,
            reject,
            slot_coef,
            slot_eta,
            slot_accept,
            slot_reject,
            forward,
            order,
            sticks[:2],
            laws,
            law_of,
            ONE,
            seed,
            chain,
            sweep,
            stick,
            REFRESH,
        )
    if not infers:
        return order_log_likelihood(accept, reject, order)

    for number in range(last):
        key = stream_key(seed, chain, sweep, number, NEIGHBOURS, CHOICE)
        a = int(uniform_at(key, ZERO) * last)
        c, d = order[a], order[a + 1]
        behind = 0
        for j in range(a + 2, n_categories):
            behind |= 1 << order[j]
        n_changed = 2 if a + 1 < last else 1
        new = n_changed
        sticks[0, 0], sticks[0, 1] = c, d
        law_of[0] = law_index[c, behind | (1 << d)]
        sticks[new, 0], sticks[new, 1] = d, c
        law_of[new] = law_index[d, behind | (1 << c)]
        if n_changed == 2:
            sticks[1, 0], sticks[1, 1] = d, -1
            law_of[1] = law_index[d, behind]
            sticks[3, 0], sticks[3, 1] = c, -1
            law_of[3] = law_index[c, behind]
        sticks[:, 2] = a + 2
        accepted = independence_move(
            blocks,
            weights,
            bounds,
            ard,
            shape,
            rate,
            coef,
            precision,
            eta,
            accept,
            reject,
            slot_coef,
            slot_eta,
            slot_accept,
            slot_reject,
            forward,
            order,
            sticks[: 2 * n_changed],
            laws,
            law_of,
            n_changed,
            seed,
            chain,
            sweep,
            number,
            NEIGHBOURS,
        )
        if accepted:
            order[a], order[a + 1] = d, c

    c = order[last]
    sticks[0, 0], sticks[0, 1], sticks[0, 2] = c, -1, n_categories
    law_of[0] = law_index[c, everyone & ~(1 << c)]
    independence_move(
        blocks,
        weights,
        bounds,
        ard,
        shape,
        rate,
        coef,
        precision,
        eta,
        accept,
        reject,
        slot_coef,
        slot_eta,
        slot_accept,
        slot_reject,
        forward,
        order,
        sticks[:1],
        laws,
        law_of,
        ONE,
        seed,
        chain,
        sweep,
        c,
        REFERENCE,
    )
    for s in range(n_categories):
        law_of[s] = law_index[s, everyone & ~(1 << s)]
    log_ratios(coef, laws, law_of, ard, shape, rate, reference)
    key = stream_key(seed, chain, sweep, n_categories, ZERO, ZERO)
    counts[0] += swap_moves(accept, reject, reference, order, n_swaps, key)
    return order_log_likelihood(accept, reject, order)
