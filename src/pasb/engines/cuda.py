"""Chains of softplus sticks or support vector machines as one batch on a GPU, rows there too.

All chains are one team. The host keeps what is kept of the draws; all other parameters come from
the device when a checkpoint is written and at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinarySampler
from pasb.binary.softplus import Softplus
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.support_vector import SupportVector
from pasb.engines.device import array_module
from pasb.engines.path_sizes import is_dense
from pasb.engines.pilot import Pilot, with_pilots
from pasb.engines.softplus_arrays import BatchChain
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.engines.softplus_paths import PathError
from pasb.engines.support_vector_batch import SupportVectorBatch
from pasb.errors import EngineError
from pasb.evidences.evidences import Evidences
from pasb.moves.gibbs import Gibbs
from pasb.moves.move import Move, State, Tally
from pasb.moves.softplus_trajectory import SoftplusTrajectory
from pasb.moves.swap import Swap
from pasb.numerics.helpers import Helpers, TaskRunner
from pasb.orders.table import OrderTable
from pasb.sampling.chain import Chain
from pasb.sampling.engine import AfterSweep, Engine
from pasb.sampling.problem import Problem, Schedule


class CudaEngine(Engine):
    """All chains as one batch; `n_jobs` threads of the host prepare it."""

    slice_seconds = 0.25

    def __init__(self, n_jobs: int = 1):
        self.n_jobs = n_jobs
        self.evidences: dict[int, Evidences | None] = {}  # by the identity of the problem
        self.samplers: dict[int, BinarySampler] = {}  # by that of the rows; only to start from
        self.moves: dict[int, list[Move]] = {}  # by that of the chain
        self.helpers = Helpers()
        self.batch: SoftplusBatch | SupportVectorBatch | None = None
        self.batched: list[Chain] = []  # the chains of that batch

    def chains(self, problems: Sequence[Problem], schedule: Schedule) -> list[Chain]:  # noqa: D102
        array_module()  # complains before anything takes time
        if any(problem.scheme == "paper" for problem in problems):
            raise EngineError(
                "engine='cuda' has no printed update: scheme='paper' needs engine='cpu'"
            )
        each = {id(problem): problem for problem in problems}
        surrogates: dict[int, Evidences | None] = {
            name: problem.surrogate(self.n_jobs) for name, problem in each.items()
        }
        for store in surrogates.values():
            if store is not None:
                store.time_is_up = self.time_is_up
        if isinstance(problems[0].model, Softplus) and not has_trajectories(problems[0]):
            surrogates = with_pilots(each, surrogates, schedule.seed)
        self.evidences |= surrogates
        out = []
        for k, problem in enumerate(problems):
            if id(problem.rows) not in self.samplers:
                self.samplers[id(problem.rows)] = problem.model.sampler(problem.rows)
            sampler = self.samplers[id(problem.rows)]
            moves = self._moves(problem, sampler, schedule.n_warmup)
            guards = dict.fromkeys(sampler.guards, 0)
            chain = Chain(k, problem, schedule, Tally(moves), guards, sampler.start)
            self.moves[id(chain)] = moves
            out.append(chain)
        return out

    def _moves(self, problem: Problem, sampler: BinarySampler, n_warmup: int) -> list[Move]:
        """Those that count something; the batch does what they do, but for their starts."""
        out: list[Move] = []
        run = TaskRunner(self.helpers, True)
        if isinstance(problem.model, SupportVector):
            out.append(Gibbs(sampler, problem.roles, run))
        if has_trajectories(problem):
            assert isinstance(sampler, SoftplusSampler)
            out.append(SoftplusTrajectory(sampler, problem.roles, n_warmup, run))
        if problem.infers:
            out.append(Swap(OrderTable.empty(problem.rows.n_categories), problem.n_swaps))
        return out

    def teams(self, chains: Sequence[Chain]) -> list[list[Chain]]:  # noqa: D102
        return [list(chains)]

    def resume(self, chain: Chain) -> None:
        """Nothing follows from a state but what a batch takes from it."""

    def advance(  # noqa: D102
        self,
        team: Sequence[Chain],
        until: int,
        seconds: float = float("inf"),
        after_sweep: AfterSweep | None = None,
    ) -> None:
        until = min(until, team[0].schedule.n_sweeps)
        deadline = monotonic() + seconds
        new = [chain for chain in team if chain.state is None]
        if new:
            self._start(new)
        while any(chain.n_done < until for chain in team):
            chains, goal = self._behind(team, until)
            self._enter(chains)
            while chains[0].n_done < goal:
                stop = self._sweep(chains, after_sweep)
                if stop or monotonic() > deadline:
                    return

    def _start(self, chains: Sequence[Chain]) -> None:
        """Start new chains; moves that know better places than random ones run in threads."""
        states = [self._first_state(chain) for chain in chains]
        n_threads = min(self.n_jobs, len(chains))
        self.helpers.reset(self.n_jobs - n_threads)
        with ThreadPoolExecutor(n_threads, thread_name_prefix="pasb") as pool:
            list(pool.map(self._better, chains, states))
        for chain, state in zip(chains, states, strict=True):
            chain.state = state

    def _first_state(self, chain: Chain) -> State:
        evidences = self.evidences[id(chain.problem)]
        order = chain.problem.first_order(evidences, chain.first_keys)
        state = State(order, chain.parameters_to_start_from(chain.first_keys))
        if isinstance(evidences, Pilot):
            evidences.fill(state)
        return state

    def _better(self, chain: Chain, state: State) -> None:
        for move in self.moves[id(chain)]:
            move.start(state)

    def _settling(self, chain: Chain) -> int:
        starts_well = self.evidences[id(chain.problem)] is not None
        return 0 if starts_well or not chain.problem.infers else chain.schedule.settling

    def _behind(self, team: Sequence[Chain], until: int) -> tuple[list[Chain], int]:
        """The chains that are least far, and how far they go as one batch.

        All of them in one batch, unless a run that was killed left some behind, or tables have
        different numbers of chains.
        """
        least = min(chain.n_done for chain in team)
        goals = {until, self._settling(team[0]), *(chain.n_done for chain in team)}
        tables: dict[int, list[Chain]] = {}
        for chain in team:
            if chain.n_done == least:
                tables.setdefault(id(chain.problem.rows), []).append(chain)
        # chains of a batch also have metrics of one kind
        kinds = {_kind(own) for own in tables.values()}
        same = len(kinds) == 1
        chosen = list(tables.values()) if same else [next(iter(tables.values()))]
        return [chain for own in chosen for chain in own], min(g for g in goals if g > least)

    def _enter(self, chains: list[Chain]) -> None:
        """Put the chains on the device, unless they are there."""
        problem = chains[0].problem
        settles = chains[0].n_done < self._settling(chains[0])
        fits = problem.infers and settles
        if self.batch is not None:
            if chains == self.batched and fits == self.batch.fits_reference:
                return
            self.fetch(self.batched)
            self.batch = None  # its memory is free for the next one
        members = [BatchChain(chain.problem, chain.schedule.seed, chain.index) for chain in chains]
        if isinstance(problem.model, SupportVector):
            self.batch = SupportVectorBatch(members, fits_reference=fits)
        else:
            n_warmup = chains[0].schedule.n_warmup if has_trajectories(problem) else None
            self.batch = SoftplusBatch(members, fits_reference=fits, n_warmup=n_warmup)
        self.batched = chains
        states = [chain.state for chain in chains if chain.state is not None]
        self.batch.start([state.order for state in states], [state.parameters for state in states])

    def _sweep(self, chains: list[Chain], after_sweep: AfterSweep | None) -> bool:
        """One sweep of all chains of the batch; whether the run shall stop."""
        batch = self.batch
        assert batch is not None
        try:
            log_likelihoods = batch.sweep(chains[0].n_done + 1)
        except PathError as error:
            raise chains[error.chain].diverged(str(error)) from error
        if chains[0].keeps_next:
            self._bring(chains[0].problem.model.kept)
        stop = False
        for c, chain in enumerate(chains):
            assert chain.state is not None
            chain.state.log_likelihood = float(log_likelihoods[c])
            chain.state.order[:] = batch.orders[c]
            self._count(chain, batch.path_counts[c], int(batch.swaps_accepted[c]))
            chain.after_sweep()
            if after_sweep is not None:
                stop |= after_sweep(chain)
        return stop

    def _count(self, chain: Chain, of_paths: NDArray[np.int64], n_accepted: int) -> None:
        for move in self.moves[id(chain)]:
            if isinstance(move, Swap):
                move.counted += chain.problem.n_swaps, n_accepted
            else:
                move.counted += of_paths

    def fetch(self, team: Sequence[Chain]) -> None:
        """Bring all parameters and the guards' counts to the host."""
        if self.batch is None:
            return
        self._bring(None)
        for chain, own in zip(self.batched, self.batch.learned, strict=False):
            assert chain.state is not None
            chain.state.parameters["adaptation"][...] = own
        for chain, counts in zip(self.batched, self.batch.take_guards(), strict=True):
            for name, count in counts.items():
                chain.guards[name] += count

    def _bring(self, names: tuple[str, ...] | None) -> None:
        assert self.batch is not None
        found = self.batch.parameters(names) if names else self.batch.parameters()
        for name, values in found.items():
            for chain, own in zip(self.batched, values, strict=True):
                assert chain.state is not None
                target = chain.state.parameters[name]
                target[...] = own[..., : target.shape[-1]]
                if not np.isfinite(target).all():
                    raise chain.diverged(f"{name} is not finite")

    def __exit__(self, *exception: object) -> None:
        self.batch, self.batched = None, []
        self.helpers.__exit__(None, None, None)


def has_trajectories(problem: Problem) -> bool:
    """Whether sticks are followed along trajectories before they are updated."""
    return isinstance(problem.model, Softplus) and problem.model.moves == "mixed"


def _kind(chains: Sequence[Chain]) -> tuple[int, bool]:
    """What tables in one batch have in common: how many chains, and the kind of metric."""
    problem = chains[0].problem
    if not has_trajectories(problem):
        return len(chains), True
    n_experts, n_layers, n_columns = problem.model.shapes(problem.rows.n_columns)["coef"]
    return len(chains), is_dense(n_experts, n_layers, n_columns)
