"""Softplus chains on rows that are elsewhere: trajectories, with a pass for all of them.

As `pasb.engines.parted`, with the sweeps of `pasb.sampling.asked_softplus`. What is needed before
the first sweep comes from a sample of the rows: which order to start from, penalised fits of its
sticks, and metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.engines.parted import PartedEngine, check_problem
from pasb.evidences.asked_sticks import SAMPLE_ROWS
from pasb.evidences.evidences import Evidences
from pasb.evidences.penalised import FittedEvidences
from pasb.moves.asked_softplus_trajectory import SampledMetric
from pasb.moves.move import State, Tally
from pasb.numerics.asking import answered_by, together
from pasb.numerics.rows import Rows
from pasb.sampling.asked_softplus import SoftplusSweeps
from pasb.sampling.chain import Chain
from pasb.sampling.engine import AfterSweep
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.row_sums import PartedRows
from pasb.sampling.softplus_sums import softplus_ask


class PartedSoftplus(PartedEngine):
    """All chains as one team; `n_jobs` threads of this process search orders and starts."""

    batch = 1  # all chains go through a sweep together

    def __init__(self, n_jobs: int = 1):
        super().__init__(n_jobs)
        self.samples: dict[int, tuple[Rows, SampledMetric]] = {}  # by the identity of the rows
        self.evidences: dict[int, Evidences | None] = {}  # by that of the problem

    def chains(self, problems: Sequence[Problem], schedule: Schedule) -> list[Chain]:  # noqa: D102
        out = []
        for k, problem in enumerate(problems):
            check_problem(problem)
            sample, metrics = self._sample_of(problem)
            sampler = problem.model.sampler(sample)
            assert isinstance(sampler, SoftplusSampler)
            if id(problem) not in self.evidences:
                self.evidences[id(problem)] = self._evidences(problem, sample)
            ask = softplus_ask(_row_sums(problem))
            sweeps = SoftplusSweeps(problem, sampler, metrics, schedule.n_warmup, ask)
            moves = [sweeps, sweeps.swap] if problem.infers else [sweeps]
            chain = Chain(k, problem, schedule, Tally(moves), sampler.guards, sampler.start)
            self.sweepers[id(chain)] = sweeps
            out.append(chain)
        return out

    def advance(  # noqa: D102
        self,
        team: Sequence[Chain],
        until: int,
        seconds: float = float("inf"),
        after_sweep: AfterSweep | None = None,
    ) -> None:
        new = [chain for chain in team if chain.state is None]
        if new:
            self._start_all(new)
        super().advance(team, until, seconds, after_sweep)

    def _sample_of(self, problem: Problem) -> tuple[Rows, SampledMetric]:
        rows = problem.rows
        if id(rows) not in self.samples:
            assert isinstance(rows, PartedRows)
            self.rows[id(rows)] = rows
            row_sums = _row_sums(problem)
            sample = row_sums.at_most(SAMPLE_ROWS)
            self.samples[id(rows)] = sample, SampledMetric(sample, row_sums.counts)
        return self.samples[id(rows)]

    def _evidences(self, problem: Problem, sample: Rows) -> Evidences | None:
        """Those from which chains start, of all rows as far as a sample tells."""
        if not problem.searches:
            return None
        evidences = FittedEvidences(problem.model, sample, problem.roles, self.n_jobs)
        evidences.factor *= problem.rows.n_rows / sample.n_rows
        evidences.time_is_up = self.time_is_up
        return evidences

    def _start_all(self, chains: Sequence[Chain]) -> None:
        """Start new chains from penalised fits of their sticks to the sample."""
        tasks, resumed = [], []
        for chain in chains:
            keys, problem = chain.first_keys, chain.problem
            order = problem.first_order(self.evidences[id(problem)], keys)
            chain.state = state = State(order, chain.parameters_to_start_from(keys))
            sweeps = self.sweepers[id(chain)]
            assert isinstance(sweeps, SoftplusSweeps)
            for stick, category in enumerate(order[:-1].tolist()):
                own = {name: values[category] for name, values in state.parameters.items()}
                roles = problem.roles.on_stick(order, stick)
                tasks.append(partial(sweeps.sampler.start_stick, own, roles))
            resumed.append(sweeps.resumed(state))
        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            for future in [pool.submit(task) for task in tasks]:
                future.result()
        answered_by(sweeps.ask, together(resumed))


def _row_sums(problem: Problem):
    rows = problem.rows
    assert isinstance(rows, PartedRows)
    assert rows.row_sums is not None
    return rows.row_sums
