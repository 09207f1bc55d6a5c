"""New coefficients for every stick, proposed from its normal approximation; the order stays.

Changes the coefficients and precisions of the categories on sticks. An independence move
(`pasb.moves.independence`) for one stick after the other leaves the posterior given the order
invariant. Applies to models with normal approximations. Costs a pass over all rows for each stick;
sticks run side by side where there are idle threads.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.evidences.approximations import Approximations
from pasb.moves.independence import REFRESH, Independence
from pasb.moves.move import Move, State
from pasb.numerics.helpers import Task, TaskRunner


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

        for stick, category in enumerate(state.order[:-1].tolist()):
            later &= ~(1 << category)
            gaussians = self.approximations.gaussians(((category, later), (category, later)))
            tasks.append(partial(propose, category, stick, gaussians))
        self.run(tasks, 1)
        self.counted += len(tasks), accepted.sum()
