"""The plan of a path between prior and posterior of a softplus stick, from a small population.

Some particles go from the prior to the posterior together (sequential Monte Carlo; Del Moral,
Doucet and Jasra 2006): the next share is as far as their weights stay even enough, they are
resampled, the metric is taken where they are (information of the rows times the share, plus the
curvature of the prior, as in `pasb.binary.softplus_metric`), and a few leaps move them, with a step
that follows their acceptance. What is left of it is the plan: shares, metrics and steps, and an
estimate of the log-evidence. Paths (`pasb.binary.softplus_annealing`) are exact whatever the plan.

The number of shares where the population stopped, its *levels*, tells how far the posterior is from
the prior; the variance of a log-weight grows with its square over the number of leaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_annealing import FRESH, MOMENTUM, N_SCRATCH, leap, look_around
from pasb.binary.softplus_metric import AT_ONCE, LEAST_CURVATURE, factor_of_inverse, slopes_of_block
from pasb.binary.stick_rows import mark_block

PARTICLES = 16
EVEN = 2 / 3  # of the particles, those that their weights are worth on the way to the next share
MOST_LEVELS = 16  # beyond, paths would take too long
LEAPS, STEPS = 5, 5  # at a level, and steps of each
MEASURED = 8  # particles at which the metric is taken
FIRST_STEP, MOST_STEP, GAIN, ACCEPTANCE = 0.3, 1.0, 0.4, 0.75
SHORTER = 0.7  # steps of paths, compared with those of the population: rejections cost them more
LEAPS_OF_PATH = 2.5  # times the square of the levels
LEVELS_A_KNOT = 2  # share one metric
MOST_INFORMATION = 50.0  # of a weight by its prior


class AnnealingPlan(NamedTuple):
    """How to go from the prior to the posterior.

    Attributes
    ----------
    shares : array of shape (n_leaps,)
        To which the likelihood is raised, rising.
    knots : integer array of shape (n_leaps,)
        Which metric and step a leap has.
    factors : array of shape (n_knots, n, n)
        Position = factor times whitened coordinates.
    steps : array of shape (n_knots,)
    log_evidence : float
        An estimate.
    """

    shares: NDArray[np.float64]
    knots: NDArray[np.int64]
    factors: NDArray[np.float32]
    steps: NDArray[np.float64]
    log_evidence: float

    @property
    def path(self) -> tuple[NDArray, ...]:
        """What `anneal` takes."""
        return self.shares, self.knots, self.factors, self.steps


def make_plan(
    rows,
    prior,
    work,
    draw_prior: Callable[[int], NDArray[np.float64]],
    rng: np.random.Generator,
) -> AnnealingPlan | None:
    """Send a population from the prior to the posterior; None if it is too far.

    Parameters
    ----------
    rows, prior, work : tuple
        See `pasb.binary.softplus_standard.log_prior_and_forces`.
    draw_prior : callable
        The standard position of a draw from the prior, by its number.
    rng : numpy.random.Generator
    """
    particles = [_Particle(draw_prior(i), rows, prior, work) for i in range(PARTICLES)]
    levels, factors, steps, step = [0.0], [], [], FIRST_STEP
    log_evidence = 0.0
    while levels[-1] < 1.0:
        if len(levels) > MOST_LEVELS:
            return None
        log_likelihood = np.array([particle.logs[1] for particle in particles])
        share = next_share(levels[-1], log_likelihood)
        log_weight = (share - levels[-1]) * log_likelihood
        weight = np.exp(log_weight - log_weight.max())
        log_evidence += float(np.log(weight.mean()) + log_weight.max())
        places = (np.arange(PARTICLES) + rng.random()) / PARTICLES * weight.sum()
        chosen = np.minimum(np.searchsorted(np.cumsum(weight), places), PARTICLES - 1)
        particles = [particles[i].copy() for i in chosen]
        levels.append(share)
        some = [particle.scratch[0] for particle in particles[:MEASURED]]
        factor = factor_at(rows, prior, work, some, share)
        for _ in range(LEAPS):
            acceptance = 0.0
            for particle in particles:
                particle.renew(rng)
                acceptance += leap(
                    rows,
                    prior,
                    work,
                    share,
                    factor,
                    step,
                    STEPS,
                    rng.random(),
                    particle.logs,
                    particle.scratch,
                )
            step *= np.exp(GAIN * (acceptance / PARTICLES - ACCEPTANCE))
            step = min(step, MOST_STEP)
        factors.append(factor)
        steps.append(step)
    return plan_of(np.array(levels), np.array(factors), np.array(steps), log_evidence)


def next_share(
    share: float, log_likelihood: NDArray[np.float64], even: float = EVEN, halvings: int = 50
) -> float:
    """The share up to which the weights of particles stay as even as they should, at most 1."""

    def worth(more: float) -> float:
        weight = np.exp(more * (log_likelihood - log_likelihood.max()))
        return float(weight.sum() ** 2 / np.sum(weight**2)) / len(weight)

    if worth(1.0 - share) >= even:
        return 1.0
    low, high = -40.0, float(np.log(1.0 - share))
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if worth(np.exp(middle)) >= even else (low, middle)
    return share + float(np.exp(low))


def plan_of(levels, factors, steps, log_evidence: float) -> AnnealingPlan:
    """Leaps spread evenly over the levels, evenly within each."""
    n_levels = len(factors)
    at_a_level = max(1, round(LEAPS_OF_PATH * n_levels))
    within = (np.arange(at_a_level) + 0.5) / at_a_level
    shares = (levels[:-1, None] + np.diff(levels)[:, None] * within).ravel()
    # the last level has a knot of its own, whatever their number
    of_level = (np.arange(n_levels) + (n_levels - 1) % LEVELS_A_KNOT) // LEVELS_A_KNOT
    first = np.searchsorted(of_level, np.arange(of_level[-1] + 1), side="right") - 1
    return AnnealingPlan(
        shares,
        np.repeat(of_level, at_a_level).astype(np.int64),
        np.ascontiguousarray(factors[first]),
        SHORTER * steps[first],
        log_evidence,
    )


def factor_at(rows, prior, work, positions, share: float) -> NDArray[np.float32]:
    """The factor of a metric: F with F F' the inverse of the curvature, averaged over positions.

    In single precision, as forces are: a metric need not be precise.
    """
    shape, rate_prior, _ = prior
    coef, _, space, n_columns, _, _ = work
    n_vectors, n_experts, n = len(coef), len(space[2]), len(positions[0])
    n_coef = n_vectors * n_columns
    rates = slice(n_coef + n_experts, n_coef + n_experts + n_vectors)
    curvature = np.zeros((n, n))
    diagonal = np.zeros(n)
    for position in positions:
        _add_information(rows, prior, work, position, curvature)
        mass, inverse_scale = np.exp(position[-2:])
        weight = np.exp(position[n_coef : n_coef + n_experts])
        diagonal[n_coef : n_coef + n_experts] += np.minimum(
            inverse_scale * weight, MOST_INFORMATION
        )
        diagonal[-1] += mass
    curvature *= share
    diagonal[n_coef : n_coef + n_experts] += len(positions) * LEAST_CURVATURE
    diagonal[-2:] += len(positions)
    diagonal[-2] += 0.5 * len(positions)
    # the information of a t distribution on its location
    diagonal[:n_coef] = len(positions) * shape * (2 * shape + 1) / (2 * shape + 3)
    diagonal[rates] = len(positions) * max(rate_prior[0], LEAST_CURVATURE)
    curvature[np.diag_indices(n)] += diagonal
    factor = factor_of_inverse(curvature, len(positions))
    if not rate_prior[0] > 0:
        factor[rates] = 0.0  # they are fixed
    return np.ascontiguousarray(factor, dtype=np.float32)


def _add_information(rows, prior, work, position, curvature) -> None:
    """Add that of all rows of a stick, by the coordinates of a standard position."""
    _, rate_prior, _ = prior
    coef, _, (psi, slopes, top, by_row), n_columns, _, _ = work
    (n_vectors, _), n_experts, width = coef.shape, len(top), rows.blocks.shape[2]
    n_coef = n_vectors * n_columns
    n = n_coef + n_experts + n_vectors
    log_unit = -np.log(rate_prior[1]) if rate_prior[0] > 0 else 0.0
    scale = np.exp(0.5 * (position[n_coef + n_experts : n] + log_unit))[:, None]
    coef[:, :n_columns] = position[:n_coef].reshape(n_vectors, n_columns) * scale
    log_weight = position[n_coef : n_coef + n_experts].copy()
    for b, block in enumerate(rows.blocks):
        if not mark_block(rows, b, by_row[3], by_row[4]):
            continue
        slopes_of_block(block, coef, log_weight, by_row[4], psi, slopes, top, by_row)
        for first in range(0, width, AT_ONCE):
            few = slice(first, first + AT_ONCE)
            columns, slope = block[:n_columns, few], slopes[:, few]
            by_coef = (slope * scale)[:, None] * columns
            by_rate = 0.5 * slope * (coef[:, :n_columns] @ columns)
            every = np.concatenate([by_coef.reshape(n_coef, -1), top[:, few], by_rate])
            curvature[:n, :n] += every @ every.T


class _Particle:
    """A place on the way, with what `leap` needs of it."""

    def __init__(self, position: NDArray[np.float64], rows, prior, work):
        self.scratch = np.zeros((N_SCRATCH, len(position)))
        self.scratch[0] = position
        self.logs = np.empty(2)
        look_around(rows, prior, work, self.logs, self.scratch)

    def copy(self) -> _Particle:
        """The same place; particles move by themselves."""
        twin = object.__new__(_Particle)
        twin.scratch, twin.logs = self.scratch.copy(), self.logs.copy()
        return twin

    def renew(self, rng: np.random.Generator) -> None:
        """Draw a part of the momentum again."""
        momentum = self.scratch[MOMENTUM]
        fresh = rng.standard_normal(len(momentum))
        momentum[:] = np.sqrt(1 - FRESH) * momentum + np.sqrt(FRESH) * fresh
