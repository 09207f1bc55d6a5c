"""Trajectories of softplus sticks on the posterior with all latents integrated out.

Changes coefficients, weights, rates, gamma_0 and c_0 of the categories on sticks, and draws their
precisions given the rest. A Hamiltonian trajectory of random length, accepted or not by its error
in energy, leaves the posterior of a stick invariant for any step size and metric that do not
depend on the position; these are learned in the warm-up and then kept (`pasb.numerics.adaptation`,
`pasb.binary.softplus_metric`). Precisions follow from their full conditional. Gibbs updates take
small steps because latents and coefficients hold each other; this move has no latents. Applies to
softplus models with ``moves="mixed"``, under the exact scheme. Costs some 20 to 100 gradients a
stick, each a pass over its rows; sticks run side by side where there are idle threads. Counts
`softplus_trajectory_proposed`, `softplus_trajectory_accepted`, `softplus_trajectory_gradients` and
`softplus_trajectory_divergences`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.softplus_annealing import N_SCRATCH, leap, look_around, renew
from pasb.binary.softplus_metric import Metric, metric_of
from pasb.binary.softplus_plan import AnnealingPlan
from pasb.binary.softplus_posterior import (
    force,
    in_single,
    log_posterior,
    position_of,
    posterior_space,
    take_position,
)
from pasb.binary.softplus_prior import ALL, draw_precisions
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.softplus_standard import standard_of, take_standard
from pasb.binary.stick_rows import StickRows, stick_rows
from pasb.evidences.annealed import AnnealedEvidences
from pasb.evidences.evidences import members
from pasb.moves.move import Move, State
from pasb.numerics.adaptation import (
    adapt,
    begin,
    gathering_sweeps,
    positions_in_use,
    step_of,
    trust,
    window_ends,
)
from pasb.numerics.compiled import kernel
from pasb.numerics.helpers import Task, TaskRunner
from pasb.numerics.work_space import Lent
from pasb.sticks import ABSENT, Roles
from pasb.variates.scalar import normal, open_stream, uniform

# mypy: disable-error-code="call-arg"

LENGTH = 5.0  # mean, in whitened coordinates; lengths are uniform up to twice as much
STANDARD_LENGTH = 2.0  # the same where sticks have plans
MOST_STEPS = 256
MOST_ERROR = 1000.0  # in energy: a trajectory with more has diverged

STATISTICS = (  # of all engines
    "softplus_trajectory_proposed",
    "softplus_trajectory_accepted",
    "softplus_trajectory_gradients",
    "softplus_trajectory_divergences",
)


@kernel
def unwhitened(factors, rest, whitened, out):
    """Turn a vector of whitened coordinates into one of coordinates.

    In the precision of the factors, as far as these go.
    """
    n_blocks, n, _ = factors.shape
    for j in range(n_blocks):
        own = slice(j * n, (j + 1) * n)
        out[own] = np.dot(factors[j], whitened[own].astype(factors.dtype))
    for i in range(rest.shape[0]):
        out[n_blocks * n + i] = rest[i] * whitened[n_blocks * n + i]


@kernel
def whitened_gradient(factors, rest, gradient, out):
    """Turn a gradient by coordinates into one by whitened coordinates."""
    n_blocks, n, _ = factors.shape
    for j in range(n_blocks):
        own = slice(j * n, (j + 1) * n)
        out[own] = np.dot(factors[j].T, gradient[own].astype(factors.dtype))
    for i in range(rest.shape[0]):
        out[n_blocks * n + i] = rest[i] * gradient[n_blocks * n + i]


@kernel
def follow(rows, prior, work, metric, step, key, scratch, position):
    """Follow one trajectory from `position` and go where it leads, or stay.

    Parameters
    ----------
    rows, prior, work : tuple
        See `pasb.binary.softplus_posterior.log_posterior`.
    metric : tuple
        ``factors`` and ``rest`` of a `Metric`; the factors may be in single precision.
    step : float
    key : uint64
        Of the stream: row 0 for decisions, the rows behind it for the momentum.
    scratch : array of shape (5 or more, n)
    position : array of shape (n,)

    Returns
    -------
    n_gradients : int
        0 where the density is zero: then nothing moves.
    acceptance : float
        Probability with which the end was taken.
    moved, diverged : bool
    """
    factors, rest = metric
    # unpacking an array would give rows of unknown stride, and compile what takes them twice
    place, momentum, push = scratch[0], scratch[1], scratch[2]
    gradient, velocity = scratch[3], scratch[4]
    n = position.shape[0]
    log_density = log_posterior(rows, prior, position, gradient, work)
    if log_density == -np.inf:
        return 0, 0.0, False, False  # beyond the bounds: it stays there
    force(rows, prior, position, gradient, work)
    energy = -log_density
    for i in range(n):
        momentum[i], _ = normal(open_stream(key, np.int64(i + 1)))
        energy += 0.5 * momentum[i] ** 2
    place[:] = position
    whitened_gradient(factors, rest, gradient, push)
    u, stream = uniform(open_stream(key, np.int64(0)))
    n_steps = min(math.ceil(2.0 * u * LENGTH / step), MOST_STEPS)
    for s in range(n_steps):
        for i in range(n):
            momentum[i] += 0.5 * step * push[i]
        unwhitened(factors, rest, momentum, velocity)
        for i in range(n):
            place[i] += step * velocity[i]
        if not force(rows, prior, place, gradient, work):
            return s + 2, 0.0, False, True
        whitened_gradient(factors, rest, gradient, push)
        for i in range(n):
            momentum[i] += 0.5 * step * push[i]
    error = -log_posterior(rows, prior, place, gradient, work) - energy
    for i in range(n):
        error += 0.5 * momentum[i] ** 2
    if not error < MOST_ERROR:
        return n_steps + 1, 0.0, False, True
    u, _ = uniform(stream)
    moved = math.log(u) < -error
    if moved:
        position[:] = place
    return n_steps + 1, math.exp(min(0.0, -error)), moved, False


@kernel
def follow_standard(rows, prior, work, factor, step, key, scratch, position):
    """The same from a standard position; what is returned lacks only whether it diverged.

    `rows`, `prior`, `work` and `scratch` are as for `pasb.binary.softplus_annealing.anneal`,
    `factor` (n, n) is the metric, a factor of the covariance, `key`, `step` and `position` are as
    for `follow`.
    """
    place, momentum = scratch[0], scratch[1]
    place[:] = position
    logs = np.empty(2)
    if not look_around(rows, prior, work, logs, scratch):
        return 0, 0.0, False
    renew(momentum, 1.0, key, 1)
    u, stream = uniform(open_stream(key, np.int64(0)))
    n_steps = min(math.ceil(2.0 * u * STANDARD_LENGTH / step), MOST_STEPS)
    u, _ = uniform(stream)
    acceptance = leap(rows, prior, work, 1.0, factor, step, n_steps, u, logs, scratch)
    position[:] = place
    return n_steps + 1, acceptance, u < acceptance


class SoftplusTrajectory(Move):
    """A trajectory of every stick.

    Parameters
    ----------
    sampler : SoftplusSampler
    roles : Roles
        Of rows on a stick; those that stopped before take no part, imputed or not.
    n_warmup : int
        Sweeps in which step and metric are adapted; after them they stay as they are.
    run : TaskRunner
    evidences : AnnealedEvidences, optional
        With plans of all sticks: these then have metric and step, which the warm-up only scales,
        and trajectories are in standard coordinates (`pasb.binary.softplus_standard`).
    """

    statistics = STATISTICS

    def __init__(
        self,
        sampler: SoftplusSampler,
        roles: Roles,
        n_warmup: int,
        run: TaskRunner,
        evidences: AnnealedEvidences | None = None,
    ):
        super().__init__()
        self.sampler, self.run, self.evidences = sampler, run, evidences
        self.roles = roles._replace(before=ABSENT)
        self.n_warmup, self.ends = n_warmup, window_ends(n_warmup)
        self.gathering = gathering_sweeps(self.ends)
        model = sampler.model
        self.shape = float(model.shape) if sampler.ard else float(model.precision)
        # the metric of every category, and what it was made from
        self.metrics: dict[int, tuple[bytes, Metric]] = {}

    def start(self, state: State) -> None:
        """Start from a penalised fit of every stick."""
        tasks: list[Task] = []
        for stick, category in enumerate(state.order[:-1].tolist()):
            own = {name: values[category] for name, values in state.parameters.items()}
            roles = self.roles.on_stick(state.order, stick)
            tasks.append(partial(self.sampler.start_stick, own, roles))
        self.run(tasks)
        if self.evidences is not None:
            for record in state.parameters["adaptation"]:
                trust(record)

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        found = np.zeros((len(state.order), len(self.statistics)), dtype=np.int64)
        tasks: list[Task] = []
        for stick, category in enumerate(state.order[:-1].tolist()):
            own = {name: values[category] for name, values in state.parameters.items()}
            roles = self.roles.on_stick(state.order, stick)
            counts = found[stick]
            if self.evidences is None:
                task: Task = partial(self._follow, own, category, roles, stick, keys, counts)
            else:
                plan = self.evidences.plan(category, members(state.order[stick + 1 :]))
                assert plan is not None
                task = partial(self._follow_plan, own, plan, roles, stick, keys, counts)
            tasks.append(task)
        self.run(tasks)
        self.counted += found.sum(axis=0)

    def _follow(
        self,
        own: Parameters,
        category: int,
        roles: NDArray[np.int8],
        stick: int,
        keys: Keys,
        found: NDArray[np.int64],
    ) -> None:
        """One trajectory; what it did is counted in `found`."""
        sampler, rows = self.sampler, self.sampler.rows
        record = own["adaptation"]
        adapts = 0 < keys.sweep <= self.n_warmup
        rate_prior = sampler.rate_prior(own)
        prior = (sampler.ard, self.shape, rate_prior, sampler.hypers)
        # sticks of the other moves are numbered up to the number of categories
        name = stick + 2 * rows.n_categories
        position = position_of(own)
        if adapts and len(positions_in_use(record)) == 0:
            begin(record, position)
        on_stick = stick_rows(rows, roles)
        with _space(sampler, on_stick, len(position)) as (work, scratch):
            metric = self._metric(category, roles, record, on_stick, prior, work)
            step = step_of(record, adapts)
            n_gradients, acceptance, moved, diverged = follow(
                on_stick, prior, work, metric, step, keys.at(name), scratch, position
            )
        found[:] = 1, moved, n_gradients, diverged
        if adapts and n_gradients > 0:
            gathers, ends = keys.sweep in self.gathering, keys.sweep in self.ends
            adapt(record, position, acceptance, gathers, ends)
        take_position(position, own, bool(rate_prior[0] > 0))
        self._draw_precisions(own, keys, name)

    def _follow_plan(
        self,
        own: Parameters,
        plan: AnnealingPlan,
        roles: NDArray[np.int8],
        stick: int,
        keys: Keys,
        found: NDArray[np.int64],
    ) -> None:
        """The same in standard coordinates, with the metric of a plan."""
        sampler = self.sampler
        record, rate_prior = own["adaptation"], sampler.rate_prior(own)
        adapts = 0 < keys.sweep <= self.n_warmup
        prior = sampler.shape, rate_prior, sampler.hypers
        name = stick + 2 * sampler.rows.n_categories
        position = standard_of(own, rate_prior)
        rows = stick_rows(sampler.rows, roles)
        step = plan.steps[-1] * step_of(record, adapts)
        with _space(sampler, rows, len(position)) as (work, scratch):
            n_gradients, acceptance, moved = follow_standard(
                rows, prior, work, plan.factors[-1], step, keys.at(name), scratch, position
            )
        found[:3] = 1, moved, n_gradients
        if n_gradients == 0:
            return
        if adapts:
            adapt(record, position[:0], acceptance, False, False)
        take_standard(position, rate_prior, own)
        self._draw_precisions(own, keys, name)

    def _draw_precisions(self, own: Parameters, keys: Keys, name: int) -> None:
        """Precisions given the rest; rates are part of the position."""
        if self.sampler.ard:
            given = own["coef"], ALL, self.sampler.shape, np.zeros(2), *keys, name
            draw_precisions(*given, own["precision"], own["rate"])

    def _metric(self, category: int, roles, record, on_stick, prior, work) -> Metric:
        """That of the positions in use, for the rows on this stick."""
        positions = positions_in_use(record)
        made_from = positions.tobytes() + roles.tobytes()
        known = self.metrics.get(category)
        if known is None or known[0] != made_from:
            found = metric_of(on_stick, prior, positions, work)
            if in_single(work):
                found = found._replace(factors=found.factors.astype(np.float32))
            known = made_from, found
            self.metrics[category] = known
        return known[1]


def _space(sampler: SoftplusSampler, rows: StickRows, n: int) -> Lent:
    """Work space of the log-posterior, and scratch of a trajectory in `n` coordinates."""

    def make() -> tuple:
        return posterior_space(sampler.size, *rows.blocks.shape[1:]), np.zeros((N_SCRATCH, n))

    kind = ("softplus", *sampler.size, rows.blocks.shape[2], "trajectory")
    return sampler.rows.spaces.lent(kind, make)
