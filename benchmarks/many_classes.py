"""Processor time of a logistic sweep with many classes, and with more columns than rows.

    OPENBLAS_NUM_THREADS=1 python benchmarks/many_classes.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/many_classes.py fits --engine blocks

Sweeps: rows in memory, one chain, one thread, a random order that plain swaps move. Fits: all that
comes before the first sweep, the search of orders above all, and a few sweeps.
"""

from __future__ import annotations

import argparse
import math
import warnings
from time import process_time

import numpy as np

from pasb import StickLogisticClassifier
from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.classifiers.settings import usual_swaps
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

SIZES = ((10_000, 20, 26), (10_000, 20, 100), (10_000, 20, 1000), (2000, 10_000, 3))


def table(n_rows: int, n_columns: int, n_classes: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    scores = 0.3 * X @ rng.normal(size=(n_columns, n_classes))
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def seconds_of_a_sweep(n_rows: int, n_columns: int, n_classes: int) -> float:
    X, y = table(n_rows, n_columns, n_classes)
    X = np.column_stack([np.ones(n_rows), X])
    n_swaps = usual_swaps(n_classes)
    rows = Rows.of(X, y, n_classes)
    sweeper = Sweeper(Problem(rows, Logistic(), n_swaps=n_swaps, swaps_only=True))
    state = sweeper.start(Keys(0, 0, 0))
    times = []
    for sweep in range(1, 5):
        began = process_time()
        sweeper.sweep(state, Keys(0, 0, sweep))
        times.append(process_time() - began)
    return min(times)


def seconds_of_a_fit(engine: str, n_sweeps: int, size: tuple[int, int, int]) -> float:
    X, y = table(*size)
    model = StickLogisticClassifier(
        engine=engine,
        n_chains=1,
        n_warmup=n_sweeps // 2,
        n_draws=n_sweeps - n_sweeps // 2,
        n_jobs=1,
        random_state=0,
        progress=False,
    )
    began = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return process_time() - began


def sweeps(_: argparse.Namespace) -> None:
    found = {}
    with one_blas_thread():
        for size in SIZES:
            found[size] = seconds_of_a_sweep(*size)
            print("{} rows, {} columns, {} classes".format(*size), f"{found[size]:.3f} s")
    few, many = SIZES[0], SIZES[2]
    power = math.log(found[many] / found[few]) / math.log(many[2] / few[2])
    print(f"from {few[2]} to {many[2]} classes: S to the power of {power:.2f}")


def fits(arguments: argparse.Namespace) -> None:
    seconds_of_a_fit(arguments.engine, 16, (300, 3, 10))  # compiles, where that is to be done
    for n_classes in arguments.classes:
        size = arguments.rows, arguments.columns, n_classes
        seconds = seconds_of_a_fit(arguments.engine, arguments.sweeps, size)
        what = "{} rows, {} columns, {} classes".format(*size)
        print(f"{arguments.engine}, {what}: {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="sweeps", choices=["sweeps", "fits"])
    parser.add_argument("--engine", default="blocks", choices=["cpu", "blocks"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10, 26, 60, 100])
    parser.add_argument("--sweeps", type=int, default=16)
    arguments = parser.parse_args()
    {"sweeps": sweeps, "fits": fits}[arguments.what](arguments)


if __name__ == "__main__":
    main()
