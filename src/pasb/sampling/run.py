"""Run several chains side by side, in threads: the kernels release Python's lock.

Chains advance in short slices, taking turns, so that they stay about equally far: an
interrupted run then has draws of all of them. No chain sees another, and none sees
how it was sliced, so the draws do not depend on the number of threads. Threads that have
no chain, or none any more, help the others within their sweeps (`pasb.numerics.threads`).
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Literal

from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pasb.binary.base import BinarySampler
from pasb.errors import CheckpointError
from pasb.evidences.base import Evidences
from pasb.numerics.threads import Helpers
from pasb.sampling.chain import Chain, Schedule, SweepInfo, empty_trace
from pasb.sampling.draws import Draws, collect
from pasb.sampling.progress import Progress
from pasb.sampling.sweep import Problem
from pasb.storage.checkpoint import Checkpoint

SLICE_SECONDS = 0.1
CHECKPOINT_SECONDS = 10.0

Callback = Callable[[SweepInfo], bool | None]
Engine = Literal["cpu", "cuda"]


def sample(
    problems: Sequence[Problem],
    schedule: Schedule,
    *,
    n_jobs: int,
    callbacks: Sequence[Callback] = (),
    show_progress: bool = False,
    checkpoint: str | os.PathLike | None = None,
    fingerprint: dict | None = None,
    engine: Engine = "cpu",
) -> Draws:
    """Run the chains to their end, or until an interrupt or a callback stops them.

    Parameters
    ----------
    problems : sequence of Problem
        One for each chain; chains of the same problem share its evidences.
    schedule : Schedule
    n_jobs : int
        Threads. As many chains run at the same time; if there are fewer, the other threads
        help them.
    callbacks : sequence of callables
        Called with a `SweepInfo` after every sweep of every chain, one call at a time;
        a true return value stops the run.
    show_progress : bool
    checkpoint : path, optional
        Folder to write to while sampling, and to resume from.
    fingerprint : dict, optional
        What must agree for the folder to be this run's.
    engine : {"cpu", "cuda"}
        Run chains in threads, or all of them as one batch on a GPU. Neither is part of what
        must agree.
    """
    trace = empty_trace(problems[0], schedule, len(problems))
    with one_blas_thread(), Helpers() as helpers:
        chains = _chains(problems, schedule, n_jobs, engine, helpers, trace)
        run = _runner(engine)(chains, n_jobs, helpers, list(callbacks), show_progress)
        if checkpoint is None:
            run.go(None)
        else:
            with Checkpoint.open(Path(checkpoint), fingerprint or {}) as folder:
                for chain in chains:
                    saved = folder.load(chain.index)
                    if saved is not None:
                        try:
                            chain.import_state(saved.sweep, saved.state, saved.draws)
                        except ValueError as error:
                            raise CheckpointError(
                                f"chain {chain.index} of the checkpoint in '{checkpoint}' is not "
                                f"one of this run ({error}): use another folder"
                            ) from error
                        run.n_saved[chain.index] = len(saved.draws["order"])
                run.go(folder)
    return collect(chains, trace, run.stopped.is_set())


def sample_together(
    runs: Sequence[tuple[Sequence[Problem], Schedule]],
    *,
    n_jobs: int,
    callbacks: Sequence[Callback] = (),
    show_progress: bool = False,
) -> list[Draws]:
    """Run the chains of several runs as one batch on a GPU.

    Parameters
    ----------
    runs : sequence of (problems, schedule)
        What `sample` would take, with schedules of the same length. The draws are those of
        separate runs, to rounding.
    n_jobs, callbacks, show_progress
        As in `sample`.
    """
    traces = [empty_trace(problems[0], schedule, len(problems)) for problems, schedule in runs]
    with one_blas_thread(), Helpers() as none:
        chains = [
            _chains(problems, schedule, n_jobs, "cuda", none, trace)
            for (problems, schedule), trace in zip(runs, traces, strict=True)
        ]
        everything = [chain for own in chains for chain in own]
        run = _runner("cuda")(everything, n_jobs, none, list(callbacks), show_progress)
        run.go(None)
    stopped = run.stopped.is_set()
    return [collect(own, trace, stopped) for own, trace in zip(chains, traces, strict=True)]


def _chains(
    problems: Sequence[Problem],
    schedule: Schedule,
    n_jobs: int,
    engine: Engine,
    helpers: Helpers,
    trace: dict[str, NDArray],
) -> list[Chain]:
    """The chains; those of one problem share its evidences, those of a batch their sampler."""
    each = {id(problem): problem for problem in problems}
    surrogates: dict[int, Evidences | None] = {
        name: problem.surrogate(n_jobs) for name, problem in each.items()
    }
    if engine == "cuda":
        from pasb.engines.pilot import with_pilots

        surrogates = with_pilots(each, surrogates, schedule.seed)
    evidences = {
        name: (
            problem.approximations(n_jobs) if problem.scheme == "exact" else None,
            surrogates[name],
        )
        for name, problem in each.items()
    }
    samplers: dict[int, BinarySampler] = {}
    if engine == "cuda":
        # only to start from, so that one for all chains of a table is enough
        for problem in each.values():
            samplers[id(problem.rows)] = problem.model.sampler(problem.rows, problem.direction)
    return [
        Chain(
            k,
            problem,
            schedule,
            *evidences[id(problem)],
            helpers,
            samplers.get(id(problem.rows)),
            {name: values[k] for name, values in trace.items()},
        )
        for k, problem in enumerate(problems)
    ]


def _runner(engine: Engine) -> type[Run]:
    if engine == "cpu":
        return Run
    from pasb.engines.batch_run import BatchRun

    return BatchRun


@dataclass
class Run:
    """The state of one call of `sample`."""

    chains: list[Chain]
    n_jobs: int
    helpers: Helpers
    callbacks: list[Callback]
    show_progress: bool
    stopped: threading.Event = field(default_factory=threading.Event)
    n_saved: dict[int, int] = field(default_factory=dict)  # draws in the checkpoint
    saved_at: dict[int, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    busy: list[threading.Lock] = field(init=False)  # each held while its chain is in a slice
    warned: bool = False

    def __post_init__(self) -> None:
        self.busy = [threading.Lock() for _ in self.chains]

    def go(self, folder: Checkpoint | None) -> None:
        """Advance all chains to their end; when stopped, to the same number of draws."""
        n_unfinished = sum(not chain.finished for chain in self.chains)
        self.helpers.add(max(0, self.n_jobs - n_unfinished))
        n_threads = min(self.n_jobs, len(self.chains))
        for chain in self.chains:
            chain.sweeper.sampler.reserve(n_threads)
        with (
            ThreadPoolExecutor(n_threads, thread_name_prefix="pasb") as pool,
            Progress(self.chains, self.show_progress) as progress,
        ):
            try:
                self._turns(pool, folder, progress)
            except KeyboardInterrupt:
                self.stopped.set()
            except BaseException:
                self.stopped.set()  # so that the other threads come to an end
                raise
            if self.stopped.is_set():
                self._catch_up(pool, folder)

    def _turns(self, pool: ThreadPoolExecutor, folder: Checkpoint | None, bar: Progress) -> None:
        waiting = {
            pool.submit(self._slice, chain, folder): chain
            for chain in self.chains
            if not chain.finished
        }
        while waiting:
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                chain = waiting.pop(future)
                future.result()
                bar.show(chain)
                if not chain.finished and not self.stopped.is_set():
                    waiting[pool.submit(self._slice, chain, folder)] = chain
                elif len(waiting) < self.n_jobs:
                    self.helpers.add()  # no chain waits for this thread

    def _slice(self, chain: Chain, folder: Checkpoint | None) -> None:
        with self.busy[chain.index]:
            if self.stopped.is_set():
                return
            chain.advance(seconds=SLICE_SECONDS, after_sweep=self._after_sweep)
            self._save(chain, folder, now=chain.finished or self.stopped.is_set())

    def _after_sweep(self, chain: Chain) -> bool:
        if self.callbacks:
            info = chain.info()
            with self.lock:
                for callback in self.callbacks:
                    if not self.stopped.is_set() and callback(info):
                        self.stopped.set()
        return self.stopped.is_set()

    def _catch_up(self, pool: ThreadPoolExecutor, folder: Checkpoint | None) -> None:
        """Bring all chains to the number of draws of the one that is ahead.

        They are at most a slice apart. A second interrupt ends even that.
        """
        for busy in self.busy:
            with busy:  # an interrupt may come while a chain is in the middle of a sweep
                pass
        furthest = max(chain.n_kept for chain in self.chains)
        schedule = self.chains[0].schedule
        until = schedule.n_warmup + furthest * schedule.thin if furthest else 1
        futures: list[Future] = [pool.submit(chain.advance, until) for chain in self.chains]
        for future in futures:
            future.result()
        for chain in self.chains:
            self._save(chain, folder, now=True)

    def _save(self, chain: Chain, folder: Checkpoint | None, now: bool) -> None:
        """Append to the checkpoint, unless that was done a moment ago."""
        if folder is None:
            return
        last = self.saved_at.setdefault(chain.index, monotonic())
        if not now and monotonic() - last < CHECKPOINT_SECONDS:
            return
        start, stop = self.n_saved.get(chain.index, 0), chain.n_kept
        draws = {name: array[start:stop] for name, array in chain.trace.items()}
        try:
            folder.append(chain.index, chain.n_done, chain.export_state(), draws)
        except CheckpointError as error:
            with self.lock:
                if not self.warned:
                    warnings.warn(
                        f"{error} Sampling goes on; the draws stay in memory.", stacklevel=2
                    )
                self.warned = True
        else:
            self.n_saved[chain.index] = stop
        self.saved_at[chain.index] = monotonic()


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limits: threadpool_limits | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread while any run samples.

    BLAS threads beside the chains' threads slow both down, and sums would depend on
    their number. The first run to enter sets the limit, the last to leave lifts it.
    """
    global _blas_users, _blas_limits
    with _blas_lock:
        _blas_users += 1
        if _blas_users == 1:
            _blas_limits = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0 and _blas_limits is not None:
                _blas_limits.restore_original_limits()
                _blas_limits = None
