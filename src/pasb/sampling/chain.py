"""One chain: where it stands and what it kept, resumable after every sweep.

Random numbers are keyed by (seed, chain, sweep, ...), so a chain is a function of its seed: it does
not matter how it is cut into slices, or what runs beside it, and a checkpoint is the state and the
number of sweeps. Who advances it is an engine (`pasb.sampling.engine`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.errors import DivergenceError
from pasb.moves.move import State, Tally
from pasb.sampling.lengthening import halve, n_ever_kept, n_halvings, thinned
from pasb.sampling.problem import Problem, Schedule


class SweepInfo(NamedTuple):
    """What a callback is told after each sweep.

    Attributes
    ----------
    chain : int
        From 0.
    sweep : int
        How many sweeps of this chain are done, of `n_sweeps`, those of the warm-up included.
    n_sweeps : int
    warmup : bool
        Whether this sweep belongs to the warm-up.
    log_likelihood : float
        Of the training labels.
    order : array of shape (n_classes,)
        Numbers of the classes in `classes_`, first stick to last.
    swap_acceptance : float
        Share of this chain's proposed swaps that were accepted.
    """

    chain: int
    sweep: int
    n_sweeps: int
    warmup: bool
    log_likelihood: float
    order: NDArray[np.int64]
    swap_acceptance: float


OF_EVERY_MODEL = ("order", "log_likelihood", "statistics")  # in a trace


def empty_trace(
    problem: Problem, schedule: Schedule, n_statistics: int, *chains: int
) -> dict[str, NDArray]:
    """Arrays for the draws of a chain, or of as many as are given in `chains`.

    Parameters are zero until they are written, and stay zero in columns that a chain does not see.
    """
    draws = (*chains, schedule.n_draws)
    categories = (*draws, problem.rows.n_categories)
    shapes = problem.model.shapes(problem.n_columns)
    return {
        "order": np.empty(categories, dtype=np.int64),
        "log_likelihood": np.empty(draws),
        "statistics": np.empty((*draws, n_statistics), dtype=np.int32),
        **{name: np.zeros((*categories, *shape)) for name, shape in shapes.items()},
    }


class Chain:
    """A chain and the draws it has kept so far.

    Parameters
    ----------
    index : int
    problem : Problem
    schedule : Schedule
    tally : Tally
        What its moves count.
    guards : dict
        How often each numerical guard fired; whoever sweeps counts in it.
    start : callable
        Makes parameters to start from; also shows what saved ones must look like.

    Attributes
    ----------
    state : State or None
        Where it stands; None before it started.
    n_done : int
        Sweeps so far.
    thin : int
        Sweeps from one draw to the next; doubles where a run becomes longer.
    trace : dict of arrays
        Where the draws go, as `empty_trace` makes it.
    """

    def __init__(
        self,
        index: int,
        problem: Problem,
        schedule: Schedule,
        tally: Tally,
        guards: dict[str, int],
        start: Callable[[Keys], Parameters],
    ):
        self.index, self.problem, self.schedule = index, problem, schedule
        self.tally, self.guards, self.parameters_to_start_from = tally, guards, start
        self.state: State | None = None
        self.n_done = 0
        self.thin = schedule.thin
        self.trace: dict[str, NDArray] = {}
        self._kept: list[str] = []  # the parameters among them

    def fill(self, trace: dict[str, NDArray]) -> None:
        """Write draws to these arrays from now on, one a row."""
        self.trace = trace
        self._kept = [name for name in trace if name not in OF_EVERY_MODEL]

    @property
    def first_keys(self) -> Keys:
        """Where the start finds its random numbers; those of sweeps are numbered from 1."""
        return Keys(self.schedule.seed, self.index, 0)

    @property
    def n_kept(self) -> int:
        """Draws that it has."""
        return max(0, self.n_done - self.schedule.n_warmup) // self.thin

    @property
    def n_ever_kept(self) -> int:
        """Draws kept so far, those included that were dropped when the run became longer."""
        return n_ever_kept(self.schedule, self.n_done)

    @property
    def n_not_dropped(self) -> int:
        """Draws since draws were dropped for the last time."""
        return self.n_kept - (self.schedule.n_draws // 2 if self.thin > self.schedule.thin else 0)

    @property
    def last_kept(self) -> int:
        """The sweep of its last draw."""
        return self.schedule.n_warmup + self.n_kept * self.thin

    @property
    def length(self) -> int:
        """Sweeps after which it has all its draws, unless the run continues."""
        return self.schedule.n_warmup + self.schedule.n_draws * self.thin

    @property
    def finished(self) -> bool:
        """Whether all sweeps are done."""
        return self.n_done >= self.schedule.n_sweeps

    @property
    def keeps_next(self) -> bool:
        """Whether the state after the next sweep is kept."""
        done = self.n_done + 1 - self.schedule.n_warmup
        thin = self.schedule.thin << n_halvings(self.schedule, self.n_done + 1)
        return done > 0 and done % thin == 0

    def info(self) -> SweepInfo:
        """Where the chain stands."""
        state, schedule = self.state, self.schedule
        swaps = self.tally.of("swap_accepted") / max(1, self.tally.of("swap_proposed"))
        return SweepInfo(
            chain=self.index,
            sweep=self.n_done,
            n_sweeps=self.length,
            warmup=self.n_done <= schedule.n_warmup,
            log_likelihood=float("nan") if state is None else state.log_likelihood,
            order=np.empty(0, dtype=np.int64) if state is None else state.order.copy(),
            swap_acceptance=float("nan") if state is None else swaps,
        )

    def diverged(self, what: str) -> DivergenceError:
        """The error of a sweep whose numbers are not finite any more."""
        return DivergenceError(
            f"chain {self.index} diverged at sweep {self.n_done + 1} ({what.rstrip('.')}): under a "
            "prior that is nearly flat coefficients can run away. Use the default prior, or a "
            "larger precision_shape"
        )

    def after_sweep(self) -> None:
        """Count a sweep, and keep the state if it is one to keep."""
        self.thin_to(self.schedule.thin << n_halvings(self.schedule, self.n_done + 1))
        self.n_done += 1
        draw, left = divmod(self.n_done - self.schedule.n_warmup, self.thin)
        if draw > 0 and left == 0:
            self.keep(draw - 1)
        elif draw == 0 and left == 0:
            self.tally.before[:] = self.tally.total  # the end of the warm-up: draws count from here

    def thin_to(self, thin: int) -> None:
        """Drop every second draw until they are so many sweeps apart."""
        while self.thin < thin:
            self.tally.before -= halve(self.trace, self.n_kept)
            self.thin *= 2

    def keep(self, draw: int) -> None:
        """Write the present state into the trace, and what was counted since the last draw."""
        state, trace, tally = self.state, self.trace, self.tally
        assert state is not None
        trace["order"][draw] = state.order
        trace["log_likelihood"][draw] = state.log_likelihood
        trace["statistics"][draw] = tally.total - tally.before
        tally.before[:] = tally.total
        seen = self.problem.seen
        for name in self._kept:
            if seen is not None and name == "coef":
                trace[name][draw][..., seen] = state.parameters[name]
            else:
                trace[name][draw] = state.parameters[name]

    def export_state(self) -> dict[str, NDArray]:
        """Everything that a checkpoint needs beside the sweep number and the draws."""
        assert self.state is not None
        return {
            "order": self.state.order.copy(),
            "tally": np.stack([self.tally.total, self.tally.before]),
            "guards": np.array([self.guards[name] for name in sorted(self.guards)], dtype=np.int64),
            **{f"parameter_{k}": v.copy() for k, v in self.state.parameters.items()},
        }

    def import_state(
        self, n_done: int, arrays: dict[str, NDArray], draws: dict[str, NDArray]
    ) -> None:
        """Go back to where `export_state` was called, with the draws kept until then.

        ValueError for what no chain of this problem exported, as a damaged file may hold. The
        engine then has to rebuild what follows from the state.
        """
        self._check_saved(n_done, arrays, draws)
        prefix = "parameter_"
        self.state = State(
            order=arrays["order"].copy(),
            parameters={
                k.removeprefix(prefix): v.copy() for k, v in arrays.items() if k.startswith(prefix)
            },
        )
        self.tally.total[:], self.tally.before[:] = arrays["tally"]
        for name, count in zip(sorted(self.guards), arrays["guards"], strict=True):
            self.guards[name] = int(count)
        self.n_done = n_done
        self.thin = self.schedule.thin << n_halvings(self.schedule, n_done)
        for name, values in thinned(self.schedule, n_done, draws).items():
            array = self.trace[name]
            n = min(len(array), len(values))
            array[:n] = values[:n]

    def _check_saved(
        self, n_done: int, arrays: dict[str, NDArray], draws: dict[str, NDArray]
    ) -> None:
        """Refuse what does not fit, before any kernel indexes with it."""
        fresh = self.parameters_to_start_from(self.first_keys)
        state = {
            "order": self.trace["order"][0],
            "tally": np.zeros((2, len(self.tally.total)), dtype=np.int64),
            "guards": np.zeros(len(self.guards), dtype=np.int64),
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
        n_kept = n_ever_kept(self.schedule, n_done)
        if len(draws["order"]) != n_kept:
            raise ValueError(f"{len(draws['order'])} draws after {n_done} sweeps, not {n_kept}")
