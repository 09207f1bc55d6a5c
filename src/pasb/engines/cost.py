"""What a fit will take, told before it begins.

`FitCost` is told before rows in parts are read and again once the classes are known, by what a cell
and a product take on a usual core; of rows in memory before the search of orders. Of linear sticks
in parts `RunCost` follows when the sticks are approximated, by the
passes so far: so much for each product of a row and a vector, whoever adds them up, round trips
included. A batch of sweeps is one pass for proposals and one or two for the order; see
`pasb.sampling.asked_chain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pasb.binary.binary_model import BinaryModel
from pasb.binary.row_requests import LOGS
from pasb.binary.softplus import Softplus
from pasb.binary.support_vector import SupportVector
from pasb.covariates.free_memory import in_words
from pasb.engines.sweep_cost import (
    PRODUCT,
    Size,
    newton_seconds,
    search_seconds,
    softplus_seconds,
    support_vector_seconds,
    sweep_in_memory,
)
from pasb.engines.threads import ThreadEngine
from pasb.evidences.asked_sticks import MOST_STICKS, SAMPLE_ROWS, n_searched, sample_rows
from pasb.sampling.asked_chain import BATCH, TRAVEL_EVERY
from pasb.sampling.chain import Chain
from pasb.sampling.engine import Engine
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import duration, present_progress
from pasb.sampling.row_sums import PartedRows

CELL = 5e-8  # seconds to read and look at a cell, on one core
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
    looking, blocks, width, search, approximations, sampling : float
        Without classes only the first two are known. The width is that of a kernel.
    n_bytes : int
    longest : int
        How many times as long it samples at most, if draws are not good enough.
    """

    size: str
    looking: float
    blocks: float
    n_bytes: int
    search: float = 0.0
    approximations: float = 0.0
    sampling: float = 0.0
    longest: int = 1
    width: float = 0.0

    @classmethod
    def of_widths(
        cls,
        model: SupportVector,
        size: Size,
        n_widths: int,
        n_folds: int,
        n_sweeps: int,
        n_cores: int,
    ) -> FitCost:
        """That of choosing the width of a kernel by short fits to tables of this size."""
        each = n_folds * (
            n_sweeps * support_vector_seconds(model, size) + search_seconds(model, size)
        )
        return cls(_in_words(size), 0.0, 0.0, 0, width=n_widths * each / min(n_widths, n_cores))

    @classmethod
    def in_memory(
        cls, problems: Sequence[Problem], schedule: Schedule, n_cores: int
    ) -> FitCost | None:
        """That of chains with rows in memory; None where nothing is known of their moves."""
        each = [sweep_in_memory(problem) for problem in problems]
        known = [seconds for seconds in each if seconds is not None]
        if len(known) < len(each):
            return None
        rows = problems[0].rows
        size = Size(rows.n_rows, rows.n_columns, rows.n_categories)
        apart = {id(problem): problem for problem in problems if problem.searches}.values()
        n_sweeps = schedule.n_warmup + schedule.n_draws * schedule.thin
        return cls(
            _in_words(size),
            looking=0.0,
            blocks=0.0,
            n_bytes=0,
            search=sum(search_seconds(problem.model, size) for problem in apart) / n_cores,
            sampling=n_sweeps * sum(known) / n_cores,
            longest=schedule.longest,
        )

    @classmethod
    def of_reading(cls, n_rows: int, n_columns: int, n_bytes: int, n_cores: int) -> FitCost:
        """What is known before anything is read."""
        reading = n_rows * n_columns * CELL / n_cores
        return cls(f"{n_rows:,} rows x {n_columns:,} columns", reading, reading, n_bytes)

    def with_classes(
        self, model: BinaryModel, size: Size, n_sweeps: int, n_cores: int, infers: bool
    ) -> FitCost:
        """What is known of all phases, with the sweeps of all chains together."""
        n_rows, n_columns, n_classes = size
        words = f"{self.size}, {n_classes:,} classes"
        if isinstance(model, Softplus):
            sample = size._replace(n_rows=min(n_rows, SAMPLE_ROWS))
            return self._replace(
                size=words,
                search=search_seconds(model, sample) / n_cores if infers else 0.0,
                sampling=n_sweeps * softplus_seconds(model, size) / n_cores,
            )
        newton = newton_seconds(n_columns)
        n_sticks = n_classes - 1
        search = 0.0
        if infers:
            n_sticks = min(MOST_STICKS, n_searched(n_classes))
            few = min(n_rows, sample_rows(n_classes))
            search = SEARCH_STEPS * n_searched(n_classes) * few * newton / n_cores
        return self._replace(
            size=words,
            search=search,
            approximations=CLIMB * n_sticks * n_rows * newton / n_cores,
            sampling=products_of_sweeps(*size, n_sweeps) * PRODUCT / n_cores,
        )

    @property
    def seconds(self) -> float:
        """Of all phases."""
        before = self.looking + self.blocks + self.width + self.search + self.approximations
        return before + self.sampling

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
            "choosing the width": self.width,
            "search of orders": self.search,
            "approximations": self.approximations,
            "sampling": self.sampling,
        }
        told = [f"{name} {duration(seconds)}" for name, seconds in phases.items() if seconds > 0]
        more = f", up to {self.longest} times as long if needed" if self.longest > 1 else ""
        return f"{self.size}, roughly: {', '.join(told)}{more}"


def _in_words(size: Size) -> str:
    return f"{size.n_rows:,} rows x {size.n_columns - 1:,} columns, {size.n_classes:,} classes"


def tell_in_memory(problems: Sequence[Problem], schedule: Schedule, engine: Engine) -> None:
    """Tell what chains in threads will take, with rows in memory."""
    if isinstance(engine, ThreadEngine):
        cost = FitCost.in_memory(problems, schedule, engine.n_jobs)
        if cost is not None:
            cost.tell()


def products_of_sweeps(n_rows: int, n_columns: int, n_classes: int, n_sweeps: float) -> float:
    """Products of a row and a vector in the sweeps of all chains, if proposals are accepted."""
    return (n_classes - 1) * n_sweeps * n_rows * (n_columns + LOGS)
