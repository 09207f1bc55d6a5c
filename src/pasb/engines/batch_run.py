"""A run whose chains advance together, as one batch on a GPU.

The same callbacks, progress, checkpoints and draws as with chains in threads. The host keeps
what is kept of the draws; all other parameters come from the device when a checkpoint is written
and at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

import numpy as np

from pasb.binary.base import Keys
from pasb.engines.device import array_module
from pasb.engines.pilot import Pilot
from pasb.engines.softplus_arrays import Place
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.sampling.chain import Chain
from pasb.sampling.progress import Progress
from pasb.sampling.run import CHECKPOINT_SECONDS, Run
from pasb.storage.checkpoint import Checkpoint

SHOW_SECONDS = 0.25


@dataclass
class BatchRun(Run):
    """The state of one run on a GPU."""

    def go(self, folder: Checkpoint | None) -> None:
        """Advance all chains to their end, or until stopped."""
        array_module()  # complains before anything takes time
        with (
            ThreadPoolExecutor(1, thread_name_prefix="pasb") as pool,
            Progress(self.chains, self.show_progress) as progress,
        ):
            # an interrupt comes in this thread; the other one then finishes its sweep
            future = pool.submit(self._all, folder, progress)
            try:
                future.result()
            except KeyboardInterrupt:
                self.stopped.set()
                future.result()
            except BaseException:
                self.stopped.set()
                raise

    def _all(self, folder: Checkpoint | None, progress: Progress) -> None:
        for chain in self.chains:
            if chain.state is None:
                chain.state = chain.sweeper.start(Keys(chain.schedule.seed, chain.index, 0))
                if isinstance(chain.sweeper.surrogate, Pilot):
                    chain.sweeper.surrogate.fill(chain.state)
        while not self.stopped.is_set() and not all(chain.finished for chain in self.chains):
            for chains, until in self._batches():
                self._advance(chains, until, folder, progress)

    def _batches(self) -> Iterator[tuple[list[Chain], int]]:
        """Chains that are equally far, and how far they go as one batch.

        All of them in one batch, unless a run that was killed left some behind, or tables
        have different numbers of chains.
        """
        behind = min(chain.n_done for chain in self.chains)
        goals = {chain.n_done for chain in self.chains} | {self.chains[0].schedule.n_sweeps}
        if self._settling:
            goals.add(self._settling)
        until = min(goal for goal in goals if goal > behind)
        tables: dict[int, list[Chain]] = {}
        for chain in self.chains:
            if chain.n_done == behind:
                tables.setdefault(id(chain.sweeper.problem.rows), []).append(chain)
        if len({len(chains) for chains in tables.values()}) == 1:
            yield [chain for chains in tables.values() for chain in chains], until
        else:
            for chains in tables.values():
                yield chains, until

    @property
    def _settling(self) -> int:
        return self.chains[0].sweeper.settling

    def _advance(
        self, chains: list[Chain], until: int, folder: Checkpoint | None, progress: Progress
    ) -> None:
        first = chains[0].sweeper
        settling = chains[0].n_done < self._settling
        places = [Place(c.sweeper.problem, c.schedule.seed, c.index) for c in chains]
        batch = SoftplusBatch(places, fits_reference=first.infers and (settling or not first.exact))
        states = [chain.state for chain in chains if chain.state is not None]
        batch.start([state.order for state in states], [state.parameters for state in states])
        shown = saved = monotonic()
        while chains[0].n_done < until and not self.stopped.is_set():
            self._sweep(batch, chains)
            if monotonic() - shown > SHOW_SECONDS:
                for chain in chains:
                    progress.show(chain)
                shown = monotonic()
            if folder is not None and monotonic() - saved > CHECKPOINT_SECONDS:
                self._fetch(batch, chains)
                for chain in chains:
                    self._save(chain, folder, now=True)
                saved = monotonic()
        self._fetch(batch, chains)
        for chain in chains:
            progress.show(chain)
            self._save(chain, folder, now=True)

    def _sweep(self, batch: SoftplusBatch, chains: list[Chain]) -> None:
        log_likelihoods = batch.sweep(chains[0].n_done + 1)
        if chains[0].keeps_next:
            self._fetch(batch, chains, chains[0].sweeper.problem.model.kept)
        for c, chain in enumerate(chains):
            state, accepted = chain.state, int(batch.swaps_accepted[c])
            assert state is not None
            state.log_likelihood = float(log_likelihoods[c])
            state.order[:] = batch.orders[c]
            state.swaps_accepted += accepted
            state.swaps_proposed += batch.infers[c] * chain.sweeper.problem.n_swaps
            chain.after_sweep(accepted)
            if self.callbacks:
                self._after_sweep(chain)

    def _fetch(
        self, batch: SoftplusBatch, chains: list[Chain], names: tuple[str, ...] | None = None
    ) -> None:
        """Bring parameters to the host; all of them, and the guards' counts, by default."""
        for name, values in (batch.parameters(names) if names else batch.parameters()).items():
            for chain, own in zip(chains, values, strict=True):
                assert chain.state is not None
                target = chain.state.parameters[name]
                target[...] = own[..., : target.shape[-1]]
                if not np.isfinite(target).all():
                    raise chain.diverged(f"{name} is not finite")
        if names is None:
            guards = chains[0].sweeper.sampler.guards
            for name, count in batch.take_guards().items():
                guards[name] += count
