"""A bridge between a stick's normal approximation and its posterior.

Where the approximation is poor, a draw from it is a poor draw from the posterior: its weight,
posterior over approximation, varies too much. A bridge goes there in small steps (annealed
importance sampling: Neal 2001; with trajectories: Sohl-Dickstein and Culpepper 2012). From a draw
b_0 of the approximation q it follows leaps of two steps (`pasb.binary.travel`), in which the rest
of the log-density counts by a share that grows from 0 to 1, and a part of the velocity is drawn
again before each leap. The weight of the whole path,

    w = posterior(b_K) / q(b_0) times the product over leaps of exp(kinetic energy before - after),

both of them densities of positions (`pasb.binary.bent_normal`), is the density of the path from
its other end, where b_K is a draw from the posterior and the leaps come in the opposite order, over
its density from this end: a leap is reversible and keeps volume, and drawing a part of the velocity
again is reversible too. So w may take the place of posterior over approximation wherever that
decides, and with no leaps it is that. None of this needs the leaps to be accurate.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.bent_normal import (
    bend_of,
    draw_narrow,
    log_rise,
    narrow_log_density,
    unpacked,
)
from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.slopes import log_likelihoods, slopes
from pasb.binary.travel import OUTER, TURN, draw_velocity, kick, product, set_out, turn
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import stream_key

LEAST_STEPS = 6  # that a trajectory with steps of this length would have
FRESH = 0.6  # of a velocity's variance, what is drawn again before a leap
POWER = 2.0  # by which the share of the rest grows along a bridge

# mypy: disable-error-code="call-arg"


@kernel
def bridge(regression, gaussian, roles, steps_and_leaps, forward, names, coef, work):
    """Go from the approximation to the posterior, or back; the log of the path's weight.

    Forward, `coef` (padded) becomes the end of a path that begins with a draw from the
    approximation; else it is where a path ends, and stays as it is. The sums of `work` are
    those of `coef` in the end. A leap's steps are as long as those of a trajectory of so many
    steps. ``names = (seed, chain, sweep, stick, kind, layer)`` tell the random numbers apart; kinds
    that follow `kind` are those of the velocities. The constant of the prior is left out.
    """
    new_coef, new_slope, new_sums, eta, residual, vectors = work
    _, prior, _ = regression
    n_steps, n_leaps = steps_and_leaps
    n = unpacked(gaussian)[0].shape[0]
    bend = bend_of(gaussian)
    seed, chain, sweep, stick, kind, layer = names
    new_coef[n:] = 0.0
    if forward:
        key = stream_key(seed, chain, sweep, stick, kind, layer)
        draw_narrow(gaussian, key, new_coef[:n])
        gain = -narrow_log_density(gaussian, new_coef[:n]) - log_rise(bend, new_coef[:n])
    else:
        new_coef[:n] = coef[:n]
        gain = log_rise(bend, coef[:n])
    if n_leaps == 0:
        log_likelihoods(regression, roles, new_coef, eta, new_sums)
    else:
        slopes(regression, roles, new_coef, eta, residual, new_slope, new_sums)
    sums = new_sums.copy()
    set_out(gaussian, new_coef[:n], vectors)
    angle = TURN / max(n_steps, LEAST_STEPS)
    for leap in range(n_leaps):
        key = stream_key(seed, chain, sweep, stick, kind + 1 + leap, layer)
        change_velocity(gaussian, key, 1.0 if leap == 0 else FRESH, vectors)
        place = leap if forward else n_leaps - 1 - leap
        share = ((place + 0.5) / n_leaps) ** POWER
        heat = 0.5 * product(vectors[2, :n], vectors[3, :n])
        for step in range(3):
            size = angle * share * (2.0 - 4.0 * OUTER if step == 1 else 2.0 * OUTER)
            kick(gaussian, size, new_coef, new_slope, vectors)
            if step < 2:
                turn(gaussian, angle, vectors, new_coef)
                slopes(regression, roles, new_coef, eta, residual, new_slope, new_sums)
        heat -= 0.5 * product(vectors[2, :n], vectors[3, :n])
        gain += heat if forward else -heat
    if forward:
        coef[:] = new_coef
        gain += log_rise(bend, coef[:n])
    else:
        gain -= narrow_log_density(gaussian, new_coef[:n]) + log_rise(bend, new_coef[:n])
        new_sums[:] = sums
    return gain + np.sum(new_sums) + coefficient_log_prior(coef[:n], 1.0, *prior)


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
