"""Processor time of a logistic sweep with many classes, and with more columns than rows.

    OPENBLAS_NUM_THREADS=1 python benchmarks/many_classes.py

Rows in memory, one chain, one thread, a random order that plain swaps move.
"""

from __future__ import annotations

import math
from time import process_time

import numpy as np

from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.classifiers.stick_classifier import MOST_SWAPS
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

SIZES = ((10_000, 20, 26), (10_000, 20, 100), (10_000, 20, 1000), (2000, 10_000, 3))


def seconds_of_a_sweep(n_rows: int, n_columns: int, n_classes: int) -> float:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns))])
    scores = 0.3 * X[:, 1:] @ rng.normal(size=(n_columns, n_classes))
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    y[:n_classes] = np.arange(n_classes)
    n_swaps = max(100, min(2 * n_classes**2, MOST_SWAPS * n_classes))
    rows = Rows.of(X, y, n_classes)
    sweeper = Sweeper(Problem(rows, Logistic(), n_swaps=n_swaps, swaps_only=True))
    state = sweeper.start(Keys(0, 0, 0))
    times = []
    for sweep in range(1, 5):
        began = process_time()
        sweeper.sweep(state, Keys(0, 0, sweep))
        times.append(process_time() - began)
    return min(times)


def main() -> None:
    found = {}
    with one_blas_thread():
        for size in SIZES:
            found[size] = seconds_of_a_sweep(*size)
            print("{} rows, {} columns, {} classes".format(*size), f"{found[size]:.3f} s")
    few, many = SIZES[0], SIZES[2]
    power = math.log(found[many] / found[few]) / math.log(many[2] / few[2])
    print(f"from {few[2]} to {many[2]} classes: S to the power of {power:.2f}")


if __name__ == "__main__":
    main()
