"""Tables and figures of finished cells as files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import pasb
from reproduction.paper.cells import finished
from reproduction.paper.experiments.experiment import Experiment, Results
from reproduction.paper.table_models import BUDGETS

DPI = 85


def results_of(experiment: Experiment, folder: Path, seed: int) -> Results:
    """The finished cells that an experiment shows."""
    shown = {
        cell.what
        for budget in BUDGETS
        for engine in ("cpu", "cuda")
        for cell in experiment.cells(budget, ("exact",), seed, engine)
    }
    every = finished(folder, experiment.cells_of, seed)
    return [result for result in every if result["what"] in shown]


def write_outputs(
    experiment: Experiment, folder: Path, out: Path, seed: int = 0, large: bool = True
) -> list[Path]:
    """Write an experiment's tables as CSV and its figure as PNG.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Where the finished cells are.
    out : path
        Where the files go.
    seed : int
    large : bool
        Whether to write the large tables, those of the maps, too.

    Returns
    -------
    list of path
        What was written. Without matplotlib there is no figure.
    """
    results = results_of(experiment, folder, seed)
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in experiment.tables(results).items():
        if large or "-map" not in name:
            _write_table(out / name, frame, header(experiment, results))
            written.append(out / name)
    try:
        figure = experiment.figure(results)
    except ImportError:  # matplotlib is optional
        figure = None
    if figure is not None:
        path = out / f"{experiment.name}.png"
        figure.savefig(path, dpi=DPI)
        written.append(path)
    return written


def header(experiment: Experiment, results: Results) -> list[str]:
    """How the numbers came about: commands, seed and version."""
    lines = [f"{experiment.title}, by pasb {pasb.__version__}"]
    used = {(result["budget"], result["engine"]) for result in results}
    for budget in BUDGETS:
        for engine in ("cpu", "cuda"):
            own = [r for r in results if (r["budget"], r["engine"]) == (budget, engine)]
            if (budget, engine) not in used:
                continue
            schemes = {result["scheme"] for result in own} - {"any"}
            scheme = "both" if len(schemes) != 1 else schemes.pop()
            seed = own[0]["seed"]
            versions = ", ".join(sorted({result["version"] for result in own}))
            lines.append(
                f"{len(own)} cells: python -m reproduction run {experiment.name} --budget {budget} "
                f"--scheme {scheme} --engine {engine} --seed {seed} (version {versions})"
            )
    return lines


def _write_table(path: Path, frame: pd.DataFrame, lines: list[str]) -> None:
    text = frame.to_csv(index=False, float_format="%.6g")
    path.write_text("".join(f"# {line}\n" for line in lines) + text)
