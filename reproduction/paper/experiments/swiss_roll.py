"""Figure 6: the swiss roll before and after the transformation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pasb import datasets
from reproduction.paper import costs
from reproduction.paper.cells import SCHEMES, Cell, Context
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.markdown import number, table
from reproduction.paper.plane import fit_in_the_plane, map_table, number_table
from reproduction.paper.shared_figures import planes
from reproduction.paper.subset import some_rows
from reproduction.paper.table_models import BUDGETS, softplus, stacked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES = ("1", "2")
ROWS = {"original": "K = 5, T = 3", "transformed": "transformed, K = 5, T = 1"}
TEST_SEED = 1000  # added to the seed, for test rows


class SwissRoll(Experiment):
    """paSB-MSR on the covariates, and on those of a first model's hyperplanes."""

    name = "swiss-roll"
    title = "Figure 6: swiss roll before and after the transformation"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """One a row of the figure."""
        return [
            Cell(self.name, (name,), budget, scheme, seed) for scheme in schemes for name in ROWS
        ]

    def seconds(self, cell: Cell) -> float:
        """The transformed covariates are some twenty."""
        if cell.budget == "smoke":
            return costs.SMOKE
        share = BUDGETS[cell.budget].share
        first = costs.softplus_sweep(800, 3, 2, 15, cell.scheme)
        if cell.what == ("original",):
            return 10_000 * share * first
        return 3_000 * share * first + 10_000 * share * costs.softplus_sweep(
            800, 20, 2, 5, cell.scheme
        )

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Fit to one roll, test on another."""
        roll, other = (datasets.make_swiss_roll(seed=cell.seed + k) for k in (0, TEST_SEED))
        train = some_rows(roll.X, roll.y, BUDGETS[cell.budget].most_rows)
        if cell.what == ("original",):
            fitted = fit_in_the_plane(
                cell,
                context,
                lambda run: softplus(run, 5, 3, direction="forward"),
                train,
                (other.X, other.y),
            )
        else:
            fitted = fit_in_the_plane(
                cell, context, lambda run: stacked(run, direction="forward"), train,
                (other.X, other.y),
            )  # fmt: skip
        return None if fitted is None else fitted[1]

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """Numbers of each fit, and the maps."""
        if not results:
            return {}
        numbers = number_table(results, ["covariates"])
        return {"swiss-roll.csv": numbers, "swiss-roll-map.csv": map_table(results, ["covariates"])}

    def figure(self, results: Results) -> Figure | None:
        """Two rows: original and transformed covariates."""
        scheme = "exact" if any(own["scheme"] == "exact" for own in results) else "paper"
        mine = {own["what"][0]: own for own in results if own["scheme"] == scheme}
        rows = [
            {
                "title": title,
                "detail": f"{mine[name]['test_error']:.1f} % of test rows wrong",
                "trace": mine[name]["trace"],
                "map": mine[name]["map"],
            }
            for name, title in ROWS.items()
            if name in mine
        ]
        roll = datasets.make_swiss_roll(seed=0)
        inks = ("black", "blue")
        return planes(rows, roll.X, roll.y, CLASSES, ("x1", "x2"), inks) if rows else None

    def section(self, results: Results) -> str:
        """How much the transformation gains."""
        if not results:
            return "Not run yet."
        rows = []
        for scheme, title in SCHEMES.items():
            mine = {own["what"][0]: own for own in results if own["scheme"] == scheme}
            rows += [
                [
                    title,
                    name,
                    number(mine[name]["log_likelihood"], 1),
                    number(mine[name]["test_error"]),
                    number(mine[name]["hyperplanes"], 0),
                    mine[name]["budget"],
                ]
                for name in ROWS
                if name in mine
            ]
        text = (
            "The paper: the transformation greatly improves the classification, in log-likelihood "
            "and out of sample. 800 rows to fit and 800 fresh ones to test (the paper does not "
            "state its numbers); paSB only."
        )
        head = ["scheme", "covariates", "mean log-likelihood", "test error, %", "hyperplanes"]
        return text + "\n\n" + table([*head, "budget"], rows)
