"""A bridge between a stick's normal approximation and its posterior.

Where the approximation is poor, a draw from it is a poor draw from the posterior: its weight,
posterior over approximation, varies too much. A bridge goes there in small steps (annealed
importance sampling: Neal 2001). With r the log of posterior over approximation q, both of them
densities of positions (`pasb.binary.bent_normal`), it visits the distributions q exp(s r), whose
share s grows from 0 to 1. From a draw u_0 of q, leap k takes u_(k-1) to u_k by a move that leaves
the distribution of the share s_k invariant. The weight of the whole path,

    log w = sum over k of (s_k - s_(k-1)) r(u_(k-1)),  from s_0 = 0 to s_(K+1) = 1,

is the density of the path from its other end, where u_K is a draw from the posterior and the leaps
come in the opposite order, over its density from this end. So w may take the place of posterior
over approximation wherever that decides, and with no leaps it is that.

A leap is a short trajectory (`pasb.binary.travel`) that is accepted or rejected. A part of the
velocity is drawn again before each leap, and a rejection turns it round (Horowitz 1991): seen from
the other end such leaps are of the same kind.

Arguments as in `pasb.binary.linear_kernels`; `steps_and_leaps` are two numbers, the steps of a
trajectory and the leaps of a bridge.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.bent_normal import bend_of, draw_narrow, log_rise, unpacked
from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.slopes import log_likelihoods, slopes
from pasb.binary.travel import OUTER, TURN, draw_velocity, kick, product, set_out, turn
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import open_stream, stream_key, uniform

STEPS = 2  # of a leap
BOLDER, BESIDE = (
    2.0,
    2.0,
)  # steps are so much longer than those of a trajectory; fewer if it has few
FRESH = 0.6  # of a velocity's variance, what is drawn again before a leap
POWER = 2.0  # by which the share of the rest grows along a bridge

# mypy: disable-error-code="call-arg"


@kernel
def bridge(regression, gaussian, roles, steps_and_leaps, forward, names, coef, work):
    """Go from the approximation to the posterior, or back; the log of the path's weight.

    `work` is that of `pasb.binary.travel`. Forward, `coef` (padded) becomes the end of a path that
    begins with a draw from the approximation; else it is where a path ends, and stays as it is.
    The sums of `work` are those of `coef` in the end. The steps of a leap are up to twice as long
    as those of a trajectory of so many steps. ``names = (seed, chain, sweep, stick, kind,
    purpose)`` tell the random numbers apart; kinds that follow `kind` are those of the leaps. The
    constant of the prior is left out.
    """
    new_coef, new_slope, new_sums, eta, residual, vectors = work
    _, prior, _ = regression
    n_steps, n_leaps = steps_and_leaps
    n = unpacked(gaussian)[0].shape[0]
    seed, chain, sweep, stick, kind, purpose = names
    new_coef[n:] = 0.0
    if forward:
        draw_narrow(gaussian, stream_key(seed, chain, sweep, stick, kind, purpose), new_coef[:n])
    else:
        new_coef[:n] = coef[:n]
    if n_leaps == 0:
        log_likelihoods(regression, roles, new_coef, eta, new_sums)
    else:
        slopes(regression, roles, new_coef, eta, residual, new_slope, new_sums)
    set_out(gaussian, new_coef[:n], vectors)
    rest = log_rest(prior, gaussian, new_coef[:n], new_sums, vectors)
    first_sums, sums, kept = new_sums.copy(), new_sums.copy(), np.empty((6, new_coef.shape[0]))
    angle = BOLDER * TURN / (n_steps + BESIDE)
    before = 0.0 if forward else 1.0
    log_weight = 0.0
    for leap in range(n_leaps):
        place = leap if forward else n_leaps - 1 - leap
        share = ((place + 0.5) / n_leaps) ** POWER
        log_weight += abs(share - before) * rest
        before = share
        key = stream_key(seed, chain, sweep, stick, kind + 1 + leap, purpose)
        change_velocity(gaussian, key, 1.0 if leap == 0 else FRESH, vectors)
        kept[:4], kept[4], kept[5] = vectors[:4], new_coef, new_slope
        sums[:] = new_sums
        gain = energy(vectors, n) - share * rest
        for step in range(STEPS + 1):
            size = angle * share * (2.0 - 4.0 * OUTER if step == 1 else 2.0 * OUTER)
            kick(gaussian, size, new_coef, new_slope, vectors)
            if step < STEPS:
                turn(gaussian, angle, vectors, new_coef)
                slopes(regression, roles, new_coef, eta, residual, new_slope, new_sums)
        new_rest = log_rest(prior, gaussian, new_coef[:n], new_sums, vectors)
        gain += share * new_rest - energy(vectors, n)
        u, _ = uniform(open_stream(key, n))
        if math.log(u) < gain:
            rest = new_rest
        else:
            vectors[:2] = kept[:2]
            vectors[2:4] = -kept[2:4]
            new_coef[:], new_slope[:] = kept[4], kept[5]
            new_sums[:] = sums
    log_weight += abs((1.0 if forward else 0.0) - before) * rest
    if forward:
        coef[:] = new_coef
    else:
        new_sums[:] = first_sums
    return log_weight


@kernel
def log_rest(prior, gaussian, coef, sums, vectors):
    """Log of posterior over approximation, at the position in `vectors`, that of `coef`."""
    n = coef.shape[0]
    log_determinant = unpacked(gaussian)[3]
    log_posterior = np.sum(sums) + coefficient_log_prior(coef, 1.0, prior)
    log_posterior += log_rise(bend_of(gaussian), coef)
    distance = product(vectors[0, :n], vectors[1, :n])
    return log_posterior + 0.5 * (distance - log_determinant + n * math.log(2 * math.pi))


@kernel
def energy(vectors, n):
    """Of the normal part: that of the position, and that of the velocity."""
    distance = product(vectors[0, :n], vectors[1, :n])
    return 0.5 * (distance + product(vectors[2, :n], vectors[3, :n]))


@kernel
def change_velocity(gaussian, key, fresh, vectors):
    """Draw a part of a velocity again; what is left of the variance stays."""
    _, scale, factor, _, _ = unpacked(gaussian)
    n = scale.shape[0]
    velocity, momentum = vectors[2, :n], vectors[3, :n]
    if fresh == 1.0:
        draw_velocity(scale, factor, key, velocity, momentum)
        return
    other, its_momentum = vectors[4, :n], vectors[5, :n]
    draw_velocity(scale, factor, key, other, its_momentum)
    old, new = math.sqrt(1.0 - fresh), math.sqrt(fresh)
    for v in range(n):
        velocity[v] = old * velocity[v] + new * other[v]
        momentum[v] = old * momentum[v] + new * its_momentum[v]
