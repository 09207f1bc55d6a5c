"""Figure 1: what K and T gain when the order is a bad one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pasb import datasets
from reproduction.paper import costs
from reproduction.paper.cells import SCHEMES, Cell, Context
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.markdown import number, table
from reproduction.paper.plane import fit_in_the_plane, map_table, number_table
from reproduction.paper.shared_figures import planes
from reproduction.paper.table_models import softplus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = ((1, 1), (1, 3), (5, 1), (5, 3))
#: category 1 lies between the other two, so one hyperplane cannot split it off
CLASSES = ("versicolor", "setosa", "virginica")


class Iris(Experiment):
    """Two covariates of iris, the order fixed at z = (1, 2, 3)."""

    name = "iris"
    title = "Figure 1: iris with a fixed order"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """One a row of the figure."""
        return [Cell(self.name, size, budget, scheme, seed) for scheme in schemes for size in SIZES]

    def seconds(self, cell: Cell) -> float:
        """By K and T."""
        k, t = cell.what
        if cell.budget == "smoke":
            return costs.SMOKE
        sweep = costs.softplus_sweep(150, 3, 3, k * t, cell.scheme)
        return 1 + sweep * (10_000 if cell.budget == "paper" else 1_000)

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Fit to all rows, as the figure shows them."""
        k, t = cell.what
        X, y = _rows()
        fitted = fit_in_the_plane(
            cell,
            context,
            lambda run: softplus(run, k, t, direction="forward", order=list(CLASSES)),
            (X, y),
            (X, y),
        )
        return None if fitted is None else fitted[1]

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """Numbers of each fit, and the maps."""
        if not results:
            return {}
        numbers = number_table(results, ["K", "T"]).drop(columns=["test_error", "n_test"])
        return {"iris.csv": numbers, "iris-map.csv": map_table(results, ["K", "T"])}

    def figure(self, results: Results) -> Figure | None:
        """Four rows: (K, T) = (1, 1), (1, 3), (5, 1), (5, 3)."""
        scheme = _shown(results)
        mine = {result["what"]: result for result in results if result["scheme"] == scheme}
        rows = [
            {"title": f"K = {k}, T = {t}", **_maps_in_order(mine[k, t])}
            for k, t in SIZES
            if (k, t) in mine
        ]
        return planes(rows, *_rows(), CLASSES, ("sepal length", "petal length")) if rows else None

    def section(self, results: Results) -> str:
        """Whether larger T helps and larger K alone does not."""
        if not results:
            return "Not run yet."
        mine = {(result["scheme"], result["what"]): result for result in results}
        rows = []
        for scheme, title in SCHEMES.items():
            for size in SIZES:
                if (scheme, size) in mine:
                    own = mine[scheme, size]
                    rows.append(
                        [
                            title,
                            f"K = {size[0]}, T = {size[1]}",
                            number(own["log_likelihood"], 1),
                            number(own["train_error"], 1),
                            own["budget"],
                        ]
                    )
        text = (
            "The paper: with z = (1, 2, 3), the class in the middle first, T = 1 fails whatever K "
            "is, and T = 3 separates the classes. (Sepal and petal length; category 1 is "
            f"versicolor, 2 setosa, 3 virginica.) {_verdict(mine)}"
        )
        head = ["scheme", "size", "mean log-likelihood", "training error, %", "budget"]
        return text + "\n\n" + table(head, rows)


def _verdict(mine: dict) -> str:
    words = []
    for scheme, title in SCHEMES.items():
        have = [mine.get((scheme, size)) for size in SIZES]
        if None in have:
            continue
        shallow = max(own["log_likelihood"] for own in have if own and own["what"][1] == 1)
        deep = min(own["log_likelihood"] for own in have if own and own["what"][1] == 3)
        words.append(
            f"{title}, the better of T = 1 reaches {shallow:.1f} and the worse of T = 3 {deep:.1f}"
        )
    return ("Measured: " + "; ".join(words) + ".") if words else ""


def _rows() -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load("iris")
    return data.X[:, [0, 2]], data.y


def _shown(results: Results) -> str:
    return "exact" if any(result["scheme"] == "exact" for result in results) else "paper"


def _maps_in_order(result: dict[str, Any]) -> dict[str, Any]:
    """The maps in the order of `CLASSES` instead of the alphabet."""
    columns = [sorted(CLASSES).index(label) for label in CLASSES]
    values = np.array(result["map"]["probability"])[:, columns]
    surface = {**result["map"], "probability": values}
    detail = f"{result['train_error']:.1f} % wrong"
    return {"trace": result["trace"], "map": surface, "detail": detail}
