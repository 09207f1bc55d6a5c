"""How long a fit runs: settings that are numbers, and what "auto" stands for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pasb.posterior.diagnostics import Diagnostics
from pasb.posterior.fitted import Fitted
from pasb.posterior.limits import Limits
from pasb.sampling.draws import Draws
from pasb.sampling.problem import Schedule


class Goal(NamedTuple):
    """How good "auto" draws have to be, and how far a run goes for it.

    Attributes
    ----------
    limits : Limits
    longest : int
        How many times as many sweeps as usual it makes at most; a power of two. The draws stay as
        many, and are further apart (`pasb.sampling.lengthening`).
    """

    limits: Limits
    longest: int


class RunLength:
    """The part of a classifier that decides how long it samples."""

    n_warmup: Any
    n_draws: Any
    thin: Any
    until: Any

    _judged: Diagnostics | None = None  # of the draws with which the present run has ended

    def _fitted(self, draws: Draws) -> Fitted:
        raise NotImplementedError

    def _usual_lengths(self) -> tuple[int, int]:
        """Sweeps of warm-up, and draws, that "auto" stands for."""
        return 1000, 1000

    def _usual_goal(self) -> Goal | None:
        """What makes a run with "auto" draws continue; None if its length is fixed."""
        return None

    def _lengths(self) -> tuple[int, int]:
        """Sweeps of warm-up, and draws."""
        asked = zip((self.n_warmup, self.n_draws), self._usual_lengths(), strict=True)
        n_warmup, n_draws = (usual if isinstance(n, str) else int(n) for n, usual in asked)
        return n_warmup, n_draws

    def _schedule(self, seed: int) -> Schedule:
        """How long the chains run, and what they keep."""
        goal = self._usual_goal() if isinstance(self.n_draws, str) else None
        longest = 1 if goal is None else goal.longest
        return Schedule(*self._lengths(), int(self.thin), seed, longest)

    def _stopping(self, schedule: Schedule) -> dict[str, Any]:
        """When chains meet, and what decides there whether the run ends; see `sample`."""
        if self.until is not None:
            return {"enough": self._good_enough}
        if schedule.longest == 1:
            return {}
        return {"enough": self._reach_goal, "first_look": schedule.n_draws}

    def _good_enough(self, draws: Draws) -> bool:
        """Whether draws are as good as `until` asks for."""
        return self._fitted(draws).good_enough()

    def _reach_goal(self, draws: Draws) -> bool:
        """Whether draws are so good that a run of the usual length can end."""
        goal, seen = self._usual_goal(), self._fitted(draws).diagnostics()
        assert goal is not None
        reached = goal.limits.met(np.array(seen.worst_rhat), np.array(seen.worst_ess))
        self._judged = seen if reached else None
        return reached
