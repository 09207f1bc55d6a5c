"""What a fit of linear sticks on rows in parts will take, told before it begins.

`FitCost` is told before the rows are read and again once the classes are known, by what a cell and
a product take on a usual core. `RunCost` follows when the sticks are approximated, by the
passes so far: so much for each product of a row and a vector, whoever adds them up, round trips
included. A batch of sweeps is one pass for proposals and one or two for the order; see
`pasb.sampling.asked_chain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pasb.binary.row_requests import LOGS, TRIANGLE
from pasb.covariates.free_memory import in_words
from pasb.evidences.asked_sticks import MOST_STICKS, n_searched, sample_rows
from pasb.sampling.asked_chain import BATCH, TRAVEL_EVERY
from pasb.sampling.chain import Chain
from pasb.sampling.progress import duration, present_progress
from pasb.sampling.row_sums import PartedRows

CELL, PRODUCT = 5e-8, 1e-10  # seconds to read and look at a cell, and for a product, on one core
CLIMB = 4  # passes of Newton steps
SEARCH_STEPS = 6  # Newton steps of an approximation on a sample
LONG = 60.0  # seconds from which on it is told to all


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
        products = products_of_sweeps(
            rows.n_rows, rows.n_columns, rows.n_categories, len(chains) * n_sweeps
        )
        rate = sums.seconds / max(1.0, sums.n_products)
        return cls(products * rate, n_passes, rows.n_rows)

    def words(self) -> str:
        """One line for the progress of a fit."""
        return (
            f"sampling: about {duration(self.seconds)} for {self.n_passes:,.0f} passes over "
            f"{self.n_rows:,} rows, if proposals are accepted"
        )


class FitCost(NamedTuple):
    """Seconds of each phase of a fit, roughly, and bytes of its blocks.

    Attributes
    ----------
    size : str
        Rows and columns in words.
    looking, blocks, search, approximations, sampling : float
        Without classes only the first two are known.
    n_bytes : int
    """

    size: str
    looking: float
    blocks: float
    n_bytes: int
    search: float = 0.0
    approximations: float = 0.0
    sampling: float = 0.0

    @classmethod
    def of_reading(cls, n_rows: int, n_columns: int, n_bytes: int, n_cores: int) -> FitCost:
        """What is known before anything is read."""
        reading = n_rows * n_columns * CELL / n_cores
        return cls(f"{n_rows:,} rows x {n_columns:,} columns", reading, reading, n_bytes)

    def with_classes(
        self, shape: tuple[int, int, int], n_sweeps: int, n_cores: int, infers: bool
    ) -> FitCost:
        """What is known of all phases, with the sweeps of all chains together.

        `shape` is the numbers of rows, of columns with the constant, and of classes.
        """
        n_rows, n_columns, n_classes = shape
        newton = (2 * n_columns + LOGS + TRIANGLE * n_columns**2) * PRODUCT
        n_sticks = n_classes - 1
        search = 0.0
        if infers:
            n_sticks = min(MOST_STICKS, n_searched(n_classes))
            few = min(n_rows, sample_rows(n_classes))
            search = SEARCH_STEPS * n_searched(n_classes) * few * newton / n_cores
        return self._replace(
            size=f"{self.size}, {n_classes:,} classes",
            search=search,
            approximations=CLIMB * n_sticks * n_rows * newton / n_cores,
            sampling=products_of_sweeps(*shape, n_sweeps) * PRODUCT / n_cores,
        )

    @property
    def seconds(self) -> float:
        """Of all phases."""
        return self.looking + self.blocks + self.search + self.approximations + self.sampling

    def tell(self) -> None:
        """Say it where progress is shown; by default of long fits alone."""
        progress = present_progress()
        if self.seconds >= LONG or progress.asked is True:
            progress.tell(self.words())

    def words(self) -> str:
        """One line for the progress of a fit."""
        phases = {
            "looking at the rows": self.looking,
            f"blocks ({in_words(self.n_bytes)})": self.blocks,
            "search of orders": self.search,
            "approximations": self.approximations,
            "sampling": self.sampling,
        }
        told = [f"{name} {duration(seconds)}" for name, seconds in phases.items() if seconds > 0]
        return f"{self.size}, roughly: {', '.join(told)}"


def products_of_sweeps(n_rows: int, n_columns: int, n_classes: int, n_sweeps: float) -> float:
    """Products of a row and a vector in the sweeps of all chains, if proposals are accepted."""
    return (n_classes - 1) * n_sweeps * n_rows * (n_columns + LOGS)
