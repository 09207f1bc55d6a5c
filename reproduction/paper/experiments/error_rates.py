"""Table 1: the error rates of all models on nine data sets."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import pasb
from reproduction import data_sets
from reproduction.paper import costs, published
from reproduction.paper.cells import ANY, Cell, Context
from reproduction.paper.compare import against_published, explanations, overview, row_verdicts
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.measures import (
    active_expert_counts,
    error,
    probability_scores,
    size_and_best_draw,
)
from reproduction.paper.prior_fallback import fitted_model
from reproduction.paper.subset import some_rows
from reproduction.paper.table_models import BUDGETS, MODELS, SCALED, WITHOUT_SCHEME, Run
from reproduction.paper.updates import engine_for, is_softplus, update_in, update_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: as many as the paper has, or more where its few test rows say little; the quickest sets first
PARTITIONS = {
    "iris": 5,
    "wine": 5,
    "square": 3,
    "glass": 10,
    "vehicle": 5,
    "segment": 5,
    "waveform": 5,
    "dna": 1,
    "satimage": 1,
}
#: of them with the algorithm as printed, which takes twice as long
PRINTED_PARTITIONS = {"vehicle": 3, "segment": 2, "waveform": 2}


class ErrorRates(Experiment):
    """Every model fitted to every partition of every data set."""

    name = "error-rates"
    title = "Table 1: error rates"

    def cells(
        self, budget: str, schemes: Sequence[str], seed: int = 0, engine: str = "cpu"
    ) -> list[Cell]:
        """The first partition of every set first."""
        out = []
        for dataset, number in PARTITIONS.items():
            for partition in range(1 if budget == "smoke" else number):
                for model in MODELS:
                    what = (dataset, model, partition)
                    own = (ANY,) if model in WITHOUT_SCHEME else schemes
                    if partition >= PRINTED_PARTITIONS.get(dataset, number):
                        own = [scheme for scheme in own if scheme != "paper"]
                    out += [Cell(self.name, what, budget, scheme, seed) for scheme in own]
        return out

    def seconds(self, cell: Cell) -> float:
        """By the size of the data set."""
        dataset, model, _ = cell.what
        return costs.of_model(dataset, model, cell.budget, cell.scheme)

    def batches(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """Softplus models of all partitions of a data set share a batch on a GPU, if they can."""
        shared: dict[Any, list[Cell]] = {}
        for cell in cells:
            dataset, model, partition = cell.what
            together = is_softplus(model) and engine_for(cell.scheme, "cuda") == "cuda"
            alone = None if together else partition
            key = (dataset, model, alone, cell.budget, cell.scheme, cell.seed)
            shared.setdefault(key, []).append(cell)
        return list(shared.values())

    def run(self, cell: Cell, context: Context) -> dict[str, Any] | None:
        """Fit, predict and score."""
        checkpoint = context.checkpoint(cell)
        resumes = checkpoint.exists()
        data = _data(cell)
        run = _run_of(cell, context, checkpoint, [context.over])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence is part of the result
            began = _clock(run)
            model, prior = fitted_model(run, MODELS[cell.what[1]], *data[:2])
            fitted = _clock(run)
        if getattr(getattr(model, "draws_", None), "interrupted", False):
            return None
        seconds = float("nan") if resumes else fitted - began
        result = _scored(cell, run, model, data, prior, seconds)
        shutil.rmtree(checkpoint, ignore_errors=True)
        return result

    def run_together(self, cells: Sequence[Cell], context: Context) -> list[dict[str, Any]]:
        """Fit all at once; the time of a fit is its share of the time of all."""
        runs = [_run_of(cell, context) for cell in cells]
        models = [MODELS[cell.what[1]](run) for cell, run in zip(cells, runs, strict=True)]
        data = [_data(cell) for cell in cells]
        tables, labels = zip(*[own[:2] for own in data], strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            pasb.fit_together(models, tables, labels)
            seconds = (time.perf_counter() - began) / len(cells)
        return [
            _scored(cell, run, model, own, run.prior if run.scheme == "paper" else "ours", seconds)
            for cell, model, own, run in zip(cells, models, data, runs, strict=True)
        ]

    def tables(self, results: Results) -> dict[str, pd.DataFrame]:
        """A row a cell."""
        return {"error-rates.csv": tidy(results)} if results else {}

    def figure(self, results: Results) -> Figure | None:
        """The paper has a table only; ours shows every cell against the paper's."""
        from reproduction.paper.shared_figures import dumbbells

        if not results:
            return None
        frame = tidy(results)
        return dumbbells(frame, "error", published.error_rates(), "error rate, %")

    def section(self, results: Results) -> str:
        """Overview, every cell, and what lies outside its interval."""
        if not results:
            return "Not run yet."
        frame = tidy(results)
        cells = against_published(frame, "error", published_errors())
        return "\n\n".join(
            [
                overview(cells, "error cells"),
                row_verdicts(cells),
                explanations(cells, frame, "error"),
                _every_cell(cells),
                _what_the_paper_does_not_show(frame),
            ]
        )


