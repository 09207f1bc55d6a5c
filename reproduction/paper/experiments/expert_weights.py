"""Figure 5: most experts are turned off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from reproduction.paper.cells import SCHEMES, Cell
from reproduction.paper.experiments.experiment import Results, Shown
from reproduction.paper.experiments.square import CLASSES, Square
from reproduction.paper.markdown import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEGLIGIBLE = 0.01  # of the largest weight


class ExpertWeights(Shown):
    """Weights of the ten experts of each class of square, from the fit with inferred order."""

    name = "expert-weights"
    title = "Figure 5: expert weights on square"
    of = Square
    source = "square"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """The fits of the square figure with an inferred order."""
        every = self.of().cells(budget, schemes, seed, engine)
        return [cell for cell in every if cell.what == ("sampled",)]

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """A row a weight."""
        frame = _frame(results)
        return {} if frame.empty else {"expert-weights.csv": frame}

    def figure(self, results: Results) -> Figure | None:
        """A panel a class, weights in descending order."""
        from pasb.plots import style
        from reproduction.paper.shared_figures import LOOK

        frame = _frame(results)
        if frame.empty:
            return None
        figure = style.new_figure(8.4, 2.9)
        axes = figure.subplots(1, len(CLASSES), sharey=True)
        for ax, label in zip(axes, CLASSES, strict=True):
            for scheme, title in SCHEMES.items():
                own = frame[(frame["class"] == label) & (frame["scheme"] == scheme)]
                if len(own):
                    marker, colour = LOOK[scheme]
                    ax.plot(
                        own["rank"],
                        own["weight"],
                        marker=marker,
                        markersize=4,
                        linewidth=1,
                        color=style.COLOURS[colour],
                        label=title,
                    )
            if not (frame["class"] == label).any():
                ax.text(5.5, 0, "always the reference", ha="center", va="bottom")
            ax.set_xticks(range(1, 11))
            style.tidy(ax, grid="y")
            style.title(ax, f"Category {label}")
            ax.set_xlabel("expert, by weight", fontsize=style.LABEL, color=style.INK)
        axes[0].set_ylabel("weight", fontsize=style.LABEL, color=style.INK)
        axes[0].legend(fontsize=style.SMALL, frameon=False)
        return figure

    def section(self, results: Results) -> str:
        """How many weights are not negligible."""
        frame = _frame(results)
        if frame.empty:
            return "Not run yet."
        rows = []
        for (scheme, label), own in frame.groupby(["scheme", "class"], sort=False):
            large = int((own["weight"] > NEGLIGIBLE * own["weight"].max()).sum())
            title = SCHEMES[str(scheme)]
            values = ", ".join(f"{value:.2f}" for value in own["weight"].head(4))
            rows.append([title, label, large, values, own["budget"].iloc[0]])
        text = (
            "The paper: only a few of the ten experts of each class have weights that are not "
            "negligible. Means over draws of the weights, sorted within each draw; the printed "
            "algorithm fits the reference too, in our defaults it has no weights."
        )
        head = ["scheme", "category", "weights above 1 % of the largest", "the largest", "budget"]
        return text + "\n\n" + table(head, rows)


def _frame(results: Results) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "scheme": result["scheme"],
                "budget": result["budget"],
                "class": label,
                "rank": rank,
                "weight": weight,
            }
            for result in results
            if result["what"] == ("sampled",)
            for label, weights in result["weights"].items()
            for rank, weight in enumerate(weights, start=1)
        ]
    )
