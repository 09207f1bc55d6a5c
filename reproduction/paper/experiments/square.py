"""Figure 2: what the order gains when K and T are large."""

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
from reproduction.paper.subset import some_rows
from reproduction.paper.table_models import BUDGETS, softplus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES = ("1", "2", "3")
#: the mapping z of the paper (the stick of each category), and the categories stick by stick
ORDERS: dict[str, Any] = {
    "z=(1,2,3)": ["1", "2", "3"],
    "z=(2,1,3)": ["2", "1", "3"],
    "z=(3,1,2)": ["2", "3", "1"],
    "sampled": "infer",
}
SIZE = 10  # K and T


class Square(Experiment):
    """The square data with three fixed orders and an inferred one, K = T = 10."""

    name = "square"
    title = "Figure 2: square with three orders, and an inferred one"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """One a row of the figure."""
        return [
            Cell(self.name, (name,), budget, scheme, seed) for scheme in schemes for name in ORDERS
        ]

    def seconds(self, cell: Cell) -> float:
        """All rows of the figure take about as long."""
        if cell.budget == "smoke":
            return costs.SMOKE
        sweep = costs.softplus_sweep(294, 3, 3, SIZE * SIZE, cell.scheme)
        return 2 + sweep * (10_000 if cell.budget == "paper" else 1_000)

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Fit to the training rows of the first partition."""
        order = ORDERS[cell.what[0]]
        part = _part(cell.seed)
        train = some_rows(part.X_train, part.y_train, BUDGETS[cell.budget].most_rows)
        given = {} if order == "infer" else {"order": order}
        fitted = fit_in_the_plane(
            cell,
            context,
            lambda run: softplus(run, SIZE, SIZE, direction="forward", **given),
            train,
            (part.X_test, part.y_test),
        )
        if fitted is None:
            return None
        model, result = fitted
        return {**result, "orders": _orders(model), "weights": _weights(model)}

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """Numbers of each fit, and the maps."""
        if not results:
            return {}
        numbers = number_table(results, ["mapping"])
        return {"square.csv": numbers, "square-map.csv": map_table(results, ["mapping"])}

    def figure(self, results: Results) -> Figure | None:
        """Four rows: three fixed orders and the inferred one."""
        scheme = "exact" if any(own["scheme"] == "exact" for own in results) else "paper"
        mine = {own["what"][0]: own for own in results if own["scheme"] == scheme}
        rows = [
            {
                "title": name.replace("=", " = ").replace(",", ", "),
                "detail": f"{mine[name]['test_error']:.1f} % wrong",
                "trace": mine[name]["trace"],
                "map": mine[name]["map"],
            }
            for name in ORDERS
            if name in mine
        ]
        part = _part(0)
        return planes(rows, part.X_train, part.y_train, CLASSES, ("x1", "x2")) if rows else None

    def section(self, results: Results) -> str:
        """Whether the inferred order does as well as the best fixed one."""
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
                    _in_words(mine[name]["orders"]),
                    mine[name]["budget"],
                ]
                for name in ORDERS
                if name in mine
            ]
        text = (
            "The paper: with K = T = 10, z = (1, 2, 3) is the best of three fixed mappings, and "
            "sampling z does as well; it then switches between (1, 2, 3) and (1, 3, 2), that is, "
            "the frame is on the first stick."
        )
        head = ["scheme", "mapping", "mean log-likelihood", "test error, %", "orders of the draws"]
        return text + "\n\n" + table([*head, "budget"], rows)


def _part(seed: int) -> Any:
    return datasets.load("square", seed=seed).partition(0)


def _orders(model: Any) -> dict[str, float]:
    """The share of draws with each order, first stick to last."""
    flat = model.draws_.order.reshape(-1, len(CLASSES))
    orders, counts = np.unique(flat, axis=0, return_counts=True)
    return {
        " > ".join(model.classes_[order]): round(float(count / counts.sum()), 4)
        for order, count in zip(orders, counts, strict=True)
    }


def _in_words(orders: dict[str, float]) -> str:
    ranked = sorted(orders.items(), key=lambda item: -item[1])
    return ", ".join(f"{order} ({share:.0%})" for order, share in ranked[:3])


def _weights(model: Any) -> dict[str, list[float]]:
    """Mean weights of the experts, in descending order.

    A class that is the reference has none, but for the printed algorithm, which fits it.
    """
    weights, order = model.draws_.parameters["weight"], model.draws_.order
    out = {}
    for category, label in enumerate(model.classes_):
        fitted = (order[:, :, -1] != category) | (model.scheme == "paper")
        own = weights[:, :, category][fitted]
        ranked = -np.sort(-own, axis=1)
        out[str(label)] = ranked.mean(axis=0).tolist() if len(own) else []
    return out
