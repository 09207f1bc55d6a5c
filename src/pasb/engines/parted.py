"""Chains on rows that are elsewhere: all of them as one team, with passes over the rows in common.

Rows stay where they are, in parts (`pasb.sampling.row_sums`). The chains are askings
(`pasb.sampling.asked_chain`), and what all of them ask for at the same time is one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.binary.linear import LinearModel, LinearSampler
from pasb.binary.row_requests import Answer, Request
from pasb.binary.softplus import Softplus
from pasb.engines.cost import RunCost
from pasb.errors import EngineError
from pasb.evidences.approximations import Approximations
from pasb.evidences.asked_sticks import AskedSticks, sample_rows
from pasb.moves.move import State, Tally
from pasb.numerics.asking import Ask, Asking, answered_by, together
from pasb.numerics.row_groups import by_category
from pasb.sampling.asked_chain import BATCH, AskedSweeps
from pasb.sampling.asked_softplus import SoftplusSweeps
from pasb.sampling.chain import Chain
from pasb.sampling.engine import AfterSweep, Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import phase
from pasb.sampling.row_sums import PartedRows
from pasb.variates.scalar import uniform_at

MOST_COLUMNS = 2000  # a Newton step has their square


class PartedEngine(Engine):
    """All chains as one team; `n_jobs` threads of this process search orders."""

    slice_seconds = 1.0
    batch = BATCH  # sweeps after which chains wait for each other

    def __init__(self, n_jobs: int = 1):
        self.n_jobs = n_jobs
        # by the identity of the chain
        self.sweepers: dict[int, AskedSweeps | SoftplusSweeps] = {}
        self.rows: dict[int, PartedRows] = {}  # by their identity

    def chains(self, problems: Sequence[Problem], schedule: Schedule) -> list[Chain]:  # noqa: D102
        shared: dict[int, tuple[AskedSticks, Ask]] = {}
        out = []
        for k, problem in enumerate(problems):
            check_problem(problem)
            sampler = problem.sampler()
            assert isinstance(sampler, LinearSampler)
            if id(problem) not in shared:
                shared[id(problem)] = self._explored(problem, sampler)
            sweeps = AskedSweeps(problem, *shared[id(problem)])
            guards = dict.fromkeys(sampler.guards, 0)
            chain = Chain(k, problem, schedule, Tally([sweeps]), guards, sampler.start)
            self.sweepers[id(chain)] = sweeps
            out.append(chain)
        phase(RunCost.of(out).words())
        return out

    def _explored(self, problem: Problem, sampler: LinearSampler) -> tuple[AskedSticks, Ask]:
        """What is known of the sticks of a problem, and who answers its requests."""
        rows = problem.rows
        assert isinstance(rows, PartedRows)
        assert rows.row_sums is not None
        self.rows[id(rows)] = rows
        ask = partial(rows.row_sums.ask, link=sampler.link)
        few = rows.row_sums.at_most(sample_rows(rows.n_categories))
        own = problem.model.sampler(few)
        assert isinstance(own, LinearSampler)
        own.reserve(self.n_jobs)
        counts = by_category(np.diff(few.bounds), few.groups, few.n_categories).astype(np.float64)
        sample = Approximations(own, counts, few.n_columns, problem.roles, self.n_jobs)
        sample.time_is_up = self.time_is_up

        def ask_in_time(requests: list[Request]) -> list[Answer]:
            sample.check_time()
            return ask(requests)

        sticks = AskedSticks(sample, sampler.prior)
        answered_by(ask_in_time, sticks.explored(problem.fixed_order))
        return sticks, ask

    def teams(self, chains: Sequence[Chain]) -> list[list[Chain]]:  # noqa: D102
        return [list(chains)]

    def resume(self, chain: Chain) -> None:  # noqa: D102
        assert chain.state is not None
        sweeps = self.sweepers[id(chain)]
        answered_by(sweeps.ask, sweeps.resumed(chain.state))

    def advance(  # noqa: D102
        self,
        team: Sequence[Chain],
        until: int,
        seconds: float = float("inf"),
        after_sweep: AfterSweep | None = None,
    ) -> None:
        until = min(until, team[0].schedule.n_sweeps)
        deadline = monotonic() + seconds
        for chain in team:
            if chain.state is None:
                chain.state = self._start(chain)
        while any(chain.n_done < until for chain in team):
            least = min(chain.n_done for chain in team)
            behind = [chain for chain in team if chain.n_done == least]
            end = (least // self.batch + 1) * self.batch
            goals = {until, end, *(chain.n_done for chain in team)}
            goal = min(goal for goal in goals if goal > least)
            stopped: list[Chain] = []
            each = [self._sweeps(chain, goal, after_sweep, stopped) for chain in behind]
            ask = self.sweepers[id(behind[0])].ask
            try:
                answered_by(ask, together(each))
            except np.linalg.LinAlgError as error:
                raise behind[0].diverged(str(error)) from error
            if stopped or monotonic() > deadline:
                return

    def _start(self, chain: Chain) -> State:
        sweeps, keys, problem = self.sweepers[id(chain)], chain.first_keys, chain.problem
        assert isinstance(sweeps, AskedSweeps)
        n = problem.rows.n_categories
        if problem.fixed_order is not None:
            order = problem.fixed_order.copy()
        else:
            order = sweeps.sticks.first_order(
                np.array([uniform_at(keys.at(n), j) for j in range(n)])
            )
        state = State(order, chain.parameters_to_start_from(keys))
        sweeps.start_at(state, keys)
        return state

    def _sweeps(
        self, chain: Chain, goal: int, after_sweep: AfterSweep | None, stopped: list[Chain]
    ) -> Asking[None]:
        """The sweeps of a chain up to a goal within its batch."""
        state, sweeps = chain.state, self.sweepers[id(chain)]
        assert state is not None

        def after() -> bool:
            chain.after_sweep()
            if after_sweep is not None and after_sweep(chain):
                stopped.append(chain)
                return True
            return False

        keys = Keys(chain.schedule.seed, chain.index, chain.n_done + 1)
        return sweeps.sweeps(state, keys, goal, after)

    def __exit__(self, *exception: object) -> None:
        for rows in self.rows.values():
            if rows.row_sums is not None:
                rows.row_sums.close()


def check_problem(problem: Problem) -> None:
    """Refuse what needs rows at hand."""
    if not isinstance(problem.rows, PartedRows):
        raise EngineError("this engine needs rows in parts: fit a Dask collection or Parquet files")
    model = problem.model
    if not isinstance(model, LinearModel | Softplus):
        raise EngineError(
            f"{type(model).__name__} sticks need all rows in memory: logistic, robit and softplus "
            "models can do without"
        )
    for bad, setting in (
        (problem.scheme == "paper", "scheme='paper'"),
        (problem.augmented, "sticks='augmented'"),
        (problem.swaps_only, "order='swap'"),
        (isinstance(model, Softplus) and model.prune, "prune=True"),
        (isinstance(model, Softplus) and model.moves != "mixed", "moves='gibbs'"),
    ):
        if bad:
            raise EngineError(f"{setting} needs all rows in memory: use engine='cpu' with an array")
    if problem.rows.n_columns > MOST_COLUMNS:
        raise EngineError(
            f"{problem.rows.n_columns} columns are too many for rows in parts, which take up to "
            f"{MOST_COLUMNS}: use fewer columns, or engine='cpu' with an array"
        )
