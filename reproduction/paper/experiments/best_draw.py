"""Table 4: error rates and sizes of the draw with the highest likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from reproduction.paper import published
from reproduction.paper.cells import Cell
from reproduction.paper.compare import SCHEMES, against_published, detail, explanations, overview
from reproduction.paper.compare import row_verdicts as verdicts
from reproduction.paper.experiments.error_rates import ErrorRates, tidy
from reproduction.paper.experiments.experiment import Results, Shown
from reproduction.paper.markdown import number, table
from reproduction.paper.table_models import TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class BestDraw(Shown):
    """The same fits as the error rates; of each, its best draw."""

    name = "best-draw"
    title = "Table 4: error rates and hyperplanes of the best draw"
    of = ErrorRates
    source = "error-rates"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """Those of the error rates."""
        return self.of().cells(budget, schemes, seed, engine)

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """A row a cell."""
        if not results:
            return {}
        columns = ["dataset", "model", "partition", "budget", "scheme", "seed", "n_test"]
        return {"best-draw.csv": _frame(results)[[*columns, "best_draw_error", "hyperplanes"]]}

    def figure(self, results: Results) -> Figure | None:
        """The paper has a table only; ours shows every cell against the paper's."""
        from reproduction.paper.shared_figures import dumbbells

        if not results:
            return None
        printed = _published()["error_percent"].unstack()
        return dumbbells(_frame(results), "best_draw_error", printed, "error rate of one draw, %")

    def section(self, results: Results) -> str:
        """Overview, every cell, sizes, and what lies outside its interval."""
        if not results:
            return "Not run yet."
        frame, printed = _frame(results), _published()
        errors: dict[Any, float] = printed["error_percent"].to_dict()
        cells = against_published(frame, "best_draw_error", errors)
        return "\n\n".join(
            [
                overview(cells, "cells"),
                verdicts(cells),
                explanations(cells, frame, "best_draw_error"),
                "### Every cell\n\n" + detail(cells),
                _sizes(frame, printed["hyperplanes_or_support_vectors"]),
            ]
        )


def _published() -> pd.DataFrame:
    return published.best_draw_error_rates()


def _frame(results: Results) -> pd.DataFrame:
    """Models without draws have one answer only; the Bayesian softmax has no column here."""
    frame = tidy(results)
    frame = frame[frame["model"] != "bayes_mlr"].reset_index(drop=True)
    return frame.assign(best_draw_error=frame["best_draw_error"].fillna(frame["error"]))


def _sizes(frame: pd.DataFrame, printed: pd.Series) -> str:
    means = frame.groupby(["dataset", "model", "scheme"])["hyperplanes"].mean()
    rows = []
    for dataset in dict.fromkeys(index[0] for index in printed.index):
        row = [dataset]
        for model in printed.loc[dataset].index:
            ours = [
                means.get(
                    (dataset, model, scheme), means.get((dataset, model, "any"), float("nan"))
                )
                for scheme in SCHEMES
            ]
            values = [number(printed[dataset, model], 0), *(number(value, 0) for value in ours)]
            row.append(" / ".join(values))
        rows.append(row)
    models = [TITLES[model] for model in printed.loc["iris"].index]
    text = (
        "### Hyperplanes and support vectors\n\nThe paper's number / ours as printed / our "
        "defaults: T times the active experts of both directions, support vectors, or one "
        "hyperplane less than there are classes.\n\n"
    )
    return text + table(["data", *models], rows)
