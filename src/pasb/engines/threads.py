"""Chains in threads, rows in memory: the kernels release Python's lock.

Every chain is a team of its own and has a `Sweeper`. As many chains run at the same time as there
are threads; threads that have no chain, or none any more, help the others within their sweeps
(`pasb.numerics.helpers`). Sums over rows are taken block by block in a fixed order, so the draws do
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.numerics.helpers import Helpers
from pasb.sampling.chain import Chain
from pasb.sampling.engine import AfterSweep, Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.sweep import Sweeper


class ThreadEngine(Engine):
    """Chains in `n_jobs` threads."""

    def __init__(self, n_jobs: int = 1):
        self.n_jobs = n_jobs
        self.helpers = Helpers()
        self.sweepers: dict[int, Sweeper] = {}  # by the identity of the chain

    def chains(self, problems: Sequence[Problem], schedule: Schedule) -> list[Chain]:  # noqa: D102
        shared: dict[int, tuple] = {}
        out = []
        for problem in problems:
            if id(problem) not in shared:
                exact = problem.scheme == "exact"
                shared[id(problem)] = (
                    problem.approximations(self.n_jobs) if exact else None,
                    problem.surrogate(self.n_jobs),
                    problem.annealed(self.n_jobs),
                )
                for store in shared[id(problem)]:
                    if store is not None:
                        store.time_is_up = self.time_is_up
        # all chains count the same moves: paths between orders in every direction, or in none
        anneals = all(annealed is not None for *_, annealed in shared.values())
        for k, problem in enumerate(problems):
            approximations, surrogate, annealed = shared[id(problem)]
            annealed = annealed if anneals else None
            settings = schedule.settling, self.helpers, schedule.n_warmup, annealed
            sweeper = Sweeper(problem, approximations, surrogate, *settings)
            sampler = sweeper.sampler
            chain = Chain(k, problem, schedule, sweeper.tally, sampler.guards, sampler.start)
            self.sweepers[id(chain)] = sweeper
            out.append(chain)
        return out

    def teams(self, chains: Sequence[Chain]) -> list[list[Chain]]:  # noqa: D102
        return [[chain] for chain in chains]

    def begin(self, n_teams: int) -> int:  # noqa: D102
        self.helpers.reset(max(0, self.n_jobs - n_teams))
        n_threads = max(1, min(self.n_jobs, len(self.sweepers)))
        for sweeper in self.sweepers.values():
            sweeper.sampler.reserve(n_threads)
        return n_threads

    def team_ended(self, n_left: int) -> None:  # noqa: D102
        if n_left < self.n_jobs:
            self.helpers.add()  # no chain waits for this thread

    def resume(self, chain: Chain) -> None:  # noqa: D102
        assert chain.state is not None
        self.sweepers[id(chain)].resume(chain.state)

    def advance(  # noqa: D102
        self,
        team: Sequence[Chain],
        until: int,
        seconds: float = float("inf"),
        after_sweep: AfterSweep | None = None,
    ) -> None:
        (chain,) = team
        sweeper = self.sweepers[id(chain)]
        until = min(until, chain.schedule.n_sweeps)
        deadline = monotonic() + seconds
        if chain.state is None:
            chain.state = sweeper.start(chain.first_keys)
        state, seed, index = chain.state, chain.schedule.seed, chain.index
        while chain.n_done < until:
            try:
                sweeper.sweep(state, Keys(seed, index, chain.n_done + 1))
            except np.linalg.LinAlgError as error:
                raise chain.diverged(str(error)) from error
            chain.after_sweep()
            if after_sweep is not None and after_sweep(chain):
                break
            if monotonic() > deadline:
                break

    def __exit__(self, *exception: object) -> None:
        self.helpers.__exit__(None, None, None)
