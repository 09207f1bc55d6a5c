"""How long a run may take: when its time is spent, and when that was too soon for a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from pasb.errors import TimeBudgetError
from pasb.sampling.chain import Chain
from pasb.sampling.problem import Schedule

FEWEST_DRAWS = 10  # of each chain; with less there is no model


def fewest_draws(schedule: Schedule) -> int:
    """Draws of each chain that a run must have made when its time is spent."""
    return min(FEWEST_DRAWS, schedule.n_draws)


@dataclass(frozen=True)
class Budget:
    """Wall-clock time.

    Attributes
    ----------
    words : str
        What messages call it.
    ends : float
        When it is spent, by the clock.
    clock : callable
        The present time in seconds.
    warmup : str
        The setting by which the warm-up is made shorter.

    Examples
    --------
    >>> time = iter(range(100))
    >>> budget = Budget.of(3, clock=lambda: next(time))
    >>> budget.spent, budget.spent, budget.spent
    (False, False, True)
    """

    words: str
    ends: float
    clock: Callable[[], float] = monotonic
    warmup: str = "n_warmup"

    @classmethod
    def of(cls, seconds: float, clock: Callable[[], float] = monotonic) -> Budget:
        """So many seconds from now on."""
        return cls(f"max_seconds={seconds:g}", clock() + seconds, clock)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.clock() >= self.ends

    def share(self, n: int, words: str, warmup: str = "n_warmup") -> Budget:
        """An n-th of what is left, from now on; `words` say whose share it is."""
        now = self.clock()
        left = max(0.0, self.ends - now)
        name = f"the share of {words} in {self.words}"
        return Budget(name, now + left / n, self.clock, warmup)

    def too_short(
        self, chains: Sequence[Chain], checkpoint: str | os.PathLike | None
    ) -> TimeBudgetError:
        """The error of a run whose time was spent before there was a model."""
        if not chains or all(chain.n_done == 0 for chain in chains):
            when, cure = "it was spent before the first sweep", "Allow more time"
        else:
            schedule = chains[0].schedule
            when = (
                f"it was spent after {max(chain.n_done for chain in chains)} of "
                f"{schedule.n_warmup} sweeps of warm-up"
            )
            cure = f"Allow more time, or set a smaller {self.warmup}"
            n_kept = max(chain.n_kept for chain in chains)
            if n_kept > 0 or schedule.n_warmup == 0:
                when = (
                    f"it was spent after {n_kept} of {schedule.n_draws} draws, and a model needs "
                    f"at least {fewest_draws(schedule)} of each chain"
                )
                cure = "Allow more time"
        text = f"{self.words} is too short: {when}. {cure}."
        if checkpoint is not None and any(chain.n_done > 0 for chain in chains):
            text += f" The same call continues from the checkpoint in '{os.fspath(checkpoint)}'."
        return TimeBudgetError(text)
