"""One chain: warm-up, draws and thinning, resumable at every sweep.

Random numbers are keyed by (seed, chain, sweep, ...), so a chain is a function of its
seed: it does not matter how it is cut into slices, or what runs beside it, and a
checkpoint is the state and the number of sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import BinarySampler, Keys
from pasb.errors import DivergenceError
from pasb.evidences.approximations import Approximations
from pasb.evidences.base import Evidences
from pasb.numerics.threads import Helpers
from pasb.sampling.sweep import Problem, State, Sweeper


@dataclass(frozen=True)
class Schedule:
    """How long a chain runs and what it keeps."""

    n_warmup: int
    n_draws: int
    thin: int
    seed: int

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a whole chain."""
        return self.n_warmup + self.n_draws * self.thin


class SweepInfo(NamedTuple):
    """What a callback is told after each sweep."""

    chain: int
    sweep: int
    n_sweeps: int
    warmup: bool
    log_likelihood: float
    order: NDArray[np.int64]
    swap_acceptance: float


def empty_trace(problem: Problem, schedule: Schedule, *chains: int) -> dict[str, NDArray]:
    """Arrays for the draws of a chain, or of as many as are given in `chains`."""
    draws = (*chains, schedule.n_draws)
    categories = (*draws, problem.rows.n_categories)
    shapes = problem.model.shapes(problem.rows.n_columns)
    return {
        "order": np.empty(categories, dtype=np.int64),
        "log_likelihood": np.empty(draws),
        "swaps_accepted": np.empty(draws, dtype=np.int64),
        **{name: np.empty((*categories, *shape)) for name, shape in shapes.items()},
    }


