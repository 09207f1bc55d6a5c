"""A path from the prior of a softplus stick to its posterior, or back, and the weight of it.

Annealed importance sampling (Neal 2001), as in `pasb.binary.bridge`, but from the prior: a stick
has as many modes as its experts and layers can trade places, and no normal approximation knows
them all, but the prior does. With l the log-likelihood, a path visits the densities prior times
exp(s l), whose share s grows from 0 to 1. From a draw u_0 of the prior, leap k takes u_(k-1) to u_k
by a move that leaves the density of the share s_k invariant. The weight of the path,

    log w = sum over k of (s_k - s_(k-1)) l(u_(k-1)),  from s_0 = 0 to s_(K+1) = 1,

is the density of the path from its other end, where u_K is a draw from the posterior and the leaps
come in the opposite order, over its density from this end, times the evidence of the stick. So the
mean of w over paths from the prior is the evidence, and w may take the place of the evidence
wherever that decides, if sticks that are given up have paths back from where they are.

A leap is a short trajectory that is accepted or rejected; a part of the momentum is drawn again
before it, and a rejection turns it round (Horowitz 1991). Metric and step belong to the share
(`pasb.binary.softplus_plan`): near the prior they are those of the prior. With the metric of the
posterior at all shares, log-weights were off by 9 to 60 with 2400 gradients on iris, penguins and
wine; with these, and coordinates on the scale of the prior, they vary by 1 to 2 with 1000.

Arguments of the compiled functions: `rows` (`StickRows`), `prior` (a tuple) and `work` are those of
`pasb.binary.softplus_standard.log_prior_and_forces`; `logs` (2) are log-prior and log-likelihood of
the place where a path is, `scratch` (vectors, n) has the place, its momentum and what else a leap
works with; `factor` (n, n) is a metric, as a factor of the covariance, and `share` that of the
density. `by_prior` and `by_rows` (n) are gradients of log-prior and log-likelihood, `gradient` and
`force` (n) their sum, by coordinates and by whitened ones.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.softplus_standard import log_prior_and_forces, standard_likelihood
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import normal, open_stream, uniform

STEPS = 2  # of a leap
FRESH = 0.3  # of a momentum's variance, what is drawn again before a leap
# rows of a scratch array: where a path is, its momentum and gradients; the same ahead; two more
PLACE, MOMENTUM, BY_PRIOR, BY_ROWS, AHEAD, ITS_MOMENTUM, ITS_PRIOR, ITS_ROWS, FORCE, VELOCITY = (
    range(10)
)
N_SCRATCH = 10

# mypy: disable-error-code="call-arg"


@kernel
def turn_force(factor, share, by_prior, by_rows, gradient, force):
    """The gradient of prior times exp(share l) by whitened coordinates."""
    for i in range(gradient.shape[0]):
        gradient[i] = by_prior[i] + share * by_rows[i]
    force[:] = np.dot(factor.T, gradient.astype(factor.dtype))


@kernel
def look_around(rows, prior, work, logs, scratch):
    """What `leap` needs of the place in ``scratch[0]``; False where the density is zero."""
    place = scratch[0]
    logs[0] = log_prior_and_forces(rows, prior, place, scratch[2], scratch[3], work)
    logs[1] = standard_likelihood(rows, prior, place, work)
    return logs[0] > -np.inf


@kernel
def leap(rows, prior, work, share, factor, step, n_steps, u, logs, scratch):
    """Follow a trajectory and go where it leads, or turn round; the probability of going.

    ``logs`` (log-prior, log-likelihood) and the first rows of `scratch` are those of the place, and
    become those of the place it leads to. `u` is a uniform number, `share` that of the density,
    `factor` (n, n) its metric, as a factor of the covariance, and `step` times `n_steps` the length
    of the trajectory; `rows`, `prior` and `work` are as for `anneal`.
    """
    # unpacking an array would give rows of unknown stride, and compile what takes them twice
    place, momentum, by_prior, by_rows = scratch[0], scratch[1], scratch[2], scratch[3]
    ahead, its_momentum, its_prior, its_rows = scratch[4], scratch[5], scratch[6], scratch[7]
    force, velocity = scratch[8], scratch[9]
    n = place.shape[0]
    gain = -(logs[0] + share * logs[1])
    for i in range(n):
        gain += 0.5 * momentum[i] ** 2
        ahead[i], its_momentum[i] = place[i], momentum[i]
    turn_force(factor, share, by_prior, by_rows, velocity, force)
    log_prior = logs[0]
    for _ in range(n_steps):
        for i in range(n):
            its_momentum[i] += 0.5 * step * force[i]
        velocity[:] = np.dot(factor, its_momentum.astype(factor.dtype))
        for i in range(n):
            ahead[i] += step * velocity[i]
        log_prior = log_prior_and_forces(rows, prior, ahead, its_prior, its_rows, work)
        if log_prior == -np.inf:
            break
        turn_force(factor, share, its_prior, its_rows, velocity, force)
        for i in range(n):
            its_momentum[i] += 0.5 * step * force[i]
    log_likelihood = -np.inf
    if log_prior > -np.inf:
        log_likelihood = standard_likelihood(rows, prior, ahead, work)
    gain += log_prior + share * log_likelihood
    for i in range(n):
        gain -= 0.5 * its_momentum[i] ** 2
    if not gain > -np.inf:
        gain = -np.inf  # nor NaN
    if math.log(u) < gain:
        logs[0], logs[1] = log_prior, log_likelihood
        for i in range(n):
            place[i], momentum[i] = ahead[i], its_momentum[i]
            by_prior[i], by_rows[i] = its_prior[i], its_rows[i]
    else:
        for i in range(n):
            momentum[i] = -momentum[i]
    return math.exp(min(0.0, gain))


@kernel
def renew(momentum, fresh, key, first):
    """Draw a part of a momentum's variance again, by the streams from `first` on."""
    kept, new = math.sqrt(1.0 - fresh), math.sqrt(fresh)
    for i in range(momentum.shape[0]):
        z, _ = normal(open_stream(key, np.int64(first + i)))
        momentum[i] = kept * momentum[i] + new * z


