"""Hamiltonian trajectories of a stick's coefficients, whitened by their normal approximation.

Changes the coefficients and precisions of the categories on sticks. Leaves the posterior of a
stick invariant by the usual argument of Hamiltonian Monte Carlo: the steps are reversible, keep
volume, and the error in energy decides (`pasb.binary.travel`). Applies to logistic and robit sticks
whose approximations are known (`pasb.moves.whitened`). Costs a gradient, one pass over the stick's
rows, for each step.

Latents and precisions are integrated out. The gradient of a trajectory's last point is kept,
for the next one starts there.

Other arguments as in `pasb.binary.linear_kernels`.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.linear_kernels import draw_precisions
from pasb.binary.slopes import slopes
from pasb.binary.travel import travel
from pasb.moves.independence import ADOPTION, DECISION, PROPOSAL, REFRESH
from pasb.numerics.compiled import kernel
from pasb.orders.table import keep_group_sums
from pasb.variates.scalar import stream_key, uniform_at

ZERO = np.int64(0)

# mypy: disable-error-code="call-arg"


@kernel
def follow(regression, gaussian, number, roles, stick, place, cached, work, keys):
    """A trajectory of the stick's category, and new precisions; steps, and whether it was accepted.

    `place` is that of `pasb.moves.move`, `work` that of `pasb.binary.travel`.
    `number` says which approximation `gaussian` is. `cached` is ``(known, slope, sums, steps)``:
    for each category the approximation that its slope and sums belong to, or -1; slopes
    (n_categories, padded columns) and sums (n_categories, n_groups) at its coefficients; and
    for each approximation the steps of its trajectories, 0 while they are not known. All of it
    follows from the state. The table gets what the stick needs.
    """
    order, coef, precision, accept, reject, groups = place
    known, slope, sums, steps = cached
    new_coef, new_slope, new_sums, eta, residual, _ = work
    _, prior, _ = regression
    c, n = order[stick], coef.shape[1]
    if known[c] != number:
        new_coef[:n] = coef[c]
        slopes(regression, roles, new_coef, eta, residual, slope[c], sums[c])
        known[c] = number
    key = stream_key(*keys, stick, REFRESH, PROPOSAL)
    n_steps = steps[number]
    gain = travel(regression, gaussian, roles, n_steps, key, coef[c], slope[c], sums[c], work)
    key = stream_key(*keys, stick, REFRESH, DECISION)
    accepted = math.log(uniform_at(key, ZERO)) < gain
    if accepted:
        coef[c] = new_coef[:n]
        slope[c] = new_slope
        sums[c] = new_sums
    key = stream_key(*keys, stick, REFRESH, ADOPTION)
    draw_precisions(coef[c], prior, key, precision[c])
    if groups[0].shape[0] > 0:
        keep_group_sums(accept, reject, groups[0], c, sums[c])
        return n_steps, accepted
    accept[c, c] = sums[c, c]
    for j in range(stick + 1, order.shape[0]):
        reject[c, order[j]] = sums[c, order[j]]
    return n_steps, accepted
