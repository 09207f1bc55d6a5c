"""Softplus models whose rows are in blocks: what a gradient costs, and fits by engine.

    python benchmarks/softplus_blocks.py gradient --rows 100000
    python benchmarks/softplus_blocks.py fit --rows 100000 --engine blocks
    python benchmarks/softplus_blocks.py fit --rows 100000 --engine cpu
    python benchmarks/softplus_blocks.py fit --rows 20000 --engine dask --workers 2

`gradient` is the processor time of one thread for a row and a stick. `fit` has the time of the
warm-up and of a sweep after it, gradients, R-hat and effective sample size. Three classes in ten
columns: a ball, and what is left and right of it, with every tenth label at random. Dask's workers
read the rows from a Parquet file.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from pasb import ConvergenceWarning, SoftplusClassifier
from pasb.binary.softplus_requests import SlopeRequest, TableRequest, answered
from pasb.numerics.rows import Rows
from pasb.sticks import FAILURE, SUCCESS

CLASSES = 3


def table(n_rows: int, n_columns: int = 10):
    """Covariates and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    inside = (X[:, :3] ** 2).sum(axis=1) < 2.5
    y = np.where(inside, 0, 1 + (X[:, 3] + 0.5 * X[:, 0] > 0))
    noisy = rng.random(n_rows) < 0.1
    return X, np.where(noisy, rng.integers(CLASSES, size=n_rows), y)


def gradient(arguments) -> None:
    X, y = table(arguments.rows)
    rows = Rows.of(np.column_stack([np.ones(len(X)), X]), y, CLASSES)
    rng, numbers = np.random.default_rng(1), np.arange(len(X))
    coef = rng.normal(size=(arguments.experts, arguments.layers, 11))
    own = (
        np.array([SUCCESS, FAILURE, FAILURE], dtype=np.int8),
        coef,
        np.full(arguments.experts, -1.0),
    )
    for name, asked in (("gradient", SlopeRequest(*own)), ("table", TableRequest(*own, 7))):
        times = []
        for _ in range(4):
            began = process_time()
            answered(rows, numbers, [asked])
            times.append(process_time() - began)
        print(f"{name}: {1e9 * min(times) / len(X):.0f} ns a row and stick", flush=True)


def fit(arguments) -> None:
    X, y = table(arguments.rows)
    at: dict[int, float] = {}

    def watch(info):
        if info.chain == 0:
            at[info.sweep] = perf_counter()

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        engine, rows = arguments.engine, (X, y)
        if engine == "dask":
            from distributed import Client, LocalCluster

            names = [f"x{v}" for v in range(X.shape[1])]
            path = Path(folder) / "rows.parquet"
            frame = pd.DataFrame(X, columns=names).assign(y=y)
            frame.to_parquet(path, index=False, row_group_size=1 << 14)
            settings = {"threads_per_worker": 1, "dashboard_address": None}
            cluster = stack.enter_context(LocalCluster(n_workers=arguments.workers, **settings))
            engine, rows = stack.enter_context(Client(cluster)), (path, "y")
        model = SoftplusClassifier(
            n_experts=arguments.experts,
            n_layers=arguments.layers,
            direction="forward",
            engine=engine,
            n_chains=arguments.chains,
            n_warmup=arguments.warmup,
            n_draws=arguments.draws,
            n_jobs=arguments.jobs,
            random_state=1,
            progress=arguments.progress,
            callbacks=[watch],
        )
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(*rows)
        seconds = perf_counter() - began
    seen, statistics = model.diagnostics_, model.draws_.statistics
    after = (at[arguments.warmup + arguments.draws] - at[arguments.warmup]) / arguments.draws
    sticks = (CLASSES - 1) * arguments.chains * arguments.draws
    print(
        f"{arguments.rows} rows, {arguments.engine}: {seconds:.0f} s, warm-up until "
        f"{at[arguments.warmup] - began:.0f} s, {after:.2f} s a sweep behind it; "
        f"{statistics['softplus_trajectory_gradients'].sum() / sticks:.1f} gradients a stick "
        "and sweep, "
        f"{statistics['softplus_trajectory_accepted'].sum() / sticks:.0%} accepted; "
        f"log-likelihoods {model.draws_.log_likelihood.mean(axis=1).round(1).tolist()}\n{seen}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["gradient", "fit"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engine", default="blocks", choices=["cpu", "blocks", "dask"])
    parser.add_argument("--experts", type=int, default=3)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=40)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2, help="threads")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--progress", action="store_true")
    arguments = parser.parse_args()
    {"gradient": gradient, "fit": fit}[arguments.what](arguments)


if __name__ == "__main__":
    main()