def _data(cell: Cell) -> tuple[Any, Any, Any, Any]:
    """Training covariates and labels, and those for testing."""
    dataset, name, partition = cell.what
    data = data_sets.load(dataset, seed=cell.seed)
    part = data.partition(partition, scale="range" if name in SCALED else None)
    most = BUDGETS[cell.budget].most_rows
    return (
        *some_rows(part.X_train, part.y_train, most),
        *some_rows(part.X_test, part.y_test, most),
    )


def _run_of(cell: Cell, context: Context, checkpoint: Any = None, callbacks: Any = None) -> Run:
    scheme = "exact" if cell.scheme == ANY else cell.scheme
    engine = engine_for(scheme, context.engine) if is_softplus(cell.what[1]) else "cpu"
    return Run(cell.budget, scheme, cell.seed, context.n_jobs, checkpoint, callbacks, engine=engine)


def _clock(run: Run) -> float:
    """Seconds: of the processor, whatever else it does, or by the clock where a GPU works."""
    return time.process_time() if run.engine == "cpu" else time.perf_counter()


def _scored(
    cell: Cell, run: Run, model: Any, data: tuple[Any, ...], prior: str, fit_seconds: float
) -> dict[str, Any]:
    _, y, X_test, y_test = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = _clock(run)
        prediction = model.predict(X_test)
        predicted = _clock(run)
        result = {
            "engine": getattr(model, "engine", "cpu"),
            "prior": prior,
            "n_train": len(y),
            "n_test": len(y_test),
            "error": error(prediction, y_test),
            "fit_seconds": fit_seconds,
            "predict_seconds": predicted - began,
            **probability_scores(model, X_test, y_test),
            **size_and_best_draw(model, X_test, y_test),
        }
        if is_softplus(cell.what[1]):
            result["update"] = update_of(run.scheme, run.engine)
        if cell.what[1] == "msr_k5_t3":
            result["active_experts"] = active_expert_counts(model)
    return result


def tidy(results: Results) -> pd.DataFrame:
    """One row for each finished cell of the table."""
    frame = pd.DataFrame(results)
    dataset, model, partition = zip(*frame["what"], strict=True)
    frame.insert(0, "dataset", dataset)
    frame.insert(1, "model", model)
    frame.insert(2, "partition", partition)
    frame["update"] = [update_in(result) for result in results]
    frame = frame.drop(columns=["experiment", "what", "active_experts"], errors="ignore")
    if "prior" not in frame:
        frame["prior"] = "paper"
    for column in ("best_draw_error", "log_loss", "brier", "calibration_error", "worst_rhat"):
        if column not in frame:
            frame[column] = np.nan
    frame["dataset"] = pd.Categorical(frame["dataset"], list(PARTITIONS))
    frame["model"] = pd.Categorical(frame["model"], list(MODELS))
    order = ["dataset", "model", "scheme", "partition"]
    return frame.sort_values(order).reset_index(drop=True).astype({"dataset": str, "model": str})


def published_errors() -> dict[tuple[str, str], float]:
    """The paper's Table 1, by data set and model."""
    printed = published.error_rates().to_dict("index")
    return {
        (str(dataset), str(model)): float(value)
        for dataset, row in printed.items()
        for model, value in row.items()
    }


def _every_cell(cells: pd.DataFrame) -> str:
    from reproduction.paper.compare import detail

    return "### Every cell\n\n" + detail(cells)


def _what_the_paper_does_not_show(frame: pd.DataFrame) -> str:
    from reproduction.paper.beyond import probabilities_and_times

    return probabilities_and_times(frame)
