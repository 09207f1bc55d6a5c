"""How time and memory of a softplus fit grow.

Time: a sweep over two decades of the rows N, and over ranges of the categories S, the experts K
and the layers T; the slope of its logarithm against that of the size is 1 where the cost is
linear. Given N, all sticks together see more rows with more categories, so S is counted by
the rows on all sticks and in the table of log-probabilities. Time per kept draw follows from
the time of runs of different length. Processor time of one thread.

Memory: the peak of a fit in a process of its own (`peak_memory.py`), over the size of the data
and of the kept draws together.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from time import process_time, thread_time

import numpy as np

from pasb import SoftplusClassifier
from pasb.binary import Softplus
from pasb.binary.binary_model import Keys
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

BASE = {"N": 4000, "S": 4, "K": 4, "T": 2}
RANGES = {
    "N": (1000, 3000, 10_000, 30_000, 100_000),
    "S": (2, 4, 8, 16, 32),
    "K": (1, 4, 16, 64, 100),
    "T": (1, 3, 10, 30, 100),
}
COLUMNS = 20
MEMORY = (  # model, rows, covariates, categories, draws, chains (of each direction), threads
    ("softplus", 4435, 36, 6, 100, 1, 2),
    ("softplus", 20_000, 20, 4, 50, 1, 2),
    ("softplus", 100_000, 36, 4, 5, 1, 2),
    ("softplus", 100_000, 9, 3, 3, 1, 1),
    ("softplus", 100_000, 9, 3, 3, 1, 2),
    ("logistic", 4435, 36, 6, 500, 4, 2),
    ("logistic", 100_000, 36, 4, 5, 2, 2),
    ("logistic", 100_000, 36, 6, 5, 4, 2),
    ("logistic", 100_000, 9, 3, 5, 2, 2),
)


def table(n_rows: int, n_columns: int, n_categories: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    scores = X @ rng.normal(size=(n_columns, n_categories))
    scores += rng.gumbel(size=scores.shape)
    return X, np.argmax(scores, axis=1)


def sweep_ms(N: int, S: int, K: int, T: int, repeats: int) -> float:
    X, _ = table(N, COLUMNS - 1, 2)
    y = np.arange(N) % S  # as many rows in every category
    rows = Rows.of(np.column_stack([np.ones(N), X]), y, S)
    problem = Problem(rows, Softplus(n_experts=K, n_layers=T), fixed_order=np.arange(S))
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(1, 0, 0))
    for sweep in range(1, 4):
        sweeper.sweep(state, Keys(1, 0, sweep))
    best = np.inf
    for sweep in range(repeats):
        start = thread_time()
        sweeper.sweep(state, Keys(1, 0, 10 + sweep))
        best = min(best, thread_time() - start)
    return 1e3 * best


def slope(sizes, values) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def times(repeats: int) -> dict[str, dict[str, float]]:
    figures = {}
    for name, sizes in RANGES.items():
        values = [sweep_ms(**{**BASE, name: size}, repeats=repeats) for size in sizes]
        counted = sizes
        if name == "S":  # N (S / 2 + 1/2 - 1/S) rows on the sticks
            counted = [size / 2 + 0.5 - 1 / size for size in sizes]
        figures[f"sweep, ms, {name} ="] = {
            **{str(size): value for size, value in zip(sizes, values, strict=True)},
            "slope": slope(counted, values),
        }
    return figures


def draws(repeats: int) -> dict[str, float]:
    X, y = table(300, 5, 3)
    sizes, values = (30, 100, 300, 1000, 3000), []
    settings = {"n_chains": 1, "n_warmup": 0, "direction": "forward", "order": [0, 1, 2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (2, *sizes):  # the first one loads what is compiled
            best = np.inf
            for _ in range(repeats):
                model = SoftplusClassifier(
                    n_experts=2,
                    n_layers=2,
                    n_draws=n,
                    moves="gibbs",
                    n_jobs=1,
                    progress=False,
                    **settings,
                )
                start = process_time()
                model.fit(X, y)
                best = min(best, process_time() - start)
            values.append(best)
    return {
        **{str(n): 1e3 * value for n, value in zip(sizes, values[1:], strict=True)},
        "slope": slope(sizes, values[1:]),
    }


def memory() -> dict[str, dict[str, float]]:
    """What `peak_memory.py` finds, once it has made a small fit and as the first fit."""
    figures = {}
    for case in MEMORY:
        model, n_rows, n_columns, n_categories, n_draws, n_chains, n_jobs = case
        shape = f"{n_rows} x {n_columns}, S = {n_categories}, {n_chains} x {n_draws} draws"
        found, first = _peak(*case), _peak(*case, "--first")
        found["as the first fit, MB"] = first["peak, MB"]
        figures[f"{model}, {shape}, {n_jobs} threads"] = found
    return figures


def _peak(*arguments: str | int) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).parent / "peak_memory.py"), *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(repeats: int = 5) -> dict[str, dict[str, float]]:
    with one_blas_thread():
        figures = times(repeats)
    figures["fit, ms, draws ="] = draws(min(repeats, 3))
    return {**figures, **memory()}


if __name__ == "__main__":
    from report import show

    show("scaling", measure())
