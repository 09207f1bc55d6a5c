"""Figure 7: error rates with more and more outliers."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pasb import datasets
from reproduction.paper import costs
from reproduction.paper.cells import ANY, SCHEMES, Cell, Context
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.markdown import table
from reproduction.paper.measures import error, probability_scores
from reproduction.paper.outliers import with_outliers
from reproduction.paper.subset import some_rows
from reproduction.paper.table_models import BUDGETS, MODELS, Run, logistic, robit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATIOS = (0.0, 0.1, 0.2, 0.3, 0.5)
SETS = 10
#: the two of the paper, and logistic sticks, which differ from robit ones in their tails alone
MODEL_TITLES = {
    "robit_k1": "paSB-robit, 1 degree of freedom",
    "pasb_mlr": "paSB-MLR",
    "l2_mlr": "L2-MLR",
}
COLUMNS = ["model", "scheme", "ratio", "set", "error", "log_loss", "budget", "seed", "version"]


class Robustness(Experiment):
    """Vehicle with ten sets of outliers at each of five ratios."""

    name = "robustness"
    title = "Figure 7: outliers in the vehicle data"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """Without outliers there is one set only."""
        sets = {"smoke": 1, "quick": 5, "paper": SETS}[budget]
        out = []
        for number in range(sets):
            for ratio in RATIOS if budget != "smoke" else (0.0, 0.5):
                if ratio == 0 and number > 0:
                    continue
                for model in MODEL_TITLES:
                    own = (ANY,) if model == "l2_mlr" else schemes
                    what = (model, ratio, number)
                    out += [Cell(self.name, what, budget, scheme, seed) for scheme in own]
        return out

    def seconds(self, cell: Cell) -> float:
        """By the model."""
        like = {"robit_k1": "pasb_robit_k6"}.get(cell.what[0], cell.what[0])
        return costs.of_model("vehicle", like, cell.budget, cell.scheme)

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Fit with outliers, test without."""
        name, ratio, number = cell.what
        part = datasets.load("vehicle").partition(0, scale="range")
        train = some_rows(part.X_train, part.y_train, BUDGETS[cell.budget].most_rows)
        X, y = with_outliers(*train, ratio, number)
        checkpoint = context.checkpoint(cell)
        scheme = "exact" if cell.scheme == ANY else cell.scheme
        seed = 1000 * cell.seed + number
        run = Run(cell.budget, scheme, seed, context.n_jobs, checkpoint, [context.over])
        model = {"robit_k1": lambda: robit(run, df=1), "pasb_mlr": lambda: logistic(run)}.get(
            name, lambda: MODELS[name](run)
        )()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
            if getattr(getattr(model, "draws_", None), "interrupted", False):
                return None
            result = {
                "error": error(model.predict(part.X_test), part.y_test),
                **probability_scores(model, part.X_test, part.y_test),
            }
        shutil.rmtree(checkpoint, ignore_errors=True)
        return result

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """A row a fit."""
        return {"robustness.csv": _frame(results)} if results else {}

    def figure(self, results: Results) -> Figure | None:
        """Mean and standard deviation over the sets of outliers, by ratio."""
        from pasb.plots import style

        if not results:
            return None
        frame = _frame(results)
        scheme = "exact" if "exact" in set(frame["scheme"]) else "paper"
        frame = frame[frame["scheme"].isin([scheme, ANY])]
        figure = style.new_figure(5.2, 3.8)
        ax = figure.add_subplot()
        for number, (model, title) in enumerate(MODEL_TITLES.items()):
            own = frame[frame["model"] == model].groupby("ratio")["error"]
            if not len(own):
                continue
            mean, sd = own.mean(), own.std().fillna(0)
            ax.errorbar(
                mean.index + 0.004 * (number - 1),
                mean,
                sd,
                marker=style.marker(number),
                markersize=5,
                capsize=3,
                linewidth=1.2,
                color=style.COLOURS[(0, 2, 1)[number]],
                label=title,
            )
        style.tidy(ax, grid="y")
        style.title(ax, "Outliers in training", "test error, mean ± standard deviation over sets")
        ax.set_xlabel("outliers to inliers", fontsize=style.LABEL, color=style.INK)
        ax.set_ylabel("error rate, %", fontsize=style.LABEL, color=style.INK)
        ax.legend(fontsize=style.SMALL, frameon=False)
        return figure

    def section(self, results: Results) -> str:
        """Means and standard deviations, and whether robit gains."""
        if not results:
            return "Not run yet."
        frame = _frame(results)
        rows = []
        for (model, scheme), own in frame.groupby(["model", "scheme"], sort=False):
            titles = SCHEMES | {ANY: "-"}
            row = [MODEL_TITLES[str(model)], titles[str(scheme)]]
            for ratio in RATIOS:
                errors = own.loc[own["ratio"] == ratio, "error"]
                spread = f" ± {errors.std():.1f}" if len(errors) > 1 else ""
                row.append(f"{errors.mean():.1f}{spread}" if len(errors) else "-")
            row.append(" and ".join(dict.fromkeys(own["budget"])))
            rows.append(row)
        text = (
            "The paper shows a figure without numbers: comparable errors without outliers, and "
            "robit with one degree of freedom more and more below L2-MLR as their ratio grows. "
            "Test error in per cent, mean ± standard deviation over sets of outliers, first "
            f"partition of vehicle. {_verdict(frame)}"
        )
        head = ["model", "scheme", *(f"{ratio:g}" for ratio in RATIOS), "budget"]
        return text + "\n\n" + table(head, rows)


def _frame(results: Results) -> pd.DataFrame:
    rows = [
        {**result, **dict(zip(("model", "ratio", "set"), result["what"], strict=True))}
        for result in results
    ]
    frame = pd.DataFrame(rows)[COLUMNS]
    frame["model"] = pd.Categorical(frame["model"], list(MODEL_TITLES))
    order = ["model", "scheme", "ratio", "set"]
    return frame.sort_values(order).reset_index(drop=True).astype({"model": str})


def _verdict(frame: pd.DataFrame) -> str:
    """Differences to L2-MLR with the same outliers, at the largest ratio."""
    most = frame[frame["ratio"] == max(RATIOS)]
    base = most[most["model"] == "l2_mlr"].set_index("set")["error"]
    words = []
    for scheme, title in SCHEMES.items():
        chosen = (most["model"] == "robit_k1") & (most["scheme"] == scheme)
        gain = (base - most[chosen].set_index("set")["error"]).dropna()
        if len(gain) > 1:
            se = gain.std() / len(gain) ** 0.5
            words.append(f"{title} {gain.mean():.1f} ± {se:.1f} points")
    if not words:
        return ""
    return (
        f"At a ratio of {max(RATIOS):g} robit is below L2-MLR by {'; '.join(words)} (mean ± "
        f"standard error over the same sets)."
    )
