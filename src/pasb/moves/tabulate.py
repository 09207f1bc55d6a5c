"""Fill the table from which the likelihood of every order follows.

Changes no parameter and no order, so it leaves every distribution invariant: it brings the order
table up to date, which the moves behind it read (`pasb.orders.table`). Applies to every model.
Costs one pass over all rows for each category whose parameters changed. Counts nothing.
"""

from __future__ import annotations

from pasb.binary.binary_model import BinarySampler, Keys
from pasb.moves.move import Move, State
from pasb.numerics.helpers import TaskRunner
from pasb.orders.table import OrderTable
from pasb.sticks import Direction, accept_reject


class Tabulate(Move):
    """Sums of the log-probabilities of stopping and of going on."""

    def __init__(
        self, sampler: BinarySampler, order_table: OrderTable, direction: Direction, run: TaskRunner
    ):
        super().__init__()
        self.sampler, self.run = sampler, run
        # what stops forward sticks is success, so the same rule leads back
        self.success, self.failure = accept_reject(
            order_table.accept, order_table.reject, direction
        )

    def __call__(self, state: State, keys: Keys | None = None) -> None:  # noqa: D102
        tasks = self.sampler.log_sum_tasks(state.parameters, self.success, self.failure)
        self.run(tasks, 1)
