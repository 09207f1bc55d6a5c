"""Independence proposals: new coefficients for one stick or two, and the ratio that decides.

Swaps that keep the coefficients are hardly ever accepted once those have adapted to the order. So
the coefficients of every stick that changes are proposed too, from normal approximations
q(. | c, R) of their posterior given the new order, and the move is accepted with the
Metropolis-Hastings ratio

    L(z', b') p(b') q(b | z) / (L(z, b) p(b) q(b' | z')),

latents and precisions integrated out; accepted coefficients get new precisions from their full
conditional. `pasb.moves.refresh`, `pasb.moves.neighbours` and `pasb.moves.pseudo_prior` are made of
it.

A proposal to change the order is first put to the evidences of the normal approximations, which
cost nothing, and only what passes is worked out; the second ratio is divided by the first (delayed
acceptance: Christen and Fox 2005). The evidences are trusted by half, for where they err, both
ratios cannot be large.

Arguments of the compiled functions: `accept` and `reject` of the order table, of which `row` is
taken; a `stick` (category, extra, start), the `order` and its `groups` are those of
`pasb.moves.move`. Others: arguments as in `pasb.binary.linear_kernels`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import draw_gaussian, log_weight
from pasb.binary.binary_model import Index, Keys
from pasb.binary.linear import LinearSampler
from pasb.binary.linear_kernels import draw_precisions
from pasb.binary.linear_sums import sum_logs
from pasb.moves.move import State, place_of
from pasb.numerics.compiled import kernel
from pasb.orders.table import OrderTable
from pasb.variates.scalar import open_stream, stream_key, uniform

# kinds of moves, which tell their random numbers apart; one that changes two sticks has two
REFERENCE, REFRESH, NEIGHBOURS = np.int64(1), np.int64(2), np.int64(4)
# purposes of the stream
PROPOSAL, DECISION, ADOPTION, CHOICE = np.int64(8), np.int64(9), np.int64(10), np.int64(12)
FIRST, SECOND = np.int64(0), np.int64(1)  # stages of a decision
TRUST = 0.5  # the power of the evidences in the first one

# mypy: disable-error-code="call-arg"


class Independence:
    """Independence proposals of one chain."""

    def __init__(self, sampler: LinearSampler, order_table: OrderTable, forward: bool):
        self.sampler, self.order_table, self.forward = sampler, order_table, forward

    def __call__(
        self,
        state: State,
        keys: Keys,
        sticks: NDArray[np.int64],
        gaussians: NDArray[np.float64],
        n_changed: int,
        number: int,
        kind: Index,
    ) -> bool:
        """Propose coefficients for one or two sticks; whether they were accepted.

        The last `n_changed` rows of `sticks` are the sticks as proposed, the others as they are;
        `gaussians` has a packed normal approximation for each. With nothing as it is, what is
        proposed is always taken. `number` and `kind` tell the moves of a sweep apart.
        """
        with self.sampler.space() as space:
            return independence_move(
                self.sampler.regression_of(sticks[-1, 0]),
                self.forward,
                place_of(state, self.order_table),
                sticks,
                gaussians,
                np.arange(len(gaussians)),
                n_changed,
                space.proposed,
                tuple(keys),
                np.int64(number),
                kind,
            )


@kernel
def _log_likelihood(accept, reject, row, stick, order, groups):
    """Log-likelihood of one stick, from its row of the table."""
    category, extra, start = stick
    if groups[0].shape[0] > 0:
        return _group_log_likelihood(accept[row], reject[row], stick, order, groups)
    total = accept[row, category]
    if extra >= 0:
        total += reject[row, extra]
    for j in range(start, order.shape[0]):
        total += reject[row, order[j]]
    return total


@kernel
def _group_log_likelihood(accept, reject, stick, order, groups):
    """The same where rows are in groups."""
    own, extra, start = stick
    category, available = groups
    behind = np.zeros(order.shape[0], dtype=np.bool_)
    if extra >= 0:
        behind[extra] = True
    for j in range(start, order.shape[0]):
        behind[order[j]] = True
    total = 0.0
    for g in range(category.shape[0]):
        if not available[g, own]:
            continue
        if behind[category[g]]:
            total += reject[g]
        elif category[g] == own:
            for s in range(order.shape[0]):
                if behind[s] and available[g, s]:
                    total += accept[g]
                    break
    return total


@kernel
def independence_move(
    regression,
    forward,
    place,
    sticks,
    gaussians,
    gaussian_of,
    n_changed,
    proposed,
    keys,
    number,
    kind,
):
    """Propose coefficients for one or two sticks, decide, and adopt them if accepted.

    As `Independence.__call__`; the approximation of row k is ``gaussians[gaussian_of[k]]``.

    Parameters
    ----------
    regression, proposed : tuple
        Rows, prior and link; the work space of a proposal. See `pasb.binary.linear_kernels`.
    forward : bool
        Whether sticks stop on success.
    place : tuple
        See `pasb.moves.move`.
    sticks : array of shape (n_old + n_changed, 3)
        Those that change, as they are and as they would be.
    gaussians : array of shape (sticks, packed size)
    gaussian_of : array of shape (n_old + n_changed,)
    n_changed : int
    keys : tuple
        Seed, chain and sweep.
    number, kind : int
        Which tell the moves of a sweep apart.
    """
    order, coef, precision, accept, reject, groups = place
    new_coef, eta, new_accept, new_reject = proposed
    _, prior, _ = regression
    n = coef.shape[1]
    success, failure = (new_accept, new_reject) if forward else (new_reject, new_accept)
    n_old = sticks.shape[0] - n_changed
    key = stream_key(*keys, number, kind, DECISION)
    gain = 0.0
    if n_old > 0:
        expected = 0.0
        for k in range(n_changed):
            expected += gaussians[gaussian_of[n_old + k]][-1] - gaussians[gaussian_of[k]][-1]
        expected *= TRUST
        u, _ = uniform(open_stream(key, FIRST))
        if not math.log(u) < expected:
            return False
        gain -= expected
    for k in range(n_old):
        c = sticks[k, 0]
        stick = (sticks[k, 0], sticks[k, 1], sticks[k, 2])
        gain -= log_weight(gaussians[gaussian_of[k]], coef[c], prior)
        gain -= _log_likelihood(accept, reject, c, stick, order, groups)
    for k in range(n_changed):
        new = n_old + k
        proposal = stream_key(*keys, number, kind + k, PROPOSAL)
        draw_gaussian(gaussians[gaussian_of[new]], proposal, new_coef[k, :n])
        one = slice(k, k + 1)
        sum_logs(regression, new_coef[one], eta, eta, success[one], failure[one])
        if n_old > 0:
            stick = (sticks[new, 0], sticks[new, 1], sticks[new, 2])
            gain += log_weight(gaussians[gaussian_of[new]], new_coef[k, :n], prior)
            gain += _log_likelihood(new_accept, new_reject, k, stick, order, groups)
    if n_old > 0:
        u, _ = uniform(open_stream(key, SECOND))
        if not math.log(u) < gain:
            return False
    for k in range(n_changed):
        c = sticks[n_old + k, 0]
        coef[c] = new_coef[k, :n]
        accept[c] = new_accept[k]
        reject[c] = new_reject[k]
        key = stream_key(*keys, number, kind + k, ADOPTION)
        draw_precisions(coef[c], prior, key, precision[c])
    return True


@kernel
def log_ratios(coef, gaussians, prior, out):
    """Log of each category's pseudo-prior over the prior at its coefficients, up to a constant."""
    for s in range(coef.shape[0]):
        out[s] = -log_weight(gaussians[s], coef[s], prior)
