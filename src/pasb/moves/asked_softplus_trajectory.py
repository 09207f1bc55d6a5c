"""Trajectories of softplus sticks whose rows are elsewhere: one request a gradient.

The move of `pasb.moves.softplus_trajectory`, as an asking (`pasb.numerics.asking`): it changes the
same parameters and leaves the same distribution invariant, for the same reason. All sticks of all
chains travel together, so a sweep takes as many passes over the rows as the longest trajectory has
steps, and one more. Where the others have their lengths drawn one by one, sticks and chains have
the length of a sweep in common (`length_of_sweep`): it depends on nothing but the seed and the
number of the sweep, so trajectories of all lengths are as valid, and none waits long for others.

The metric is that of a sample of the rows (`SampledMetric`): any metric that depends on no more
than order and adaptation leaves the posterior invariant, and one from some thousand rows fits
nearly as well as one from all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_annealing import renew
from pasb.binary.softplus_metric import Metric, metric_of
from pasb.binary.softplus_posterior import log_posterior, posterior_space
from pasb.binary.softplus_requests import SlopeRequest
from pasb.binary.stick_rows import StickRows
from pasb.moves.softplus_trajectory import (
    LENGTH,
    MOST_ERROR,
    MOST_STEPS,
    unwhitened,
    whitened_gradient,
)
from pasb.numerics.asking import Asking
from pasb.numerics.rows import BLOCK, TILE, Rows
from pasb.sticks import ABSENT, SUCCESS
from pasb.variates.scalar import stream_key, uniform_at

METRIC_ROWS = 8192
ZERO = np.int64(0)

# mypy: disable-error-code="call-arg"


def length_of_sweep(seed: int, sweep: int, n_categories: int) -> float:
    """The length of all trajectories of a sweep, in whitened coordinates."""
    # of no chain; sticks of the other moves are numbered up to four times the number of categories
    key = np.uint64(stream_key(seed, ZERO, sweep, 4 * n_categories + 2, ZERO, ZERO))
    return float(2.0 * uniform_at(key, ZERO) * LENGTH)


class Density:
    """The log-posterior of a stick at a position, and its gradient; see `log_posterior`.

    Parameters
    ----------
    size : tuple
        Experts, layers and columns.
    """

    def __init__(self, size: tuple[int, int, int]):
        self.size = size
        n_padded = -(-size[2] // TILE) * TILE
        nobody = np.zeros((0, n_padded, BLOCK)), np.zeros(1, dtype=np.int64)
        self.no_rows = StickRows(*nobody, np.zeros(0, dtype=bool), np.zeros(0))
        self.work = posterior_space(size, n_padded, BLOCK)

    def at(
        self, roles: NDArray[np.int8], prior: tuple, position: NDArray[np.float64]
    ) -> Asking[tuple[float, NDArray[np.float64]]]:
        """One request; none, and minus infinity, beyond the bounds."""
        gradient = np.zeros(len(position))
        # without rows the posterior is the prior; in the work space, gradients of rows stay zero
        value = log_posterior(self.no_rows, prior, position, gradient, self.work)
        if value == -math.inf:
            return value, gradient
        n_coef, n_experts = math.prod(self.size), self.size[0]
        weights = slice(n_coef, n_coef + n_experts)
        coef, log_weight = position[:n_coef].reshape(self.size), position[weights]
        (answer,) = yield [SlopeRequest(roles, coef.copy(), log_weight.copy())]
        gradient[:n_coef] += answer.by_coef.ravel()
        gradient[weights] += answer.by_weight
        return value + float(answer.value[0]), gradient


class Arrival(NamedTuple):
    """Where a trajectory led.

    Attributes
    ----------
    position : array
        The end, or where it began if the end was rejected.
    n_gradients : int
        0 where the density is zero: then nothing moves.
    acceptance : float
    moved, diverged : bool
    """

    position: NDArray[np.float64]
    n_gradients: int
    acceptance: float
    moved: bool
    diverged: bool


def followed(
    density: Density,
    roles: NDArray[np.int8],
    prior: tuple,
    metric: Metric,
    step: float,
    length: float,
    key: np.uint64,
    position: NDArray[np.float64],
) -> Asking[Arrival]:
    """Follow one trajectory from `position`; cf. `pasb.moves.softplus_trajectory.follow`.

    Row 0 of the stream decides whether its end is taken, the rows behind it draw the momentum.
    """
    log_density, gradient = yield from density.at(roles, prior, position)
    if log_density == -math.inf:
        return Arrival(position, 0, 0.0, False, False)
    momentum, force, velocity = np.zeros((3, len(position)))
    renew(momentum, 1.0, key, 1)
    energy = 0.5 * float(momentum @ momentum) - log_density
    place, error = position.copy(), 0.0
    whitened_gradient(*metric, gradient, force)
    n_steps = max(1, min(math.ceil(length / step), MOST_STEPS))
    for s in range(n_steps):
        momentum += 0.5 * step * force
        unwhitened(*metric, momentum, velocity)
        place += step * velocity
        log_density, gradient = yield from density.at(roles, prior, place)
        if log_density == -math.inf:
            return Arrival(position, s + 2, 0.0, False, True)
        whitened_gradient(*metric, gradient, force)
        momentum += 0.5 * step * force
        error = 0.5 * float(momentum @ momentum) - log_density - energy
        if not error < MOST_ERROR:
            return Arrival(position, s + 2, 0.0, False, True)
    moved = math.log(uniform_at(key, ZERO)) < -error
    acceptance = math.exp(min(0.0, -error))
    return Arrival(place if moved else position, n_steps + 1, acceptance, moved, False)


class SampledMetric:
    """Metrics from a sample of the rows, each group counted as often as there are rows of it.

    Parameters
    ----------
    sample : Rows
    counts : array of shape (n_groups,)
        Rows of each group in the whole table.
    """

    def __init__(self, sample: Rows, counts: NDArray[np.int64]):
        self.rows = sample.at_most(METRIC_ROWS)
        self.factors = counts / np.maximum(np.diff(self.rows.bounds), 1)

    def of(
        self,
        roles: NDArray[np.int8],
        prior: tuple,
        positions: NDArray[np.float64],
        work: tuple,
    ) -> Metric:
        """That of a stick, by the curvature at some positions; see `metric_of`."""
        power = np.where(roles == ABSENT, 0.0, self.factors)
        rows = StickRows(self.rows.blocks, self.rows.bounds, roles == SUCCESS, power)
        return metric_of(rows, prior, positions, work)
