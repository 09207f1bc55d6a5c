"""Run several chains on an engine: slices, callbacks, progress, checkpoints, stopping.

Chains advance in short slices, taking turns, so that they stay about equally far: an interrupted
run then has draws of all of them. No chain sees another, and none sees how it was sliced, so the
draws do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from numpy.typing import NDArray

from pasb.errors import CheckpointError
from pasb.numerics.helpers import one_blas_thread
from pasb.sampling.chain import Chain, SweepInfo, empty_trace
from pasb.sampling.draws import Draws, collect
from pasb.sampling.engine import Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import Progress
from pasb.storage.checkpoint import Checkpoint

CHECKPOINT_SECONDS = 10.0

Callback = Callable[[SweepInfo], bool | None]


def sample(
    problems: Sequence[Problem],
    schedule: Schedule,
    engine: Engine,
    *,
    callbacks: Sequence[Callback] = (),
    show_progress: bool = False,
    checkpoint: str | os.PathLike | None = None,
    fingerprint: dict | None = None,
) -> Draws:
    """Run the chains to their end, or until an interrupt or a callback stops them.

    Parameters
    ----------
    problems : sequence of Problem
        One for each chain; chains of the same problem share its evidences.
    schedule : Schedule
    engine : Engine
        Where chains run; no part of what must agree.
    callbacks : sequence of callables
        Called with a `SweepInfo` after every sweep of every chain, one call at a time;
        a true return value stops the run.
    show_progress : bool
    checkpoint : path, optional
        Folder to write to while sampling, and to resume from.
    fingerprint : dict, optional
        What must agree for the folder to be this run's.
    """
    with one_blas_thread(), engine:
        chains, trace = _with_trace(engine, problems, schedule)
        run = Run(engine, chains, list(callbacks), show_progress)
        if checkpoint is None:
            run.go(None)
        else:
            with Checkpoint.open(Path(checkpoint), fingerprint or {}) as folder:
                run.restore(folder)
                run.go(folder)
    return collect(chains, trace, run.stopped.is_set())


def sample_together(
    runs: Sequence[tuple[Sequence[Problem], Schedule]],
    engine: Engine,
    *,
    callbacks: Sequence[Callback] = (),
    show_progress: bool = False,
) -> list[Draws]:
    """Run the chains of several runs at the same time; on a GPU as one batch.

    Parameters
    ----------
    runs : sequence of (problems, schedule)
        What `sample` would take, with schedules of the same length. The draws are those of
        separate runs, to rounding.
    engine, callbacks, show_progress
        As in `sample`.
    """
    with one_blas_thread(), engine:
        each = [_with_trace(engine, *run) for run in runs]
        everything = [chain for own, _ in each for chain in own]
        run = Run(engine, everything, list(callbacks), show_progress)
        run.go(None)
    stopped = run.stopped.is_set()
    return [collect(own, trace, stopped) for own, trace in each]


def _with_trace(
    engine: Engine, problems: Sequence[Problem], schedule: Schedule
) -> tuple[list[Chain], dict[str, NDArray]]:
    """Chains, and the arrays that they fill."""
    chains = engine.chains(problems, schedule)
    n_statistics = len(chains[0].tally.names)
    trace = empty_trace(problems[0], schedule, n_statistics, len(chains))
    for k, chain in enumerate(chains):
        chain.fill({name: values[k] for name, values in trace.items()})
    return chains, trace


@dataclass
class Run:
    """The state of one call of `sample`."""

    engine: Engine
    chains: list[Chain]
    callbacks: list[Callback]
    show_progress: bool
    stopped: threading.Event = field(default_factory=threading.Event)
    n_saved: dict[int, int] = field(default_factory=dict)  # draws in the checkpoint, by chain
    lock: threading.Lock = field(default_factory=threading.Lock)
    warned: bool = False

    def restore(self, folder: Checkpoint) -> None:
        """Let the chains continue where a checkpoint left them."""
        for chain in self.chains:
            saved = folder.load(chain.index)
            if saved is None:
                continue
            try:
                chain.import_state(saved.sweep, saved.state, saved.draws)
            except ValueError as error:
                raise CheckpointError(
                    f"chain {chain.index} of the checkpoint in '{folder.folder}' is not one of "
                    f"this run ({error}): use another folder"
                ) from error
            self.engine.resume(chain)
            self.n_saved[chain.index] = len(saved.draws["order"])

    def go(self, folder: Checkpoint | None) -> None:
        """Advance all chains to their end; when stopped, to the same number of draws."""
        groups = [Group(own) for own in self.engine.groups(self.chains)]
        n_threads = self.engine.begin(sum(not group.finished for group in groups))
        with (
            ThreadPoolExecutor(n_threads, thread_name_prefix="pasb") as pool,
            Progress(self.chains, self.show_progress) as progress,
        ):
            try:
                self._turns(pool, groups, folder, progress)
            except KeyboardInterrupt:
                self.stopped.set()
            except BaseException:
                self.stopped.set()  # so that the other threads come to an end
                raise
            if self.stopped.is_set():
                self._catch_up(pool, groups, folder)

    def _turns(
        self,
        pool: ThreadPoolExecutor,
        groups: list[Group],
        folder: Checkpoint | None,
        progress: Progress,
    ) -> None:
        waiting = {
            pool.submit(self._slice, group, folder): group for group in groups if not group.finished
        }
        while waiting:
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                group = waiting.pop(future)
                future.result()
                for chain in group.chains:
                    progress.show(chain)
                if not group.finished and not self.stopped.is_set():
                    waiting[pool.submit(self._slice, group, folder)] = group
                else:
                    self.engine.group_ended(len(waiting))

    def _slice(self, group: Group, folder: Checkpoint | None) -> None:
        with group.busy:
            if self.stopped.is_set():
                return
            seconds = self.engine.slice_seconds
            self.engine.advance(group.chains, group.n_sweeps, seconds, self._after_sweep)
            self._save(group, folder, now=group.finished or self.stopped.is_set())

    def _after_sweep(self, chain: Chain) -> bool:
        if self.callbacks:
            info = chain.info()
            with self.lock:
                for callback in self.callbacks:
                    if not self.stopped.is_set() and callback(info):
                        self.stopped.set()
        return self.stopped.is_set()

    def _catch_up(
        self, pool: ThreadPoolExecutor, groups: list[Group], folder: Checkpoint | None
    ) -> None:
        """Bring all chains to the number of draws of the one that is ahead.

        They are at most a slice apart. A second interrupt ends even that.
        """
        for group in groups:
            with group.busy:  # an interrupt may come while a chain is in the middle of a sweep
                pass
        furthest = max(chain.n_kept for chain in self.chains)
        schedule = self.chains[0].schedule
        until = schedule.n_warmup + furthest * schedule.thin if furthest else 1
        futures: list[Future] = [
            pool.submit(self.engine.advance, group.chains, until) for group in groups
        ]
        for future in futures:
            future.result()
        for group in groups:
            self._save(group, folder, now=True)

    def _save(self, group: Group, folder: Checkpoint | None, now: bool) -> None:
        """Append to the checkpoint, unless that was done a moment ago."""
        due = folder is not None and monotonic() - group.saved_at >= CHECKPOINT_SECONDS
        if not now and not due:
            return
        self.engine.fetch(group.chains)
        if folder is not None:
            for chain in group.chains:
                self._append(chain, folder)
        group.saved_at = monotonic()

    def _append(self, chain: Chain, folder: Checkpoint) -> None:
        start, stop = self.n_saved.get(chain.index, 0), chain.n_kept
        draws = {name: array[start:stop] for name, array in chain.trace.items()}
        try:
            folder.append(chain.index, chain.n_done, chain.export_state(), draws)
        except CheckpointError as error:
            with self.lock:
                if not self.warned:
                    warnings.warn(
                        f"{error} Sampling continues; the draws stay in memory.", stacklevel=2
                    )
                self.warned = True
        else:
            self.n_saved[chain.index] = stop


@dataclass
class Group:
    """Chains that advance together."""

    chains: list[Chain]
    busy: threading.Lock = field(default_factory=threading.Lock)  # held during a slice
    saved_at: float = field(default_factory=monotonic)

    @property
    def n_sweeps(self) -> int:
        """Sweeps of its chains."""
        return self.chains[0].schedule.n_sweeps

    @property
    def finished(self) -> bool:
        """Whether all sweeps are done."""
        return all(chain.finished for chain in self.chains)