@kernel
def anneal(rows, prior, work, plan, forward, key, scratch, position):
    """Go from the prior to the posterior, or back; the log of the path's weight.

    Forward, `position` is a draw from the prior and becomes the end of the path; else it is where a
    path ends, and stays as it is. Minus infinity where the density is zero at the first place.

    Parameters
    ----------
    rows, prior, work : tuple
        See `pasb.binary.softplus_standard.log_prior_and_forces`.
    plan : tuple
        ``shares``, ``knots``, ``factors`` and ``steps`` of an
        `pasb.binary.softplus_plan.AnnealingPlan`.
    forward : bool
    key : uint64
    scratch : array of shape (N_SCRATCH, n)
    position : array of shape (n,)
    """
    shares, knots, factors, steps = plan
    n, n_leaps = position.shape[0], shares.shape[0]
    place, momentum = scratch[0], scratch[1]
    place[:] = position
    logs = np.empty(2)
    if not look_around(rows, prior, work, logs, scratch):
        return -np.inf
    before, log_weight = 0.0 if forward else 1.0, 0.0
    for k in range(n_leaps):
        j = k if forward else n_leaps - 1 - k
        log_weight += abs(shares[j] - before) * logs[1]
        before = shares[j]
        first = k * (n + 1)
        renew(momentum, 1.0 if k == 0 else FRESH, key, first)
        u, _ = uniform(open_stream(key, np.int64(first + n)))
        knot = knots[j]
        leap(rows, prior, work, shares[j], factors[knot], steps[knot], STEPS, u, logs, scratch)
    log_weight += abs((1.0 if forward else 0.0) - before) * logs[1]
    if forward:
        position[:] = place
    return log_weight
