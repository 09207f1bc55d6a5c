"""Hamiltonian trajectories of a stick's coefficients, whitened by their normal approximation.

Changes the coefficients and precisions of the categories on sticks. Leaves the posterior of a
stick invariant by the usual argument of Hamiltonian Monte Carlo: the steps are reversible, keep
volume, and the error in energy decides. Applies to logistic and robit sticks whose approximations
are known (`pasb.moves.whitened`). Costs a gradient, one pass over the stick's rows, for each step.

With mode m and precision H of the approximation, the negative log-posterior is
(b - m)'H(b - m) / 2 plus a rest that is small where the approximation is good. In the metric
H the first part turns position and velocity into each other at unit speed, which needs no
steps at all; only the rest is applied in kicks before and after each turn (splitting: Shahbaba,
Lan, Johnson and Neal 2014), whose sizes alternate such that the error in energy is least for two
steps (Blanes, Casas and Sanz-Serna 2014). So two kicks by one gradient each carry a stick of a few
dozen columns to a point that nine times in ten is accepted and no longer remembers where it began.

The whole turn is a little more than a right angle: what overshoots is negatively correlated
with where it began, and means of such draws vary less than those of independent ones.

Latents and precisions are integrated out. The gradient of a trajectory's last point is kept,
for the next one starts there.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.laplace import solve, unpacked
from pasb.binary.linear_kernels import draw_precisions
from pasb.binary.robit_kernels import residuals_and_sum, sum_alone
from pasb.binary.t_link import LOGISTIC
from pasb.moves.independence import ADOPTION, DECISION, PROPOSAL, REFRESH
from pasb.numerics.compiled import elementwise, kernel, summing
from pasb.numerics.rows import BLOCK, TILE
from pasb.numerics.vector import vector_exp, vector_log1p_exp_neg
from pasb.sticks import FAILURE, SUCCESS
from pasb.variates.scalar import normal, open_stream, stream_key, uniform_at

TURN = 2.0  # radians of a whole trajectory; the correlation over it is about cos(2) = -0.4
STEPS = np.array([2, 3, 4, 6, 8, 12, 16])  # of a trajectory: the first that is accepted enough
OUTER = 0.21  # of two steps, the first and the last kick; a quarter is leapfrog
ENOUGH = 0.85
N_TRIALS = 4  # trajectories by which that is judged
N_LEADING, MANY_STEPS = 3, 8  # those that lead from the mode to where they start
ZERO = np.int64(0)
PROBE = np.int64(11)  # layer of the stream


# mypy: disable-error-code="call-arg"


@elementwise
def _predict(block, coef, out):
    """Linear predictors of the rows of one block."""
    for i in range(BLOCK):
        out[i] = 0.0
    for p in range(0, block.shape[0], TILE):
        b0 = coef[p]
        b1 = coef[p + 1]
        b2 = coef[p + 2]
        b3 = coef[p + 3]
        x0 = block[p]
        x1 = block[p + 1]
        x2 = block[p + 2]
        x3 = block[p + 3]
        for i in range(BLOCK):
            out[i] += b0 * x0[i] + b1 * x1[i] + b2 * x2[i] + b3 * x3[i]


@summing
def _add_products(block, values, out):
    """Add the products of every column of a block with `values` to `out`."""
    for p in range(0, block.shape[0], TILE):
        x0 = block[p]
        x1 = block[p + 1]
        x2 = block[p + 2]
        x3 = block[p + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(BLOCK):
            v = values[i]
            s0 += v * x0[i]
            s1 += v * x1[i]
            s2 += v * x2[i]
            s3 += v * x3[i]
        out[p] += s0
        out[p + 1] += s1
        out[p + 2] += s2
        out[p + 3] += s3


@summing
def _logistic_residuals(eta, weights, sign, residual):
    """Derivatives of the log-likelihood of labels that all have one sign."""
    for i in range(eta.size):
        u = sign * eta[i]
        e = vector_exp(-abs(u))
        # of both labels' logs the same arithmetic, so that mirror images have the same bits
        residual[i] = sign * weights[i] * (e if u > 0.0 else 1.0) / (1.0 + e)


@summing
def _logistic_sum(eta, weights, sign):
    total = 0.0
    for i in range(eta.size):
        u = sign * eta[i]
        total += weights[i] * (min(u, 0.0) - vector_log1p_exp_neg(abs(u)))
    return total


@kernel
def slopes(regression, roles, coef, eta, residual, slope, sums):
    """Gradient of the log-posterior; `sums` get the log-likelihood of each category's rows.

    `coef`, padded, and `slope` have an entry for every column of the blocks; `eta` and
    `residual` are work space for one block.
    """
    (blocks, weights, bounds), (ard, shape, rate), link = regression
    slope[:] = 0.0
    sums[:] = 0.0
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        predicted = False
        for s in range(roles.shape[0]):
            a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
            if a >= b or (roles[s] != SUCCESS and roles[s] != FAILURE):
                continue
            if not predicted:
                _predict(blocks[k], coef, eta)
                residual[:] = 0.0
                predicted = True
            sign = 1.0 if roles[s] == SUCCESS else -1.0
            h = weights[start + a : start + b]
            if link[0] == LOGISTIC:
                _logistic_residuals(eta[a:b], h, sign, residual[a:b])
                sums[s] += _logistic_sum(eta[a:b], h, sign)
            else:
                sums[s] += residuals_and_sum(eta[a:b], h, sign, *link, residual[a:b])
        if predicted:
            _add_products(blocks[k], residual, slope)
    for v in range(coef.shape[0]):
        precision = (shape + 0.5) / (rate + 0.5 * coef[v] * coef[v]) if ard else shape / rate
        slope[v] -= precision * coef[v]


@kernel
def log_likelihoods(regression, roles, coef, eta, sums):
    """The sums of `slopes`, bit by bit, without the gradient."""
    (blocks, weights, bounds), _, link = regression
    sums[:] = 0.0
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        predicted = False
        for s in range(roles.shape[0]):
            a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
            if a >= b or (roles[s] != SUCCESS and roles[s] != FAILURE):
                continue
            if not predicted:
                _predict(blocks[k], coef, eta)
                predicted = True
            sign = 1.0 if roles[s] == SUCCESS else -1.0
            h = weights[start + a : start + b]
            if link[0] == LOGISTIC:
                sums[s] += _logistic_sum(eta[a:b], h, sign)
            else:
                sums[s] += sum_alone(eta[a:b], h, sign, *link)


@summing
def _multiply(scale, factor, vector, out):
    """``out = S^-1 L L' S^-1 vector``: by the approximation's precision matrix."""
    n = scale.shape[0]
    for j in range(n):
        out[j] = 0.0
    for i in range(n):
        row = factor[i]
        value = vector[i] / scale[i]
        for k in range(i + 1):
            out[k] += row[k] * value
    for i in range(n - 1, -1, -1):
        row = factor[i]
        total = 0.0
        for k in range(i + 1):
            total += row[k] * out[k]
        out[i] = total / scale[i]


@summing
def _product(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@summing
def _velocity(scale, factor, key, velocity, momentum):
    """Draw a velocity from N(0, H^-1), and multiply it by H."""
    n = scale.shape[0]
    for i in range(n):
        velocity[i], _ = normal(open_stream(key, i))
    for i in range(n):
        row = factor[i]
        total = 0.0
        for k in range(i + 1):
            total += row[k] * velocity[k]
        momentum[i] = total / scale[i]
    for i in range(n - 1, -1, -1):
        row = factor[i]
        velocity[i] /= row[i]
        last = velocity[i]
        for k in range(i):
            velocity[k] -= row[k] * last
        velocity[i] = last * scale[i]


@kernel
def _kick(step, n_steps):
    """Size of a kick, in steps; that of leapfrog where their number is odd."""
    end = step == 0 or step == n_steps
    outer = OUTER if n_steps % 2 == 0 else 0.25
    if step % 2 == 1 and n_steps % 2 == 0:
        return 2.0 - 4.0 * outer
    return 2.0 * outer if end else 4.0 * outer


@kernel
def travel(regression, gaussian, roles, n_steps, key, coef, slope, sums, work):
    """Follow a trajectory from `coef` and return the log of the ratio that decides on its end.

    `slope` and `sums` are those of `coef`. `work` gets the coefficients, the slope and the sums
    of the end; behind these come work space of `slopes`, and of five vectors. All vectors but
    `coef` are padded.
    """
    new_coef, new_slope, new_sums, eta, residual, vectors = work
    _, prior, _ = regression
    mode, scale, factor, _, _ = unpacked(gaussian)
    n = mode.shape[0]
    away, dual = vectors[0, :n], vectors[1, :n]  # b - m, and H times that
    velocity, momentum = vectors[2, :n], vectors[3, :n]  # likewise
    kick = vectors[4, :n]
    away[:] = coef - mode
    _multiply(scale, factor, away, dual)
    _velocity(scale, factor, key, velocity, momentum)
    gain = 0.5 * _product(velocity, momentum) - np.sum(sums)
    gain -= coefficient_log_prior(coef, 1.0, *prior)
    angle = TURN / n_steps
    c, s = math.cos(angle), math.sin(angle)
    new_slope[:] = slope
    for step in range(n_steps + 1):
        size = angle * _kick(step, n_steps)
        for v in range(n):
            dual[v] += new_slope[v]  # the slope of the rest
        solve(scale, factor, dual, kick)
        for v in range(n):
            momentum[v] += size * dual[v]
            velocity[v] += size * kick[v]
            dual[v] -= new_slope[v]
        if step == n_steps:
            break
        for v in range(n):
            away[v], velocity[v] = (
                c * away[v] + s * velocity[v],
                c * velocity[v] - s * away[v],
            )
            dual[v], momentum[v] = c * dual[v] + s * momentum[v], c * momentum[v] - s * dual[v]
            new_coef[v] = mode[v] + away[v]
        slopes(regression, roles, new_coef, eta, residual, new_slope, new_sums)
    gain += np.sum(new_sums) + coefficient_log_prior(new_coef[:n], 1.0, *prior)
    return gain - 0.5 * _product(velocity, momentum)


@kernel
def enough_steps(regression, gaussian, roles, work):
    """The fewest steps in `STEPS` with which an approximation's trajectories are mostly accepted.

    It is found from a few of them, with random numbers that depend on nothing: the number
    of steps is a function of the approximation and the rows. They start where a few trajectories of
    many steps, none of them rejected, lead from the mode. `work` is that of `travel`.
    """
    new_coef, new_slope, new_sums, eta, residual, _ = work
    n = unpacked(gaussian)[0].shape[0]
    n_padded = new_coef.shape[0]
    coef, slope = np.zeros(n_padded), np.zeros(n_padded)
    sums = np.zeros(new_sums.shape[0])
    coef[:n] = unpacked(gaussian)[0]
    slopes(regression, roles, coef, eta, residual, slope, sums)
    accepted = 0.0
    for trial in range(-N_LEADING, N_TRIALS * len(STEPS)):
        n_steps = STEPS[trial // N_TRIALS] if trial >= 0 else MANY_STEPS
        key = stream_key(ZERO, ZERO, ZERO, np.int64(N_LEADING + trial), ZERO, PROBE)
        gain = travel(regression, gaussian, roles, n_steps, key, coef[:n], slope, sums, work)
        if trial < 0:
            coef[:] = new_coef
            slope[:] = new_slope
            sums[:] = new_sums
            continue
        accepted += math.exp(min(gain, 0.0)) if gain == gain else 0.0
        if trial % N_TRIALS == N_TRIALS - 1:
            if accepted >= ENOUGH * N_TRIALS:
                return n_steps
            accepted = 0.0
    return STEPS[-1]


@kernel
def follow(regression, gaussian, number, roles, stick, place, cached, work, keys):
    """A trajectory of the stick's category, and new precisions; steps, and whether it was accepted.

    `number` says which approximation `gaussian` is. `cached` is ``(known, slope, sums, steps)``:
    for each category the approximation that its slope and sums belong to, or -1; slopes
    (n_categories, padded columns) and sums (n_categories, n_categories) at its coefficients; and
    for each approximation the steps of its trajectories, 0 while they are not known. All of it
    follows from the state. The table gets what the stick needs.
    """
    order, coef, precision, accept, reject = place
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
    draw_precisions(coef[c], *prior, key, precision[c])
    accept[c, c] = sums[c, c]
    for j in range(stick + 1, order.shape[0]):
        reject[c, order[j]] = sums[c, order[j]]
    return n_steps, accepted
