"""Independence proposals of logistic and robit sticks, compiled; see `pasb.moves.joint`.

Proposed coefficients of up to two sticks stand in *slots*, together with their rows of the
order table, until they are adopted or forgotten.

A proposal to change the order is first put to the evidences of the normal approximations,
which cost nothing, and only what passes is worked out; the second ratio is divided by the
first (delayed acceptance: Christen and Fox 2005). The evidences are trusted by half, for
where they err, both ratios cannot be large.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pasb.binary.laplace import draw_law, log_weight
from pasb.binary.linear_kernels import sum_logs
from pasb.binary.logistic_kernels import draw_precisions
from pasb.variates.scalar import open_stream, stream_key, uniform

PROPOSAL, DECISION, ADOPTION = np.int64(8), np.int64(9), np.int64(10)  # layers of the stream
FIRST, SECOND = np.int64(0), np.int64(1)  # stages of a decision
TRUST = 0.5  # the power of the evidences in the first one

kernel = njit(cache=True, error_model="numpy", nogil=True)

# mypy: disable-error-code="call-arg"


@kernel
def _log_likelihood(accept, reject, row, stick, order):
    """Log-likelihood of one stick (category, extra, start), from its row of the table."""
    category, extra, start = stick
    total = accept[row, category]
    if extra >= 0:
        total += reject[row, extra]
    for j in range(start, order.shape[0]):
        total += reject[row, order[j]]
    return total


@kernel
def independence_move(
    setting,
    slots,
    forward,
    coef,
    precision,
    accept,
    reject,
    order,
    sticks,
    laws,
    law_of,
    n_changed,
    seed,
    chain,
    sweep,
    number,
    kind,
):
    """Propose coefficients for one or two sticks, decide, and adopt them if accepted.

    The first rows of `sticks` are sticks as they are, the last `n_changed` as they are
    proposed to be; the law of row k is ``laws[law_of[k]]``. With no stick as it is, only
    proposals, the move is always accepted.
    """
    slot_coef, slot_eta, slot_accept, slot_reject = slots
    _, prior, _ = setting
    n = coef.shape[1]
    success, failure = (slot_accept, slot_reject) if forward else (slot_reject, slot_accept)
    n_old = sticks.shape[0] - n_changed
    key = stream_key(seed, chain, sweep, number, kind, DECISION)
    gain = 0.0
    if n_old > 0:
        expected = 0.0
        for k in range(n_changed):
            expected += laws[law_of[n_old + k]][-1] - laws[law_of[k]][-1]
        expected *= TRUST
        u, _ = uniform(open_stream(key, FIRST))
        if not math.log(u) < expected:
            return False
        gain -= expected
    for k in range(n_old):
        c = sticks[k, 0]
        stick = (sticks[k, 0], sticks[k, 1], sticks[k, 2])
        gain -= log_weight(laws[law_of[k]], coef[c], *prior)
        gain -= _log_likelihood(accept, reject, c, stick, order)
    for k in range(n_changed):
        new = n_old + k
        proposal = stream_key(seed, chain, sweep, number, kind + k, PROPOSAL)
        draw_law(laws[law_of[new]], proposal, slot_coef[k, :n])
        one = slice(k, k + 1)
        sum_logs(setting, slot_coef[one], slot_eta, slot_eta, success[one], failure[one])
        if n_old > 0:
            stick = (sticks[new, 0], sticks[new, 1], sticks[new, 2])
            gain += log_weight(laws[law_of[new]], slot_coef[k, :n], *prior)
            gain += _log_likelihood(slot_accept, slot_reject, k, stick, order)
    if n_old > 0:
        u, _ = uniform(open_stream(key, SECOND))
        if not math.log(u) < gain:
            return False
    for k in range(n_changed):
        c = sticks[n_old + k, 0]
        coef[c] = slot_coef[k, :n]
        accept[c] = slot_accept[k]
        reject[c] = slot_reject[k]
        key = stream_key(seed, chain, sweep, number, kind + k, ADOPTION)
        draw_precisions(coef[c], *prior, key, precision[c])
    return True


@kernel
def log_ratios(coef, laws, law_of, ard, shape, rate, out):
    """Log of each category's law over the prior at its coefficients, up to a constant."""
    for s in range(coef.shape[0]):
        out[s] = -log_weight(laws[law_of[s]], coef[s], ard, shape, rate)
