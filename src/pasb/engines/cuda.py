"""Softplus chains as one batch on a GPU, rows and state resident there.

All chains are one group. The host keeps what is kept of the draws; all other parameters come from
the device when a checkpoint is written and at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import numpy as np

from pasb.binary.binary_model import BinarySampler
from pasb.engines.device import array_module
from pasb.engines.pilot import Pilot, with_pilots
from pasb.engines.softplus_arrays import BatchChain
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.errors import EngineError
from pasb.evidences.evidences import Evidences
from pasb.moves.move import State, Tally
from pasb.moves.swap import Swap
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
        self.batch: SoftplusBatch | None = None
        self.batched: list[Chain] = []  # the chains of that batch

    def chains(self, problems: Sequence[Problem], schedule: Schedule) -> list[Chain]:  # noqa: D102
        array_module()  # complains before anything takes time
        if any(problem.scheme == "paper" for problem in problems):
            raise EngineError(
                "engine='cuda' has no printed update: scheme='paper' needs engine='cpu'"
            )
        each = {id(problem): problem for problem in problems}
        surrogates = {name: problem.surrogate(self.n_jobs) for name, problem in each.items()}
        self.evidences |= with_pilots(each, surrogates, schedule.seed)
        out = []
        for k, problem in enumerate(problems):
            if id(problem.rows) not in self.samplers:
                self.samplers[id(problem.rows)] = problem.model.sampler(problem.rows)
            sampler = self.samplers[id(problem.rows)]
            swap = Swap(OrderTable.empty(problem.rows.n_categories), problem.n_swaps)
            guards = dict.fromkeys(sampler.guards, 0)
            out.append(Chain(k, problem, schedule, Tally([swap]), guards, sampler.start))
        return out

    def groups(self, chains: Sequence[Chain]) -> list[list[Chain]]:  # noqa: D102
        return [list(chains)]

    def resume(self, chain: Chain) -> None:
        """Nothing follows from a state but what a batch takes from it."""

    def advance(  # noqa: D102
        self,
        group: Sequence[Chain],
        until: int,
        seconds: float = float("inf"),
        after_sweep: AfterSweep | None = None,
    ) -> None:
        until = min(until, group[0].schedule.n_sweeps)
        deadline = monotonic() + seconds
        for chain in group:
            if chain.state is None:
                chain.state = self._start(chain)
        while any(chain.n_done < until for chain in group):
            chains, goal = self._behind(group, until)
            self._enter(chains)
            while chains[0].n_done < goal:
                stop = self._sweep(chains, after_sweep)
                if stop or monotonic() > deadline:
                    return

    def _start(self, chain: Chain) -> State:
        evidences = self.evidences[id(chain.problem)]
        order = chain.problem.first_order(evidences, chain.first_keys)
        state = State(order, chain.parameters_to_start_from(chain.first_keys))
        if isinstance(evidences, Pilot):
            evidences.fill(state)
        return state

    def _settling(self, chain: Chain) -> int:
        starts_well = self.evidences[id(chain.problem)] is not None
        return 0 if starts_well or not chain.problem.infers else chain.schedule.settling

    def _behind(self, group: Sequence[Chain], until: int) -> tuple[list[Chain], int]:
        """The chains that are least far, and how far they go as one batch.

        All of them in one batch, unless a run that was killed left some behind, or tables have
        different numbers of chains.
        """
        least = min(chain.n_done for chain in group)
        goals = {until, self._settling(group[0]), *(chain.n_done for chain in group)}
        tables: dict[int, list[Chain]] = {}
        for chain in group:
            if chain.n_done == least:
                tables.setdefault(id(chain.problem.rows), []).append(chain)
        same = len({len(chains) for chains in tables.values()}) == 1
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
        members = [BatchChain(chain.problem, chain.schedule.seed, chain.index) for chain in chains]
        self.batch, self.batched = SoftplusBatch(members, fits_reference=fits), chains
        states = [chain.state for chain in chains if chain.state is not None]
        self.batch.start([state.order for state in states], [state.parameters for state in states])

    def _sweep(self, chains: list[Chain], after_sweep: AfterSweep | None) -> bool:
        """One sweep of all chains of the batch; whether the run shall stop."""
        batch = self.batch
        assert batch is not None
        log_likelihoods = batch.sweep(chains[0].n_done + 1)
        if chains[0].keeps_next:
            self._bring(chains[0].problem.model.kept)
        stop = False
        for c, chain in enumerate(chains):
            assert chain.state is not None
            chain.state.log_likelihood = float(log_likelihoods[c])
            chain.state.order[:] = batch.orders[c]
            proposed = batch.infers[c] * chain.problem.n_swaps
            chain.tally.total += proposed, batch.swaps_accepted[c]
            chain.after_sweep()
            if after_sweep is not None:
                stop |= after_sweep(chain)
        return stop

    def fetch(self, group: Sequence[Chain]) -> None:
        """Bring all parameters and the guards' counts to the host."""
        if self.batch is None:
            return
        self._bring(None)
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