class Chain:
    """A chain and the draws it has kept so far.

    Parameters
    ----------
    index : int
    problem : Problem
    schedule : Schedule
    approximations, surrogate, helpers, sampler
        See `pasb.sampling.sweep.Sweeper`.
    trace : dict of arrays, optional
        Where the draws go, as `empty_trace` makes it.
    """

    def __init__(
        self,
        index: int,
        problem: Problem,
        schedule: Schedule,
        approximations: Approximations | None = None,
        surrogate: Evidences | None = None,
        helpers: Helpers | None = None,
        sampler: BinarySampler | None = None,
        trace: dict[str, NDArray] | None = None,
    ):
        self.index = index
        self.schedule = schedule
        settling = schedule.n_warmup // 2
        self.sweeper = Sweeper(problem, approximations, surrogate, settling, helpers, sampler)
        self.state: State | None = None
        self.n_done = 0  # sweeps
        self.trace = empty_trace(problem, schedule) if trace is None else trace

    @property
    def n_kept(self) -> int:
        """Draws kept so far."""
        return max(0, self.n_done - self.schedule.n_warmup) // self.schedule.thin

    @property
    def finished(self) -> bool:
        """Whether all sweeps are done."""
        return self.n_done >= self.schedule.n_sweeps

    def info(self) -> SweepInfo:
        """Where the chain stands."""
        state = self.state
        if state is None:
            nothing = np.empty(0, dtype=np.int64)
            return SweepInfo(
                self.index, 0, self.schedule.n_sweeps, True, float("nan"), nothing, float("nan")
            )
        return SweepInfo(
            chain=self.index,
            sweep=self.n_done,
            n_sweeps=self.schedule.n_sweeps,
            warmup=self.n_done <= self.schedule.n_warmup,
            log_likelihood=state.log_likelihood,
            order=state.order.copy(),
            swap_acceptance=state.swaps_accepted / max(1, state.swaps_proposed),
        )

    def advance(
        self,
        until: int | None = None,
        seconds: float = float("inf"),
        after_sweep: Callable[[Chain], bool] | None = None,
    ) -> None:
        """Sweep until a number of sweeps, for some seconds, or until told to stop.

        Parameters
        ----------
        until : int, optional
            Sweeps to have done in all; by default those of the schedule.
        seconds : float
            Stop after the sweep during which this much time has passed.
        after_sweep : callable, optional
            Called with the chain after every sweep; stops the slice by returning True.
        """
        schedule = self.schedule
        until = schedule.n_sweeps if until is None else min(until, schedule.n_sweeps)
        deadline = monotonic() + seconds
        if self.state is None:
            self.state = self.sweeper.start(Keys(schedule.seed, self.index, 0))
        while self.n_done < until:
            accepted_before = self.state.swaps_accepted
            try:
                self.sweeper.sweep(self.state, Keys(schedule.seed, self.index, self.n_done + 1))
            except np.linalg.LinAlgError as error:
                raise self.diverged(str(error)) from error
            self.after_sweep(self.state.swaps_accepted - accepted_before)
            if after_sweep is not None and after_sweep(self):
                break
            if monotonic() > deadline:
                break

    @property
    def keeps_next(self) -> bool:
        """Whether the state after the next sweep is kept."""
        done = self.n_done + 1 - self.schedule.n_warmup
        return done > 0 and done % self.schedule.thin == 0

    def diverged(self, what: str) -> DivergenceError:
        """The error of a sweep whose numbers are not finite any more."""
        return DivergenceError(
            f"chain {self.index} broke down in sweep {self.n_done + 1} ({what.rstrip('.')}): under "
            "a prior that is nearly flat coefficients can run away. Use the default prior, or a "
            "larger precision_shape"
        )

    def after_sweep(self, swaps_accepted: int) -> None:
        """Count a sweep, and keep the state if it is one to keep."""
        keeps = self.keeps_next
        self.n_done += 1
        if keeps:
            self.keep(self.n_kept - 1, swaps_accepted)

    def keep(self, draw: int, swaps_accepted: int) -> None:
        """Write the present state into the trace."""
        assert self.state is not None
        values = {
            "order": self.state.order,
            "log_likelihood": self.state.log_likelihood,
            "swaps_accepted": swaps_accepted,
            **self.state.parameters,
        }
        for name, array in self.trace.items():
            array[draw] = values[name]

    def export_state(self) -> dict[str, NDArray]:
        """Everything that a checkpoint needs beside the sweep number and the draws."""
        assert self.state is not None
        guards = self.sweeper.sampler.guards
        return {
            "order": self.state.order.copy(),
            "swaps": np.array([self.state.swaps_accepted, self.state.swaps_proposed]),
            "guards": np.array([guards[name] for name in sorted(guards)], dtype=np.int64),
            **{f"parameter_{k}": v.copy() for k, v in self.state.parameters.items()},
        }

    def import_state(
        self, n_done: int, arrays: dict[str, NDArray], draws: dict[str, NDArray]
    ) -> None:
        """Go back to where `export_state` was called, with the draws kept until then.

        ValueError for what no chain of this problem exported, as a damaged file may hold.
        """
        self._check_saved(n_done, arrays, draws)
        prefix = "parameter_"
        self.state = State(
            order=arrays["order"].copy(),
            parameters={
                k.removeprefix(prefix): v.copy() for k, v in arrays.items() if k.startswith(prefix)
            },
            swaps_accepted=int(arrays["swaps"][0]),
            swaps_proposed=int(arrays["swaps"][1]),
        )
        guards = self.sweeper.sampler.guards
        for name, count in zip(sorted(guards), arrays["guards"], strict=True):
            guards[name] = int(count)
        self.sweeper.resume(self.state)
        self.n_done = n_done
        for name, array in self.trace.items():
            n = min(len(array), len(draws[name]))
            array[:n] = draws[name][:n]

    def _check_saved(
        self, n_done: int, arrays: dict[str, NDArray], draws: dict[str, NDArray]
    ) -> None:
        """Refuse what does not fit, before any kernel indexes with it."""
        fresh = self.sweeper.sampler.start(Keys(self.schedule.seed, self.index, 0))
        state = {
            "order": self.trace["order"][0],
            "swaps": np.zeros(2, dtype=np.int64),
            "guards": np.zeros(len(self.sweeper.sampler.guards), dtype=np.int64),
            **{f"parameter_{name}": array for name, array in fresh.items()},
        }
        kept = {name: array[0] for name, array in self.trace.items()}
        for what, given, like in (("state", arrays, state), ("draws", draws, kept)):
            if given.keys() != like.keys():
                raise ValueError(f"the {what} has other arrays than this model")
            for name, array in given.items():
                shape = array.shape if what == "state" else array.shape[1:]
                if shape != like[name].shape or array.dtype != like[name].dtype:
                    raise ValueError(f"{name} in the {what} has another shape or dtype")
                if what == "state" and not np.isfinite(array).all():
                    raise ValueError(f"{name} in the {what} is not finite")
            order = given["order"]
            if (np.sort(order) != np.arange(order.shape[-1])).any():
                raise ValueError(f"an order in the {what} is not a permutation")
        n_kept = max(0, n_done - self.schedule.n_warmup) // self.schedule.thin
        if len(draws["order"]) != n_kept:
            raise ValueError(f"{len(draws['order'])} draws after {n_done} sweeps")
