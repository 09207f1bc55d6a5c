"""Hamiltonian trajectories of a stick's coefficients, whitened by their normal approximation.

With mode m and precision H of the approximation, the negative log-posterior of the positions u
(`pasb.binary.bent_normal`) is (u - m)'H(u - m) / 2 plus a rest that is small where the
approximation is good. In the metric H the first part turns position and velocity into each other
at unit speed, which needs no steps at all; only the rest is applied in kicks before and after each
turn (splitting: Shahbaba, Lan, Johnson and Neal 2014), whose sizes alternate such that the error in
energy is least for two steps (Blanes, Casas and Sanz-Serna 2014). So two kicks by one gradient each
carry a stick of a few dozen columns to a point that nine times in ten is accepted and no longer
remembers where it began.

The whole turn is a little more than a right angle: what overshoots is negatively correlated
with where it began, and means of such draws vary less than those of independent ones.

``work = (new_coef, new_slope, new_sums, eta, residual, vectors)`` is what a trajectory works in:
coefficients, slope and sums of its end; work space of `slopes`; and six vectors. All vectors of
columns are padded.

Other arguments as in `pasb.binary.linear_kernels`; a trajectory has `n_steps` steps.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import (
    bend_of,
    coefficients,
    log_rise,
    multiply,
    position,
    slope_of_position,
    solve,
    unpacked,
)
from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.slopes import slopes
from pasb.numerics.compiled import kernel, summing
from pasb.numerics.rows import BLOCK, Rows
from pasb.variates.scalar import normal, open_stream, stream_key

TURN = 2.0  # radians of a whole trajectory; the correlation over it is about cos(2) = -0.4
STEPS = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32])  # of a trajectory: the first that suffices
OUTER = 0.21  # of two steps, the first and the last kick; a quarter is leapfrog
ENOUGH = 0.85
N_TRIALS = 4  # trajectories by which that is judged
N_LEADING, MANY_STEPS = 3, 8  # those that lead from the mode to where they start
ZERO = np.int64(0)
PROBE = np.int64(11)  # purpose of the stream

# mypy: disable-error-code="call-arg"


def travel_space(rows: Rows) -> tuple[NDArray[np.float64], ...]:
    """What a trajectory works in."""
    n_padded = rows.blocks.shape[1]
    return (
        np.zeros(n_padded),
        np.zeros(n_padded),
        np.zeros(rows.n_groups),
        np.zeros(BLOCK),
        np.zeros(BLOCK),
        np.zeros((6, n_padded)),
    )


@summing
def product(a, b):
    """The inner product of two vectors."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@summing
def draw_velocity(scale, factor, key, velocity, momentum):
    """Draw a `velocity` (n) from N(0, H^-1), and its `momentum` (n), which is H times that."""
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
def kick_size(step, n_steps):
    """Size of a kick, in steps; that of leapfrog where their number is odd."""
    end = step == 0 or step == n_steps
    outer = OUTER if n_steps % 2 == 0 else 0.25
    if step % 2 == 1 and n_steps % 2 == 0:
        return 2.0 - 4.0 * outer
    return 2.0 * outer if end else 4.0 * outer


@kernel
def kick(gaussian, size, coef, slope, vectors):
    """Change the velocity by `size` times what the rest of the log-density asks for."""
    _, scale, factor, _, _ = unpacked(gaussian)
    n = scale.shape[0]
    dual, velocity, momentum = vectors[1, :n], vectors[2, :n], vectors[3, :n]
    change, rest = vectors[4, :n], vectors[5, :n]
    slope_of_position(bend_of(gaussian), coef[:n], slope, rest)
    for v in range(n):
        rest[v] += dual[v]
    solve(scale, factor, rest, change)
    for v in range(n):
        momentum[v] += size * rest[v]
        velocity[v] += size * change[v]


@kernel
def turn(gaussian, angle, vectors, coef):
    """Let position and velocity turn into each other; `coef` gets the new coefficients."""
    mode = unpacked(gaussian)[0]
    n = mode.shape[0]
    away, dual = vectors[0, :n], vectors[1, :n]
    velocity, momentum = vectors[2, :n], vectors[3, :n]
    c, s = math.cos(angle), math.sin(angle)
    for v in range(n):
        away[v], velocity[v] = c * away[v] + s * velocity[v], c * velocity[v] - s * away[v]
        dual[v], momentum[v] = c * dual[v] + s * momentum[v], c * momentum[v] - s * dual[v]
        coef[v] = mode[v] + away[v]
    coefficients(bend_of(gaussian), coef[:n], coef[:n])


@kernel
def set_out(gaussian, coef, vectors):
    """The position of `coef`, seen from the mode, and its product with H."""
    mode, scale, factor, _, _ = unpacked(gaussian)
    n = mode.shape[0]
    away, dual = vectors[0, :n], vectors[1, :n]
    position(bend_of(gaussian), coef, away)
    for v in range(n):
        away[v] -= mode[v]
    multiply(scale, factor, away, dual)


@kernel
def travel(regression, gaussian, roles, n_steps, key, coef, slope, sums, work):
    """Follow a trajectory from `coef` and return the log of the ratio that decides on its end.

    `slope` and `sums` are those of `coef`. `work` gets the coefficients, the slope and the sums
    of the end.
    """
    new_coef, new_slope, new_sums, eta, residual, vectors = work
    _, prior, _ = regression
    _, scale, factor, _, _ = unpacked(gaussian)
    n = scale.shape[0]
    bend = bend_of(gaussian)
    velocity, momentum = vectors[2, :n], vectors[3, :n]
    set_out(gaussian, coef, vectors)
    draw_velocity(scale, factor, key, velocity, momentum)
    gain = 0.5 * product(velocity, momentum) - np.sum(sums)
    gain -= coefficient_log_prior(coef, 1.0, prior) + log_rise(bend, coef)
    angle = TURN / n_steps
    new_coef[:n] = coef
    new_slope[:] = slope
    for step in range(n_steps + 1):
        kick(gaussian, angle * kick_size(step, n_steps), new_coef, new_slope, vectors)
        if step == n_steps:
            break
        turn(gaussian, angle, vectors, new_coef)
        slopes(regression, roles, new_coef, eta, residual, new_slope, new_sums)
    gain += np.sum(new_sums) + coefficient_log_prior(new_coef[:n], 1.0, prior)
    gain += log_rise(bend, new_coef[:n])
    return gain - 0.5 * product(velocity, momentum)


@kernel
def enough_steps(regression, gaussian, roles, work):
    """The fewest steps in `STEPS` with which an approximation's trajectories are mostly accepted.

    It is found from a few of them, with random numbers that depend on nothing: the number
    of steps is a function of the approximation and the rows. They start where a few trajectories of
    many steps, none of them rejected, lead from the mode.
    """
    new_coef, new_slope, new_sums, eta, residual, _ = work
    n = unpacked(gaussian)[0].shape[0]
    n_padded = new_coef.shape[0]
    coef, slope = np.zeros(n_padded), np.zeros(n_padded)
    sums = np.zeros(new_sums.shape[0])
    coefficients(bend_of(gaussian), unpacked(gaussian)[0], coef[:n])
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
