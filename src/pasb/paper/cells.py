"""One cell of a table: a model, fitted to one partition of one data set.

Cells are independent: they run in processes of their own, and those that are finished stay
in a folder, one JSON file each, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import pasb
from pasb import datasets
from pasb.paper.models import MODELS, SCALED, Run
from pasb.peers import n_support_vectors


class Cell(NamedTuple):
    """What is fitted to what."""

    dataset: str
    model: str
    partition: int = 0
    budget: str = "paper"
    scheme: str = "exact"
    seed: int = 0

    @property
    def name(self) -> str:
        """A name for files."""
        return "-".join(map(str, self))


def run_cell(
    cell: Cell, folder: Path | None = None, deadline: float = float("inf"), n_jobs: int = 1
) -> dict[str, Any] | None:
    """Fit, predict and score one cell.

    Parameters
    ----------
    cell : Cell
    folder : path, optional
        Where checkpoints go.
    deadline : float
        Unix time at which the sampling stops; a later call with the same folder goes on.
    n_jobs : int

    Returns
    -------
    dict or None
        None if the deadline came first.
    """
    data = datasets.load(cell.dataset, seed=cell.seed)
    part = data.partition(cell.partition, scale="range" if cell.model in SCALED else None)
    checkpoint = None if folder is None else folder / "checkpoints" / cell.name
    late = [lambda info: time.time() > deadline] if np.isfinite(deadline) else None
    run = Run(cell.budget, cell.scheme, cell.seed, n_jobs, checkpoint, late)
    model = MODELS[cell.model](run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence is part of the result
        began = time.perf_counter()
        model.fit(part.X_train, part.y_train)
        fitted = time.perf_counter()
        if getattr(model, "draws_", None) is not None and model.draws_.interrupted:
            return None
        prediction = model.predict(part.X_test)
        predicted = time.perf_counter()
    result = {
        **cell._asdict(),
        "version": pasb.__version__,
        "n_test": len(part.y_test),
        "error": 100 * _error(prediction, part.y_test),
        "fit_seconds": fitted - began,
        "predict_seconds": predicted - fitted,
        **_probability_scores(model, part),
        **_of_the_draws(model, part),
    }
    if checkpoint is not None:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return result


def _probability_scores(model: Any, part: Any) -> dict[str, float]:
    """Log loss, Brier score and calibration error, where there are probabilities."""
    if not hasattr(model, "predict_proba"):
        return {}
    from pasb.plots.calibration import Calibration

    proba = model.predict_proba(part.X_test)
    truth = part.y_test[:, None] == model.classes_
    given = np.maximum((proba * truth).sum(axis=1), np.finfo(float).tiny)
    return {
        "log_loss": float(-np.log(given).mean()),
        "brier": float(((proba - truth) ** 2).sum(axis=1).mean()),
        "calibration_error": Calibration.of(proba, part.y_test, model.classes_).error,
    }


def _of_the_draws(model: Any, part: Any) -> dict[str, Any]:
    """What the paper's Table 4 shows, and the diagnostics."""
    if hasattr(model, "best_draw"):
        best = model.best_draw()
        seen = model.diagnostics_
        return {
            "best_draw_error": 100 * _error(best.predict(part.X_test), part.y_test),
            "hyperplanes": best.n_hyperplanes(),
            "worst_rhat": seen.worst_rhat,
            "worst_ess": seen.worst_ess,
            "log_likelihood": float(model.draws_.log_likelihood.mean()),
        }
    if hasattr(model, "n_hyperplanes_"):
        return {"hyperplanes": model.n_hyperplanes_}
    if hasattr(getattr(model, "best_estimator_", None), "n_support_"):
        return {"hyperplanes": n_support_vectors(model)}
    return {"hyperplanes": len(model.classes_) - 1}


def _error(prediction: NDArray, truth: NDArray) -> float:
    return float(np.mean(prediction != truth))


def run_cells(
    cells: Iterable[Cell],
    folder: Path,
    *,
    jobs: int = 1,
    deadline: float = float("inf"),
) -> Iterator[tuple[Cell, dict[str, Any] | None]]:
    """Run the cells that `folder` does not have yet, and yield each as it is finished.

    Parameters
    ----------
    cells : iterable of Cell
        The longest should come first.
    folder : path
    jobs : int
        Processes.
    deadline : float
        Unix time at which all sampling stops.
    """
    folder.mkdir(parents=True, exist_ok=True)
    todo = [cell for cell in cells if not _path(folder, cell).exists()]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run_cell, cell, folder, deadline): cell for cell in todo}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                cell = running.pop(future)
                result = future.result()
                if result is not None:
                    _write(_path(folder, cell), result)
                yield cell, result


def finished(folder: Path) -> list[dict[str, Any]]:
    """The results in a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def _path(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.name}.json"


def _write(path: Path, result: dict[str, Any]) -> None:
    plain = {
        key: value.item() if isinstance(value, np.generic) else value
        for key, value in result.items()
    }
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(plain, indent=1) + "\n")
    os.replace(temporary, path)
