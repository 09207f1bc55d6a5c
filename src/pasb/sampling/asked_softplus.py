"""Sweeps of softplus sticks whose rows are elsewhere, with few passes over the rows.

Latents are integrated out, so what a sweep needs of the rows are sums: a log-likelihood and its
gradient for each step of a trajectory, and the order table. There is no update of latents, which
would have to be kept where the rows are; trajectories alone move coefficients and weights. The
moves of a sweep, each of which leaves the posterior invariant:

1. A trajectory for every stick (`pasb.moves.asked_softplus_trajectory`). A pass for each gradient,
   of all sticks of all chains.
2. Precisions of the sticks from their full conditional, and the rates of their layers from theirs;
   then the mean of the rates (`pasb.moves.mean_rate`). No pass.
3. Where the order is inferred, the reference's parameters from the prior
   (`pasb.moves.draw_reference`). No pass.
4. The order table, and plain swaps of the order (`pasb.moves.swap`). One pass, which also draws in
   how many rows each expert is active; nothing else depends on that.

Random numbers are named by their sweep and by the number of a row, so it does not matter where a
run was cut or where the rows are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.softplus_link import log_weights
from pasb.binary.softplus_metric import Metric
from pasb.binary.softplus_posterior import position_of, take_position
from pasb.binary.softplus_prior import ALL, draw_precisions
from pasb.binary.softplus_requests import TableRequest
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.moves.asked_softplus_trajectory import (
    Density,
    SampledMetric,
    followed,
    length_of_sweep,
)
from pasb.moves.draw_reference import DrawReference
from pasb.moves.mean_rate import MeanRate
from pasb.moves.move import Move, State
from pasb.moves.softplus_trajectory import STATISTICS
from pasb.moves.swap import Swap
from pasb.numerics.adaptation import (
    adapt,
    begin,
    gathering_sweeps,
    positions_in_use,
    step_of,
    window_ends,
)
from pasb.numerics.asking import Ask, Asking, answered_by, together
from pasb.orders.table import OrderTable
from pasb.sampling.problem import Problem
from pasb.sticks import ABSENT

# mypy: disable-error-code="call-arg"


class SoftplusSweeps(Move):
    """The sweeps of one chain.

    Parameters
    ----------
    problem : Problem
    sampler : SoftplusSampler
        Of this chain, for a sample of the rows.
    metrics : SampledMetric
    n_warmup : int
        Sweeps in which step and metric are adapted.
    ask : callable
        Answers requests, see `pasb.binary.softplus_requests`.

    Attributes
    ----------
    swap : Swap
        Counts for itself.
    """

    statistics = STATISTICS
    evaluates = True

    def __init__(
        self,
        problem: Problem,
        sampler: SoftplusSampler,
        metrics: SampledMetric,
        n_warmup: int,
        ask: Ask,
    ):
        super().__init__()
        self.problem, self.sampler, self.metrics, self.ask = problem, sampler, metrics, ask
        self.n_warmup, self.ends = n_warmup, window_ends(n_warmup)
        self.gathering = gathering_sweeps(self.ends)
        self.shape = sampler.shape if sampler.ard else float(sampler.model.precision)
        n = problem.rows.n_categories
        self.success, self.failure = np.zeros((2, n, problem.rows.n_groups))
        groups = problem.rows.groups
        self.order_table = OrderTable.of(self.success, self.failure, problem.direction, groups)
        self.swap, self.reference = Swap(self.order_table, problem.n_swaps), DrawReference(sampler)
        self.mean_rate = MeanRate()
        self.density = Density(sampler.size)
        # the metric of every category, and what it was made from
        self.known: dict[int, tuple[bytes, Metric]] = {}

    def __call__(self, state: State, keys: Keys) -> None:
        """One sweep of this chain alone."""
        answered_by(self.ask, self.sweeps(state, keys, keys.sweep, lambda: False))

    def resumed(self, state: State) -> Asking[None]:
        """Find out what follows from a state that is new, or was read from a checkpoint."""
        yield from self._tabulated(state, None)
        state.log_likelihood = self.order_table.log_likelihood(state.order)

    def sweeps(
        self, state: State, keys: Keys, last: int, after: Callable[[], bool]
    ) -> Asking[None]:
        """Sweep from the sweep of `keys` to `last`.

        `after` is called after every sweep, and ends it by returning True.
        """
        for sweep in range(keys.sweep, last + 1):
            own = keys._replace(sweep=sweep)
            length = length_of_sweep(own.seed, sweep, len(state.order))
            sticks = range(len(state.order) - 1)
            yield from together([self._travelled(state, stick, length, own) for stick in sticks])
            if self.sampler.model.shares_rate:
                self.mean_rate(state, own)
            if self.problem.infers:
                self.reference(state, own)
            yield from self._tabulated(state, own)
            if self.problem.infers:
                self.swap(state, own)
            state.log_likelihood = self.order_table.log_likelihood(state.order)
            self.sampler.watch(state.parameters, state.order[:-1])
            if after():
                return

    def _travelled(self, state: State, stick: int, length: float, keys: Keys) -> Asking[None]:
        """A trajectory of a stick, and what is drawn given where it led."""
        sampler, category = self.sampler, int(state.order[stick])
        own = {name: values[category] for name, values in state.parameters.items()}
        roles = self.problem.roles.on_stick(state.order, stick)
        rate_prior, record = sampler.rate_prior(own), own["adaptation"]
        prior = sampler.ard, self.shape, rate_prior, sampler.hypers
        adapts = 0 < keys.sweep <= self.n_warmup
        position = position_of(own)
        if adapts and len(positions_in_use(record)) == 0:
            begin(record, position)
        metric, step = self._metric(category, roles, record, prior), step_of(record, adapts)
        # sticks of the other moves are numbered up to the number of categories
        name = stick + 2 * len(state.order)
        arrival = yield from followed(
            self.density, roles, prior, metric, step, length, keys.at(name), position
        )
        self.counted += 1, arrival.moved, arrival.n_gradients, arrival.diverged
        if adapts and arrival.n_gradients > 0:
            gathers, ends = keys.sweep in self.gathering, keys.sweep in self.ends
            adapt(record, arrival.position, arrival.acceptance, gathers, ends)
        take_position(arrival.position, own, bool(rate_prior[0] > 0))
        if sampler.ard:
            given = own["coef"], ALL, sampler.shape, rate_prior, *keys, name
            draw_precisions(*given, own["precision"], own["rate"])

    def _metric(
        self, category: int, roles: NDArray[np.int8], record: NDArray[np.float64], prior: tuple
    ) -> Metric:
        """That of the positions in use, for the rows on this stick."""
        positions = positions_in_use(record)
        made_from = positions.tobytes() + roles.tobytes()
        known = self.known.get(category)
        if known is None or known[0] != made_from:
            known = made_from, self.metrics.of(roles, prior, positions, self.density.work)
            self.known[category] = known
        return known[1]

    def _tabulated(self, state: State, keys: Keys | None) -> Asking[None]:
        """Bring the order table up to date, and with keys draw where experts are active."""
        order, parameters = state.order, state.parameters
        n = len(order)
        on_sticks = order.tolist() if self.problem.infers else order[:-1].tolist()
        answers = yield [
            self._line(parameters, c, self._roles(state.order, stick, keys), stick, keys)
            for stick, c in enumerate(on_sticks)
        ]
        for c, answer in zip(on_sticks, answers, strict=True):
            self.success[c], self.failure[c] = answer.success, answer.failure
            if keys is not None and c != order[n - 1]:
                parameters["active"][c] = answer.active

    def _roles(self, order: NDArray[np.int64], stick: int, keys: Keys | None) -> NDArray[np.int8]:
        """Of the rows where experts may be active: none on the last stick, nor without keys."""
        if keys is None or stick == len(order) - 1:
            return np.full(self.problem.rows.n_groups, ABSENT, dtype=np.int8)
        return self.problem.roles.on_stick(order, stick)

    def _line(
        self,
        parameters: Parameters,
        category: int,
        roles: NDArray[np.int8],
        stick: int,
        keys: Keys | None,
    ) -> TableRequest:
        coef, weight = parameters["coef"][category], parameters["weight"][category]
        # sticks of the other moves are numbered up to three times the number of categories
        name = stick + 3 * self.problem.rows.n_categories + 2
        key = np.uint64(0) if keys is None else keys.at(name)
        return TableRequest(roles, coef.copy(), log_weights(weight), key)
