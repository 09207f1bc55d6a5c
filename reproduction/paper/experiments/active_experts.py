"""Figure 8: how many experts each class needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from reproduction.paper.cells import SCHEMES, Cell
from reproduction.paper.experiments.error_rates import PARTITIONS, ErrorRates
from reproduction.paper.experiments.experiment import Results, Shown
from reproduction.paper.markdown import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIRECTIONS = {"forward": "paSB", "reverse": "parSB"}


class ActiveExperts(Shown):
    """Active experts of K = 5, T = 3 on all data sets, from the fits of the error rates."""

    name = "active-experts"
    title = "Figure 8: active experts of each class"
    of = ErrorRates
    source = "error-rates"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """The fits of K = 5, T = 3 to the first partitions."""
        every = self.of().cells(budget, schemes, seed, engine)
        return [cell for cell in every if cell.what[1:] == ("msr_k5_t3", 0)]

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """Draws with each number of active experts, by data set, direction and class."""
        frame = _frame(results)
        return {} if frame.empty else {"active-experts.csv": frame}

    def figure(self, results: Results) -> Figure | None:
        """Box plots, a row a data set, paSB on the left and parSB on the right."""
        from pasb.plots import style

        frame = _frame(results)
        if frame.empty:
            return None
        scheme = "exact" if "exact" in set(frame["scheme"]) else "paper"
        frame = frame[frame["scheme"] == scheme]
        sets = [name for name in PARTITIONS if name in set(frame["dataset"])]
        figure = style.new_figure(7.0, 0.9 + 1.05 * len(sets))
        axes = figure.subplots(len(sets), 2, squeeze=False, sharey=True)
        for row, dataset in enumerate(sets):
            for column, (direction, title) in enumerate(DIRECTIONS.items()):
                ax = axes[row, column]
                part = frame[(frame["dataset"] == dataset) & (frame["direction"] == direction)]
                _boxes(ax, part)
                if row == 0:
                    style.title(ax, title)
                if column == 0:
                    ax.set_ylabel(dataset, fontsize=style.LABEL, color=style.INK)
        figure.supxlabel("category", fontsize=style.LABEL, color=style.INK)
        figure.supylabel("active experts, of 5", fontsize=style.LABEL, color=style.INK)
        return figure

    def section(self, results: Results) -> str:
        """Which classes need all experts."""
        frame = _frame(results)
        if frame.empty:
            return "Not run yet."
        rows = []
        for (dataset, scheme), part in frame.groupby(["dataset", "scheme"], sort=False):
            row = [dataset, SCHEMES[str(scheme)]]
            row.append("/".join(dict.fromkeys(part["budget"])))
            for direction in DIRECTIONS:
                medians = [
                    _quantile(own, 0.5)
                    for _, own in part[part["direction"] == direction].groupby("class", sort=False)
                ]
                row.append(", ".join("-" if m != m else f"{m:.0f}" for m in medians))
            rows.append(row)
        text = (
            "MSR with K = 5 and T = 3, first partition. The paper: five experts are enough but for "
            "several classes of satimage under parSB. Boxes show the draws of our defaults where "
            "they were run. Below, the median number of active experts of each class (`-`: always "
            "the reference, which has none)."
        )
        return text + "\n\n" + table(["data", "scheme", "budget", "paSB", "parSB"], rows)


def _frame(results: Results) -> pd.DataFrame:
    rows = []
    for result in results:
        dataset, model, partition = result["what"]
        if model != "msr_k5_t3" or partition != 0 or "active_experts" not in result:
            continue
        for direction, classes in result["active_experts"].items():
            for label, counts in classes.items():
                rows += [
                    {
                        "dataset": dataset,
                        "scheme": result["scheme"],
                        "budget": result["budget"],
                        "direction": direction,
                        "class": label,
                        "active": active,
                        "draws": draws,
                    }
                    for active, draws in enumerate(counts)
                ]
    return pd.DataFrame(rows)


def _quantile(part: pd.DataFrame, q: float) -> float:
    values = np.repeat(part["active"].to_numpy(), part["draws"].to_numpy())
    return float(np.quantile(values, q)) if len(values) else float("nan")


def _boxes(ax: Any, part: pd.DataFrame) -> None:
    from pasb.plots import style

    labels = []
    for number, (label, own) in enumerate(part.groupby("class", sort=False)):
        labels.append(str(label))
        values = np.repeat(own["active"].to_numpy(), own["draws"].to_numpy())
        if len(values):
            ax.boxplot(
                values,
                positions=[number],
                widths=0.6,
                showfliers=False,
                medianprops={"color": style.COLOURS[0], "linewidth": 2},
            )
        else:
            ax.text(number, 2.5, "reference", ha="center", va="center", fontsize=6.5)
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_xticks(range(len(labels)), [style.shortened(label, 9) for label in labels])
    ax.set_ylim(-0.3, 5.3)
    style.tidy(ax, grid="y")
    ax.tick_params(axis="x", labelsize=6.5 if len(labels) > 6 else style.SMALL)
