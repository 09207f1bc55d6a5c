"""Errors of every model against the paper's, on dna, satimage and ten vehicle partitions.

``python benchmarks/models.py FOLDER [--jobs N] [--seconds S] [--budget B] [--only TEXT ...]``.
Finished cells stay in the folder, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from pasb.paper import published
from pasb.paper.cells import Cell, finished, run_cells
from pasb.paper.models import MODELS

PARTITIONS = {"satimage": 1, "dna": 1, "vehicle": 10, "square": 1}
# the slowest first, so that no core waits for one of them at the end
SLOW = ("dt_msr", "msr_k5_t3", "pasb_msvm", "msr_k5_t1", "svm", "pasb_robit_k6", "msr_k1_t3")


def cells(budget: str, scheme: str, seed: int) -> list[Cell]:
    models = [*SLOW, *(name for name in MODELS if name not in SLOW)]
    return [
        Cell(dataset, model, partition, budget, scheme, seed)
        for model in models
        for dataset, n in (("dna", 1), ("satimage", 1))
        for partition in range(n)
    ] + [
        Cell(dataset, model, partition, budget, scheme, seed)
        for model in models
        for dataset in ("vehicle", "square")
        for partition in range(PARTITIONS[dataset])
    ]


def table(results: list[dict]) -> pd.DataFrame:
    """Mean errors against the published ones, in binomial standard errors."""
    frame = pd.DataFrame(results)
    groups = frame.groupby(["dataset", "model"], sort=False)
    printed = published.error_rates()
    rows = []
    for (dataset, model), part in groups:
        paper = printed.loc[dataset, model]
        n = part["n_test"].iloc[0]
        p = np.clip(paper, 100 / n, 100 - 100 / n) / 100
        # the paper has one partition; ours are averaged, so its noise is what counts
        error = 100 * np.sqrt(p * (1 - p) / n)
        ours = part["error"].mean()
        rows.append(
            {
                "dataset": dataset,
                "model": model,
                "partitions": len(part),
                "paper": paper,
                "ours": ours,
                "z": (ours - paper) / error,
                "verdict": "holds" if ours <= paper + 2 * error else "WORSE",
                "best draw": part.get("best_draw_error", pd.Series([np.nan])).mean(),
                "hyperplanes": part["hyperplanes"].mean(),
                "log loss": part.get("log_loss", pd.Series([np.nan])).mean(),
                "R-hat": part.get("worst_rhat", pd.Series([np.nan])).mean(),
                "fit s": part["fit_seconds"].mean(),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--budget", default="paper")
    parser.add_argument("--scheme", default="exact")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    wanted = [
        cell
        for cell in cells(given.budget, given.scheme, given.seed)
        if all(text in cell.name for text in given.only)
    ]
    began = time.time()
    for cell, result in run_cells(
        wanted, given.folder, jobs=given.jobs, deadline=began + given.seconds
    ):
        spent = time.time() - began
        text = "not finished" if result is None else f"{result['error']:.2f} %"
        print(f"{spent:6.0f} s  {cell.name:50} {text}", flush=True)
    pd.set_option("display.width", 200, "display.max_rows", 200, "display.max_columns", 20)
    print(table(finished(given.folder)).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
