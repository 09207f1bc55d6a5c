"""Table 2: effective sample sizes of class probabilities."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import pasb
from reproduction import data_sets, peers
from reproduction.paper import costs, published
from reproduction.paper.cells import SCHEMES, Cell, Context
from reproduction.paper.effective import batch_means, initial_sequence
from reproduction.paper.experiments.error_rates import PARTITIONS
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.markdown import number, table
from reproduction.paper.subset import some_rows
from reproduction.paper.table_models import BUDGETS, LOGISTIC_PRIOR, PRINTED, TITLES, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIALS = 5
SWEEPS, DRAWS = 10_000, 1_000
QUANTILES = {"q10": 0.1, "median": 0.5, "q90": 0.9}
MODELS = ("bayes_mlr", "pasb_mlr")
ROWS_AT_ONCE = 400
COLUMNS = ["dataset", "model", "scheme", "trial", "part", "quantile", "ess", "batch_means"]
COLUMNS += ["draws", "constant", "fit_seconds", "budget", "seed", "version"]
#: columns of ours: model and scheme
OURS = (
    ("bayes_mlr", "paper"),
    ("pasb_mlr", "paper"),
    ("bayes_mlr", "exact"),
    ("pasb_mlr", "exact"),
)


class Ess(Experiment):
    """The last 1000 of 10,000 sweeps, five trials, both samplers."""

    name = "ess"
    title = "Table 2: effective sample sizes of class probabilities"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """The quickest sets first."""
        trials = {"smoke": 1, "quick": 2, "paper": TRIALS}[budget]
        return [
            Cell(self.name, (dataset, model, trial), budget, scheme, seed)
            for dataset in PARTITIONS
            for trial in range(trials)
            for model in MODELS
            for scheme in schemes
        ]

    def seconds(self, cell: Cell) -> float:
        """As long as in Table 1; no fewer draws with the budget quick."""
        dataset, model, _ = cell.what
        fit = costs.of_model(dataset, model, cell.budget, cell.scheme)
        return fit * (3 if cell.budget == "quick" else 1)

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """One trial: its own start and random numbers, the same rows."""
        dataset, name, trial = cell.what
        part = data_sets.load(dataset, seed=cell.seed).partition(0)
        most = BUDGETS[cell.budget].most_rows
        X, y = some_rows(part.X_train, part.y_train, most)
        X_test, _ = some_rows(part.X_test, part.y_test, most)
        checkpoint = context.checkpoint(cell)
        seed = 1000 * cell.seed + trial
        run = Run(cell.budget, cell.scheme, seed, context.n_jobs, checkpoint, [context.over])
        model = _model(run, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence is what is measured
            began = time.perf_counter()
            model.fit(X, y)
            spent = time.perf_counter() - began
        if getattr(model.draws_, "interrupted", False):
            return None
        result: dict[str, Any] = {"fit_seconds": spent, "draws": model.n_draws}
        for where, rows in (("train", X), ("test", X_test)):
            result[where] = _quantiles(model, rows)
        shutil.rmtree(checkpoint, ignore_errors=True)
        return result

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """A row a quantile of a trial."""
        return {"ess.csv": _frame(results)} if results else {}

    def figure(self, results: Results) -> Figure | None:
        """The paper has a table only; ours shows its quantiles on test rows."""
        from pasb.plots import style

        if not results:
            return None
        frame = _frame(results)
        frame = frame[frame["part"] == "test"]
        printed = published.effective_sample_sizes()
        sets = [name for name in PARTITIONS if name in set(frame["dataset"])]
        figure = style.new_figure(10.5, 3.6)
        axes = figure.subplots(1, 3, sharey=True)
        for ax, quantile in zip(axes, QUANTILES, strict=True):
            for column, (model, marker) in enumerate(zip(MODELS, ("s", "o"), strict=True)):
                paper = [printed.loc[(name, quantile, "test"), model] for name in sets]
                shift = 0.16 * (2 * column - 1)
                at = np.arange(len(sets)) + shift
                ax.scatter(paper, -at, s=60, marker=marker, facecolors="none",
                           edgecolors=style.SOFT, label=f"{TITLES[model]}, paper")  # fmt: skip
                for scheme, title in SCHEMES.items():
                    mine = frame[(frame["model"] == model) & (frame["scheme"] == scheme)]
                    mine = mine[mine["quantile"] == quantile]
                    own = (mine["ess"] * DRAWS / mine["draws"]).groupby(mine["dataset"]).mean()
                    if len(own):
                        colour = style.COLOURS[{"paper": 2, "exact": 0}[scheme]]
                        values = [own.get(name, np.nan) for name in sets]
                        ax.scatter(values, -at, s=18, marker=marker, color=colour,
                                   label=f"{TITLES[model]}, {title}")  # fmt: skip
            ax.set_yticks(-np.arange(len(sets)), sets)
            ax.set_xlim(0, 1050)
            style.tidy(ax, grid="both")
            style.title(
                ax, {"q10": "10 % quantile", "q90": "90 % quantile"}.get(quantile, quantile)
            )
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False,
                      fontsize=style.SMALL)  # fmt: skip
        axes[1].set_xlabel("effective draws of 1000, test rows", fontsize=style.LABEL)
        return figure

    def section(self, results: Results) -> str:
        """Every number of the table, with the noise of the trials."""
        if not results:
            return "Not run yet."
        frame = _frame(results)
        frame = frame.assign(ess=frame["ess"] * DRAWS / frame["draws"])
        printed = published.effective_sample_sizes()
        rows, counts = [], {key: [0, 0] for key in OURS}
        shares: dict[tuple[str, str], list[float]] = {key: [] for key in OURS}
        for index, paper in printed.to_dict("index").items():
            dataset, quantile, part = (str(name) for name in index)  # type: ignore[attr-defined]
            row = [f"{dataset}, {part}, {quantile}", number(paper["bayes_mlr"], 0)]
            row.append(number(paper["pasb_mlr"], 0))
            words = []
            for model, scheme in OURS:
                chosen = (frame["dataset"] == dataset) & (frame["part"] == part)
                chosen &= (frame["quantile"] == quantile) & (frame["model"] == model)
                values = frame.loc[chosen & (frame["scheme"] == scheme), "ess"]
                if values.empty:
                    row.append("-")
                    continue
                low, high = _interval(values)
                noise = f" ({low:.0f} to {high:.0f})" if len(values) > 1 else ""
                row.append(f"{values.mean():.0f}{noise}")
                shares[model, scheme].append(float(values.mean()) / paper[model])
                holds = high >= paper[model]
                counts[model, scheme][0] += holds
                counts[model, scheme][1] += 1
                words.append("holds" if holds else "fewer")
            row.append(" / ".join(words) or "not run")
            rows.append(row)
        rows_head = ["", "paper, Bayes MLR", "paper, paSB-MLR"]
        rows_head += [f"{TITLES[model]}, {SCHEMES[scheme]}" for model, scheme in OURS]
        held = "; ".join(
            f"{TITLES[model]}, {SCHEMES[scheme]}, {held} of {total} (in the median "
            f"{np.median(shares[model, scheme]):.2f} of the paper's number)"
            for (model, scheme), (held, total) in counts.items()
            if total
        )
        trials = frame.groupby("budget")["trial"].nunique().to_dict()
        budgets = ", ".join(f"{name} ({n} trials)" for name, n in trials.items())
        text = (
            f"Quantiles over all p_ij, mean over trials, for {DRAWS} draws (scaled up where a "
            "budget keeps fewer); in brackets two standard errors of the mean. Estimator: the "
            "initial sequence of autocorrelations of mcmcse 1.1 (see "
            "`reproduction.paper.effective` for why); batch means, as in mcmcse from 1.2 on, are "
            "in the CSV. Probabilities that do not vary at all have no effective sample size and "
            f"are left out. Budgets: {budgets}. "
            f"Cells with at least the paper's number, or with it in the interval: {held}. Where "
            "there are fewer as printed, see [Effective samples as "
            "printed](method.md#effective-samples-as-printed)."
        )
        return text + "\n\n" + table([*rows_head, "verdict, in this order"], rows)


def _model(run: Run, name: str) -> Any:
    sweeps = run.sweeps(SWEEPS, least=40)
    draws = min(DRAWS, sweeps // 2)
    schedule = {**run.schedule(SWEEPS, SWEEPS - DRAWS), "n_draws": draws, "thin": 1}
    schedule["n_warmup"] = sweeps - draws
    if name == "bayes_mlr":
        printed = {**LOGISTIC_PRIOR, "scale": "range"} if run.scheme == "paper" else {}
        return peers.BayesianMultinomialLogit(**schedule, **printed)
    printed = {**PRINTED, **LOGISTIC_PRIOR} if run.scheme == "paper" else {}
    return pasb.StickLogisticClassifier(
        **schedule,
        **printed,
        progress=False,
        checkpoint=run.checkpoint,
        callbacks=run.callbacks,
    )


def _quantiles(model: Any, X: NDArray[np.float64]) -> dict[str, Any]:
    """Of the effective sample sizes of all probabilities, by both estimators."""
    first, second = zip(*_sizes(model, X), strict=True)
    ess, means = np.concatenate(first), np.concatenate(second)
    known = np.isfinite(ess)
    return {
        "constant": int((~known).sum()),
        "ess": {name: _quantile(ess[known], q) for name, q in QUANTILES.items()},
        "batch_means": {name: _quantile(means[known], q) for name, q in QUANTILES.items()},
    }


def _sizes(
    model: Any, X: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    for start in range(0, len(X), ROWS_AT_ONCE):
        draws = model.sample_proba(X[start : start + ROWS_AT_ONCE])
        flat = draws.reshape(len(draws), -1)
        yield initial_sequence(flat), batch_means(flat)


def _quantile(values: NDArray[np.float64], q: float) -> float:
    return float(np.quantile(values, q)) if len(values) else float("nan")


def _frame(results: Results) -> pd.DataFrame:
    rows = []
    for result in results:
        dataset, model, trial = result["what"]
        for part in ("train", "test"):
            own = result[part]
            rows += [
                {
                    **result,
                    "dataset": dataset,
                    "model": model,
                    "trial": trial,
                    "part": part,
                    "quantile": quantile,
                    "ess": own["ess"][quantile],
                    "batch_means": own["batch_means"][quantile],
                    "constant": own["constant"],
                }
                for quantile in QUANTILES
            ]
    return pd.DataFrame(rows)[COLUMNS]


def _interval(values: pd.Series) -> tuple[float, float]:
    mean = float(values.mean())
    half = 2 * float(values.std()) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return mean - half, mean + half
