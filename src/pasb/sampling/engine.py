"""What an engine is: where rows are, who adds them up, and who advances chains.

`pasb.engines.threads` keeps the rows in memory and advances chains in threads,
`pasb.engines.cuda` keeps them on a GPU and advances all chains as one batch. A run
(`pasb.sampling.run`) does the rest, the same for all: checkpoints, callbacks, progress, stopping.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

from pasb.sampling.chain import Chain
from pasb.sampling.problem import Problem, Schedule

AfterSweep = Callable[[Chain], bool]


class Engine(ABC):
    """Advances the chains of a run; used as a context, for it may hold threads or memory."""

    #: how long a slice lasts: between two of them a run looks after its chains
    slice_seconds: float = 0.1
    #: whether the time of the run is spent; what precedes the first sweep looks at it
    time_is_up: Callable[[], bool] = staticmethod(lambda: False)

    @abstractmethod
    def chains(self, problems: Sequence[Problem], schedule: Schedule) -> list[Chain]:
        """Bring the rows where they are needed; one chain for each problem, not started yet.

        Chains of the same problem share what they start from. A batch of several tables calls
        this once for each of them.
        """

    @abstractmethod
    def teams(self, chains: Sequence[Chain]) -> list[list[Chain]]:
        """The chains that advance together."""

    @abstractmethod
    def resume(self, chain: Chain) -> None:
        """Rebuild what follows from the state of a chain that a checkpoint held."""

    @abstractmethod
    def advance(
        self,
        team: Sequence[Chain],
        until: int,
        seconds: float = float("inf"),
        after_sweep: AfterSweep | None = None,
    ) -> None:
        """Start the chains of a team if they are new, and sweep.

        Parameters
        ----------
        team : sequence of Chain
        until : int
            Sweeps to have done in all; those of the schedule at most.
        seconds : float
            Stop after the sweep during which this much time has passed.
        after_sweep : callable, optional
            Called with each chain after every sweep; stops the slice by returning True.
        """

    def fetch(self, team: Sequence[Chain]) -> None:  # noqa: B027
        """Bring the states of a team to where a checkpoint can be written from."""

    def begin(self, n_teams: int) -> int:
        """So many teams are to be advanced; how many threads shall do it.

        Called again whenever the teams have met and continue; the answer is the same then.
        """
        return 1

    def team_ended(self, n_left: int) -> None:  # noqa: B027
        """A thread has no team to advance any more; so many teams are left."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:  # noqa: B027
        """Give back threads and memory."""
