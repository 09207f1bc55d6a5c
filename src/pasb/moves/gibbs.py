"""Every stick's parameters given its rows: the binary model's exact update.

Changes all parameters of the categories on sticks. Given the order the sticks are independent
binary regressions (the paper's section 3.2), and each binary model derives in its own file why its
update leaves the posterior of one of them invariant. Applies to every model. Costs one update of
each stick, a pass over its rows at least; sticks run side by side where there are idle threads.
Counts what the binary model counts, under its names: `stretch_proposed` and `stretch_accepted` for
linear sticks and support vectors, nothing for others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinarySampler, Keys
from pasb.moves.move import Move, State
from pasb.numerics.helpers import Task, TaskRunner
from pasb.sticks import Roles


class Gibbs(Move):
    """The exact update of every stick."""

    steps = ("stretch",)

    def __init__(self, sampler: BinarySampler, roles: Roles, run: TaskRunner):
        self.statistics = sampler.statistics
        super().__init__()
        self.sampler, self.roles, self.run = sampler, roles, run

    def count_in(self, counted: NDArray[np.int64]) -> None:
        """The binary model counts its own moves."""
        super().count_in(counted)
        self.sampler.counted = counted

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        tasks: list[Task] = []
        for stick, category in enumerate(state.order[:-1].tolist()):
            roles = self.roles.on_stick(state.order, stick)
            tasks += self.sampler.tasks(state.parameters, category, stick, roles, keys)
        self.run(tasks, self.sampler.breadth)
