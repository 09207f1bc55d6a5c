"""New coefficients for every stick, proposed from its normal approximation; the order stays.

Changes the coefficients and precisions of the categories on sticks. An independence move
(`pasb.moves.independence`) for one stick after the other leaves the posterior given the order
invariant. Applies to models with normal approximations. Costs a pass over all rows for each stick;
sticks run side by side where there are idle threads. With many sticks, some of them are chosen at
random. Counts `refresh_proposed` and `refresh_accepted`.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.evidences.approximations import Approximations
from pasb.moves.independence import CHOICE, REFRESH, Independence
from pasb.moves.move import Move, State
from pasb.numerics.helpers import Task, TaskRunner

MOST = 64  # sticks of a sweep; each may need an approximation that nobody has made yet


class Refresh(Move):
    """Independence proposals for the sticks as they are."""

    statistics = ("refresh_proposed", "refresh_accepted")

    def __init__(self, propose: Independence, approximations: Approximations, run: TaskRunner):
        super().__init__()
        self.propose, self.approximations, self.run = propose, approximations, run

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        later = self.approximations.everyone
        tasks: list[Task] = []
        accepted = np.zeros(len(state.order), dtype=np.bool_)

        def propose(category: int, stick: int, gaussians: NDArray[np.float64]) -> None:
            sticks = np.array([[category, -1, stick + 1]] * 2)
            accepted[stick] = self.propose(state, keys, sticks, gaussians, 1, stick, REFRESH)

        chosen = self._chosen(len(state.order) - 1, keys)
        for stick, category in enumerate(state.order[:-1].tolist()):
            later &= ~(1 << category)
            if chosen is not None and stick not in chosen:
                continue
            gaussians = self.approximations.gaussians(((category, later), (category, later)))
            tasks.append(partial(propose, category, stick, gaussians))
        self.run(tasks, 1)
        self.counted += len(tasks), accepted.sum()

    @staticmethod
    def _chosen(n_sticks: int, keys: Keys) -> set[int] | None:
        """Which sticks get a proposal, drawn evenly; None for all."""
        if n_sticks <= MOST:
            return None
        rng = np.random.default_rng(keys.at(n_sticks, REFRESH, CHOICE))
        return set(rng.choice(n_sticks, MOST, replace=False).tolist())
