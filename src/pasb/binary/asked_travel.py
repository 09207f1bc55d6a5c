"""Trajectories of a stick whose rows are elsewhere: one request a gradient.

The same steps as `pasb.binary.travel`, as an asking. All sticks of all chains travel together, so a
sweep of trajectories takes as many passes over the rows as the longest of them has steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import unpacked
from pasb.binary.coefficient_prior import CoefficientPrior, coefficient_log_prior
from pasb.binary.row_requests import SLOPE, Request
from pasb.binary.travel import (
    ENOUGH,
    MANY_STEPS,
    N_LEADING,
    N_TRIALS,
    PROBE,
    STEPS,
    TURN,
    draw_velocity,
    kick,
    kick_size,
    set_out,
    turn,
)
from pasb.numerics.asking import Asking, together
from pasb.variates.scalar import stream_key

ZERO = np.int64(0)

# mypy: disable-error-code="call-arg"


class Stick(NamedTuple):
    """Whose posterior is travelled: roles, prior and packed approximation."""

    roles: NDArray[np.int8]
    prior: CoefficientPrior
    gaussian: NDArray[np.float64]


class Point(NamedTuple):
    """Coefficients, the gradient of the log-posterior there, and log-likelihoods by group."""

    coef: NDArray[np.float64]
    slope: NDArray[np.float64]
    sums: NDArray[np.float64]


def point_at(stick: Stick, coef: NDArray[np.float64]) -> Asking[Point]:
    """What is known of some coefficients after one request."""
    (answer,) = yield [Request(SLOPE, stick.roles, coef[None].copy())]
    slope = answer.slope[0] - stick.prior.precision_at(coef) * coef
    return Point(coef.copy(), slope, answer.sums[0].copy())


def travelled(
    stick: Stick, start: Point, n_steps: int, key: np.uint64
) -> Asking[tuple[float, Point]]:
    """Follow a trajectory; the log of the ratio that decides on its end, and the end."""
    n = len(start.coef)
    vectors, coef = np.zeros((6, n)), start.coef.copy()
    velocity, momentum = vectors[2], vectors[3]
    _, scale, factor, _, _ = unpacked(stick.gaussian)
    set_out(stick.gaussian, coef, vectors)
    draw_velocity(scale, factor, key, velocity, momentum)
    gain = 0.5 * float(velocity @ momentum) - _log_posterior(stick, start)
    angle, end = TURN / n_steps, start
    for step in range(n_steps + 1):
        kick(stick.gaussian, angle * kick_size(step, n_steps), coef, end.slope, vectors)
        if step == n_steps:
            break
        turn(stick.gaussian, angle, vectors, coef)
        end = yield from point_at(stick, coef)
    gain += _log_posterior(stick, end) - 0.5 * float(velocity @ momentum)
    return gain, end


def enough_steps(stick: Stick) -> Asking[int]:
    """The fewest steps with which most trajectories are accepted; see `pasb.binary.travel`."""
    point = yield from point_at(stick, unpacked(stick.gaussian)[0])
    for trial in range(-N_LEADING, 0):
        _, point = yield from travelled(stick, point, MANY_STEPS, _probe(trial))
    for level, n_steps in enumerate(STEPS.tolist()):
        trials = range(level * N_TRIALS, (level + 1) * N_TRIALS)
        ends = yield from together(
            [travelled(stick, point, n_steps, _probe(trial)) for trial in trials]
        )
        accepted = sum(math.exp(min(gain, 0.0)) for gain, _ in ends if gain == gain)
        if accepted >= ENOUGH * N_TRIALS:
            return n_steps
    return int(STEPS[-1])


def _probe(trial: int) -> np.uint64:
    return np.uint64(stream_key(ZERO, ZERO, ZERO, np.int64(N_LEADING + trial), ZERO, PROBE))


def _log_posterior(stick: Stick, point: Point) -> float:
    return float(point.sums.sum()) + coefficient_log_prior(point.coef, 1.0, tuple(stick.prior))
