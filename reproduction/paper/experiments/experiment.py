"""What all experiments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from reproduction.paper.cells import Cell, Context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = list[dict[str, Any]]


class Experiment(ABC):
    """A table or a figure of the paper.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        What it is in the paper.
    source : str
        The experiment whose cells it shows; by default its own.
    for_gpu : bool
        Whether the budget "paper" is meant for a GPU.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str] = ""
    for_gpu: ClassVar[bool] = False

    @property
    def cells_of(self) -> str:
        """The experiment that its cells belong to."""
        return self.source or self.name

    @abstractmethod
    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """The cells of a budget, those that are soon finished first."""

    @abstractmethod
    def seconds(self, cell: Cell) -> float:
        """About how long a cell takes on one core (or on a GPU, if it is meant for one)."""

    @abstractmethod
    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Run a cell; None if it was stopped."""

    def batches(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """Cells that a GPU runs at once; one by one where there is no `run_together`."""
        return [[cell] for cell in cells]

    def run_together(self, cells: Sequence[Cell], context: Context) -> list[dict[str, Any]]:
        """Run the cells of a batch at once."""
        raise NotImplementedError

    @abstractmethod
    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """Tidy tables of the results, by file name; those with "-map" in it are large."""

    @abstractmethod
    def figure(self, results: Results) -> Figure | None:
        """The figure, laid out like the paper's; None where there is nothing to show."""

    @abstractmethod
    def section(self, results: Results) -> str:
        """What the report says of it, in Markdown, below its title."""


class Shown(Experiment):
    """Another view of the cells of an experiment, which runs them.

    Attributes
    ----------
    of : type of Experiment
    """

    of: ClassVar[type[Experiment]]

    def seconds(self, cell: Cell) -> float:
        """As long as there."""
        return self.of().seconds(cell)

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """As there."""
        return self.of().run(cell, context)


def schemes_present(results: Results) -> list[str]:
    """The schemes of some results, the printed algorithm first."""
    seen = {result["scheme"] for result in results}
    return [scheme for scheme in ("paper", "exact", "any") if scheme in seen]
