"""What a run on rows in parts will take, told before it begins.

The time of a pass is that of the passes so far, which approximated the sticks: so much for each
product of a row and a vector, whoever adds them up, round trips included. A batch of
sweeps is one pass for proposals and one or two for the order; see `pasb.sampling.asked_chain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pasb.binary.row_requests import LOGS
from pasb.sampling.asked_chain import BATCH, TRAVEL_EVERY
from pasb.sampling.chain import Chain
from pasb.sampling.row_sums import PartedRows


class RunCost(NamedTuple):
    """Time and memory of a run.

    Attributes
    ----------
    seconds : float
        Of all sweeps of the usual length.
    n_passes : float
    n_rows : int
    """

    seconds: float
    n_passes: float
    n_rows: int

    @classmethod
    def of(cls, chains: Sequence[Chain]) -> RunCost:
        """The cost of chains that have not begun, from the passes that prepared them."""
        rows = chains[0].problem.rows
        assert isinstance(rows, PartedRows)
        sums = rows.row_sums
        assert sums is not None
        schedule = chains[0].schedule
        n_sweeps = schedule.n_warmup + schedule.n_draws * schedule.thin
        batches = n_sweeps / BATCH
        order_passes = 1 if chains[0].problem.infers else 0
        n_passes = batches * (1 + order_passes) + 4 * n_sweeps / TRAVEL_EVERY
        vectors = len(chains) * (rows.n_categories - 1) * n_sweeps
        products = vectors * rows.n_rows * (rows.n_columns + LOGS)
        rate = sums.seconds / max(1.0, sums.n_products)
        return cls(products * rate, n_passes, rows.n_rows)

    def words(self) -> str:
        """One line for the progress of a fit."""
        minutes, seconds = divmod(round(self.seconds), 60)
        time = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
        return (
            f"sampling: about {time} for {self.n_passes:,.0f} passes over {self.n_rows:,} rows, if "
            "proposals are accepted"
        )
