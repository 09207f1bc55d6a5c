"""Run several chains on an engine: slices, callbacks, progress, checkpoints, stopping.

Chains advance in short slices, taking turns, so that they stay about equally far: an interrupted
run then has draws of all of them. No chain sees another, and none sees how it was sliced, so the
draws do not depend on the number of threads. A run that stops once its draws are good enough
(`enough`) lets all chains meet at fixed numbers of draws (`pasb.sampling.lengthening`) and looks at
exactly those, so their number does not depend on it either.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from numpy.typing import NDArray

from pasb.errors import CheckpointError, TimeBudgetError
from pasb.numerics.helpers import one_blas_thread
from pasb.sampling.budget import Budget, fewest_draws
from pasb.sampling.chain import Chain, SweepInfo, empty_trace
from pasb.sampling.draws import Draws, Ending, collect, first_draws
from pasb.sampling.engine import Engine
from pasb.sampling.lengthening import Meeting, joined, meetings, sweep_of
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import Progress, phase, present_progress
from pasb.storage.checkpoint import Checkpoint, Saved

CHECKPOINT_SECONDS = 10.0

Callback = Callable[[SweepInfo], bool | None]


def sample(
    problems: Sequence[Problem],
    schedule: Schedule,
    engine: Engine,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike | None = None,
    fingerprint: dict | None = None,
    budget: Budget | None = None,
    enough: Callable[[Draws], bool] | None = None,
    first_look: int | None = None,
) -> Draws:
    """Run the chains to their end, or until something stops them.

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
    checkpoint : path, optional
        Folder to write to while sampling, and to resume from.
    fingerprint : dict, optional
        What must agree for the folder to be this run's.
    budget : Budget, optional
        Stop once it is spent; a resumed run brings one of its own.
    enough : callable, optional
        Stop once it returns True. It is called now and then, with the first draws of all chains;
        what it returns must depend on nothing else. Without it no run is longer than its
        schedule's `n_draws` times `thin`.
    first_look : int, optional
        Draws of each chain after which it is called for the first time; by default, early.

    Raises
    ------
    TimeBudgetError
        When the budget is spent before every chain has `fewest_draws`.
    """
    if budget is not None and budget.spent:
        raise budget.too_short([], checkpoint)
    phase("searching orders" if problems[0].searches else "preparing")
    chains: list[Chain] = []
    try:
        with one_blas_thread(), engine:
            if budget is not None:
                engine.time_is_up = lambda: budget.spent
            chains, trace = _with_trace(engine, problems, schedule)
            run = Run(engine, chains, list(callbacks), budget)
            if enough is not None:
                run.enough = lambda n_draws: enough(first_draws(chains, trace, n_draws))
                run.meetings = meetings(schedule, first_look)
            if checkpoint is None:
                run.go(None)
            else:
                with Checkpoint.open(Path(checkpoint), fingerprint or {}) as folder:
                    run.restore(folder)
                    run.go(folder)
    except TimeBudgetError as error:  # of a search
        if budget is None:
            raise
        raise budget.too_short(chains, checkpoint) from error
    if budget is not None and run.came_to_nothing:
        raise budget.too_short(chains, checkpoint)
    return collect(chains, trace, run.ended, run.n_draws)


def sample_together(
    runs: Sequence[tuple[Sequence[Problem], Schedule]],
    engine: Engine,
    *,
    callbacks: Sequence[Callback] = (),
) -> list[Draws]:
    """Run the chains of several runs at the same time; on a GPU as one batch.

    Parameters
    ----------
    runs : sequence of (problems, schedule)
        What `sample` would take, with schedules of the same length. The draws are those of
        separate runs, to rounding.
    engine, callbacks
        As in `sample`.
    """
    with one_blas_thread(), engine:
        each = [_with_trace(engine, *run) for run in runs]
        everything = [chain for own, _ in each for chain in own]
        run = Run(engine, everything, list(callbacks))
        run.go(None)
    return [collect(own, trace, run.ended) for own, trace in each]


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
    budget: Budget | None = None
    enough: Callable[[int], bool] | None = None  # are so many draws of each chain?
    meetings: list[Meeting] = field(default_factory=list)  # where that is asked
    ended: Ending = "finished"
    n_draws: int | None = None  # to keep, where they were good enough
    stopped: threading.Event = field(default_factory=threading.Event)
    # sweeps and draws in the checkpoint, by chain
    saved: dict[int, tuple[int, int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    warned: bool = False

    def restore(self, folder: Checkpoint) -> None:
        """Let the chains continue where a checkpoint left them; draw again what is missing."""
        alone = all(len(team) == 1 for team in self.engine.teams(self.chains))
        for chain in self.chains:
            saved = folder.load(chain.index, mends=alone)
            if saved is None:
                continue
            try:
                ever: Mapping[str, NDArray] = {}  # all draws that it has kept until then
                if saved.index >= 0:
                    ever = saved.draws
                    self._import(chain, saved, ever)
                for piece in saved.later:
                    ever = joined(ever, self._fill_gap(chain, saved, piece, folder), piece.draws)
                    self._import(chain, piece, ever)
                    saved = piece
            except ValueError as error:
                raise CheckpointError(
                    f"chain {chain.index} of the checkpoint in '{folder.folder}' is not one of "
                    f"this run ({error}): use another folder"
                ) from error
            self.saved[chain.index] = chain.n_done, chain.n_ever_kept

    def _import(self, chain: Chain, saved: Saved, draws: Mapping[str, NDArray]) -> None:
        """Put a chain where a piece ends; `draws` are all that it has ever kept until then."""
        chain.import_state(saved.sweep, saved.state, dict(draws))
        self.engine.resume(chain)

    def _fill_gap(
        self, chain: Chain, gap: Saved, piece: Saved, folder: Checkpoint
    ) -> dict[str, NDArray]:
        """Draw again what is missing between two pieces of a chain, which gives the same draws."""
        goal = sweep_of(chain.schedule, piece.draws_before)
        if goal > min(piece.sweep, chain.schedule.n_sweeps):
            raise ValueError(f"{piece.draws_before} draws before sweep {piece.sweep}")
        self.engine.begin(1)
        parts: list[dict[str, NDArray]] = []
        while not parts or chain.n_done < goal:
            start = chain.n_ever_kept
            beyond = 2 * chain.length - chain.schedule.n_warmup  # where it is dropped next
            stop = chain.length if chain.n_done < chain.length else beyond
            self.engine.advance([chain], min(goal, stop))
            new = slice(chain.n_kept - (chain.n_ever_kept - start), chain.n_kept)
            parts.append({name: array[new].copy() for name, array in chain.trace.items()})
        drawn = joined(*parts)
        folder.mend(chain.index, gap, chain.n_done, chain.export_state(), drawn)
        return drawn

    @property
    def schedule(self) -> Schedule:
        """That of all chains, but for their seeds."""
        return self.chains[0].schedule

    @property
    def came_to_nothing(self) -> bool:
        """Whether the time was spent before any chain had draws enough for a model."""
        furthest = max(chain.n_kept for chain in self.chains)
        return self.ended == "time" and furthest < fewest_draws(self.schedule)

    def go(self, folder: Checkpoint | None) -> None:
        """Advance all chains to their end; when stopped, to the same number of draws."""
        teams = [Team(own) for own in self.engine.teams(self.chains)]
        n_threads = self.engine.begin(len(teams))
        with (
            ThreadPoolExecutor(n_threads, thread_name_prefix="pasb") as pool,
            present_progress().of(self.chains) as progress,
        ):
            try:
                self._stages(pool, teams, folder, progress)
            except KeyboardInterrupt:
                self._stop("interrupted")
            except BaseException:
                self.stopped.set()  # so that the other threads come to an end
                raise
            if self.stopped.is_set():
                self._catch_up(pool, teams, folder)

    def _stages(
        self,
        pool: ThreadPoolExecutor,
        teams: list[Team],
        folder: Checkpoint | None,
        progress: Progress,
    ) -> None:
        """Advance from one meeting of all chains to the next, until their draws are enough."""
        for meeting in self.meetings or [Meeting.end_of(self.schedule)]:
            behind = [team for team in teams if not team.reached(meeting.sweep)]
            self.engine.begin(len(behind))
            self._turns(pool, behind, meeting.sweep, folder, progress)
            if self.stopped.is_set():
                return
            ends = self._ends_at(meeting)
            if ends or meeting.n_draws == self.schedule.n_draws:  # from here on some are dropped
                for team in teams:
                    self._save(team, folder, now=True)
            if ends:
                return

    def _ends_at(self, meeting: Meeting) -> bool:
        """Whether the run ends where its chains have met."""
        if self.enough is None or meeting == self.meetings[-1]:
            return True
        if any(chain.thin > meeting.thin for chain in self.chains):
            return False  # it continued from here, before it was resumed
        if not self.enough(meeting.n_draws):
            return False
        self.n_draws = meeting.n_draws
        self.ended = "finished" if self.n_draws == self.schedule.n_draws else "until"
        return True

    def _turns(
        self,
        pool: ThreadPoolExecutor,
        teams: list[Team],
        goal: int,
        folder: Checkpoint | None,
        progress: Progress,
    ) -> None:
        """Advance the teams to so many sweeps, slice by slice."""
        waiting = {pool.submit(self._slice, team, goal, folder): team for team in teams}
        while waiting:
            done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
            progress.show()
            for future in done:
                team = waiting.pop(future)
                future.result()
                if not team.reached(goal) and not self.stopped.is_set():
                    waiting[pool.submit(self._slice, team, goal, folder)] = team
                else:
                    self.engine.team_ended(len(waiting))

    def _slice(self, team: Team, goal: int, folder: Checkpoint | None) -> None:
        with team.busy:
            if self._shall_stop():
                return
            seconds = self.engine.slice_seconds
            self.engine.advance(team.chains, goal, seconds, self._after_sweep)
            done = team.reached(self.schedule.n_sweeps)
            self._save(team, folder, now=done or self.stopped.is_set())

    def _after_sweep(self, chain: Chain) -> bool:
        if self.callbacks:
            info = chain.info()
            with self.lock:
                for callback in self.callbacks:
                    if not self.stopped.is_set() and callback(info):
                        self._stop("interrupted")
        return self._shall_stop()

    def _shall_stop(self) -> bool:
        """Whether something stopped the run, or its time is spent."""
        if self.budget is not None and not self.stopped.is_set() and self.budget.spent:
            self._stop("time")
        return self.stopped.is_set()

    def _stop(self, why: Ending) -> None:
        if not self.stopped.is_set():
            self.ended = why
        self.stopped.set()

    def _catch_up(
        self, pool: ThreadPoolExecutor, teams: list[Team], folder: Checkpoint | None
    ) -> None:
        """Bring all chains to the number of draws of the one that is ahead.

        They are at most a slice apart. A second interrupt ends even that.
        """
        for team in teams:
            with team.busy:  # an interrupt may come while a chain is in the middle of a sweep
                pass
        if not self.came_to_nothing:
            furthest = max(self.chains, key=lambda chain: chain.n_done)
            goal = furthest.last_kept if furthest.n_kept else 1
            futures: list[Future] = [
                pool.submit(self.engine.advance, team.chains, goal) for team in teams
            ]
            for future in futures:
                future.result()
        for team in teams:
            self._save(team, folder, now=True)

    def _save(self, team: Team, folder: Checkpoint | None, now: bool) -> None:
        """Append to the checkpoint, unless that was done a moment ago."""
        due = folder is not None and monotonic() - team.saved_at >= CHECKPOINT_SECONDS
        if not now and not due:
            return
        self.engine.fetch(team.chains)
        if folder is not None:
            for chain in team.chains:
                if chain.state is not None:  # none if the time was spent before its first sweep
                    self._append(chain, folder)
        team.saved_at = monotonic()

    def _append(self, chain: Chain, folder: Checkpoint) -> None:
        n_done, start = self.saved.get(chain.index, (0, 0))
        if n_done == chain.n_done:
            return
        stop = chain.n_ever_kept
        n_new = stop - start
        if n_new > chain.n_not_dropped:
            return  # saving has failed, and some draws are gone since
        new = slice(chain.n_kept - n_new, chain.n_kept)
        draws = {name: array[new] for name, array in chain.trace.items()}
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
            self.saved[chain.index] = chain.n_done, stop


@dataclass
class Team:
    """Chains that advance together."""

    chains: list[Chain]
    busy: threading.Lock = field(default_factory=threading.Lock)  # held during a slice
    saved_at: float = field(default_factory=monotonic)

    def reached(self, goal: int) -> bool:
        """Whether all its chains have done so many sweeps."""
        return all(chain.n_done >= goal for chain in self.chains)
