"""Fits to two covariates: the log-likelihood by sweep and probabilities over the plane."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.paper.cells import Cell, Context
from reproduction.paper.measures import error
from reproduction.paper.prior_fallback import fitted_model
from reproduction.paper.table_models import Run
from reproduction.paper.updates import engine_for, update_of

RESOLUTION = 61  # of the maps
POINTS = 500  # of a trace


class Trace:
    """A callback that notes the log-likelihood after every sweep of the last model.

    After a resumed run it holds the sweeps since the resumption only.
    """

    def __init__(self) -> None:
        self.values: dict[int, float] = {}

    def __call__(self, info: Any) -> None:
        """Note the log-likelihood of a sweep."""
        if info.sweep == 1:  # the next model of a stack begins
            self.values.clear()
        self.values[info.sweep] = info.log_likelihood

    def points(self) -> dict[str, list]:
        """Sweeps and log-likelihoods, at most `POINTS` of them."""
        sweeps = sorted(self.values)[:: max(1, len(self.values) // POINTS)]
        return {"sweep": sweeps, "log_likelihood": [round(self.values[s], 2) for s in sweeps]}


def fit_in_the_plane(
    cell: Cell,
    context: Context,
    make: Callable[[Run], Any],
    train: tuple[NDArray[np.float64], NDArray],
    test: tuple[NDArray[np.float64], NDArray],
) -> tuple[Any, dict[str, Any]] | None:
    """Fit a model and measure it; None if it was stopped.

    Parameters
    ----------
    cell : Cell
    context : Context
    make : function
        Makes the model from a `Run`.
    train, test : pairs of arrays
        Covariates and classes.

    Returns
    -------
    model, result
    """
    trace, checkpoint = Trace(), context.checkpoint(cell)
    run = Run(
        cell.budget,
        cell.scheme,
        cell.seed,
        context.n_jobs,
        checkpoint,
        [trace, context.over],
        engine_for(cell.scheme, context.engine),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence is part of the result
        model, prior = fitted_model(run, make, *train)
    if model.draws_.interrupted:
        return None
    result = {
        "engine": run.engine,
        "update": update_of(run.scheme, run.engine),
        "prior": prior,
        "log_likelihood": float(model.draws_.log_likelihood.mean()),
        "train_error": error(model.predict(train[0]), train[1]),
        "test_error": error(model.predict(test[0]), test[1]),
        "n_test": len(test[1]),
        "hyperplanes": model.n_hyperplanes(),
        "trace": trace.points(),
        "map": surface(model, train[0], 9 if cell.budget == "smoke" else RESOLUTION),
    }
    shutil.rmtree(checkpoint, ignore_errors=True)
    return model, result


def surface(model: Any, X: NDArray[np.float64], resolution: int) -> dict[str, Any]:
    """Class probabilities on a grid around some rows."""
    sides = []
    for values in X.T:
        margin = 0.06 * np.ptp(values)
        sides.append(np.linspace(values.min() - margin, values.max() + margin, resolution))
    across, up = sides
    grid = np.column_stack([np.tile(across, resolution), np.repeat(up, resolution)])
    return {
        "x": across.round(4).tolist(),
        "y": up.round(4).tolist(),
        "probability": model.predict_proba(grid).round(3).tolist(),
    }


def map_table(results: list[dict[str, Any]], keys: list[str]) -> pd.DataFrame:
    """The maps as one table: a row a point of the grid."""
    parts = []
    for result in results:
        own = result["map"]
        values = np.array(own["probability"])
        frame = pd.DataFrame(
            {
                "x": np.tile(own["x"], len(own["y"])),
                "y": np.repeat(own["y"], len(own["x"])),
                **{f"probability_{c + 1}": values[:, c] for c in range(values.shape[1])},
            }
        )
        for number, key in enumerate(keys):
            frame.insert(number, key, result["what"][number])
        frame.insert(len(keys), "scheme", result["scheme"])
        parts.append(frame)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def number_table(results: list[dict[str, Any]], keys: list[str]) -> pd.DataFrame:
    """One row a fit: settings, log-likelihood, errors, size."""
    shown = ["budget", "scheme", "seed", "engine", "version", "seconds", "log_likelihood"]
    shown += ["train_error", "test_error", "n_test", "hyperplanes", "orders", "prior"]
    return pd.DataFrame(
        [
            {
                **dict(zip(keys, result["what"], strict=True)),
                **{name: result[name] for name in shown if name in result},
            }
            for result in results
        ]
    )
