"""One logistic sweep against the sum of its floors, on one thread.

A sweep cannot be faster than the Polya-Gamma draws it needs (at the speed of the public
front on the same arguments) and its Gram products (by BLAS, `dsyrk` on rows that are
weighted already). Everything else is overhead: linear predictors, the order table,
Cholesky factors, swaps, Python.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.linalg.blas import dsyrk

from pasb import datasets, variates
from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.covariates.scaling import Scaling
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows, unblocked
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper


def training_rows(name: str) -> Rows:
    part = datasets.load(name).partition(0)
    classes, y = np.unique(part.y_train, return_inverse=True)
    scaling = Scaling.of(part.X_train, np.ones(len(y)), "standard")
    return Rows.of(scaling.with_constant(part.X_train), y, len(classes))


def settled(rows: Rows, moves: str):
    sweeper = Sweeper(Problem(rows, Logistic(moves=moves)))
    state = sweeper.start(Keys(1, 0, 0))
    for sweep in range(1, 200):
        sweeper.sweep(state, Keys(1, 0, sweep))
    return sweeper, state


def measure(name: str = "satimage", repeats: int = 200) -> dict[str, float]:
    rows = training_rows(name)
    X = unblocked(rows.blocks, rows.n_rows, rows.n_columns)
    runs = {moves: settled(rows, moves) for moves in ("gibbs", "mixed")}
    _, state = runs["gibbs"]
    # the rows that inform each stick, their linear predictors and weighted covariates
    etas, weighted = [], []
    for stick, category in enumerate(state.order[:-1]):
        informative = np.isin(rows.categories, state.order[stick:])
        etas.append(X[informative] @ state.parameters["coef"][category])
        w = variates.polya_gamma(1.0, etas[-1], seed=stick)
        weighted.append(np.asfortranarray((np.sqrt(w)[:, None] * X[informative]).T))
    eta = np.concatenate(etas)

    def draws(n):
        variates.polya_gamma(1.0, eta, seed=n)

    def grams(n):
        for table in weighted:
            dsyrk(1.0, table)

    def sweep_with(moves):
        def run(n):
            sweeper, state = runs[moves]
            sweeper.sweep(state, Keys(1, 0, 200 + n))

        return run

    parts = {
        "draws": draws,
        "grams": grams,
        "gibbs sweep": sweep_with("gibbs"),
        "mixed sweep": sweep_with("mixed"),
    }
    times: dict[str, list[float]] = {part: [] for part in parts}
    with one_blas_thread():
        for n in range(repeats):  # interleaved, so that noise hits all alike
            for part, run in parts.items():
                start = perf_counter()
                run(n)
                times[part].append(perf_counter() - start)
    medians = {part: float(np.median(values)) * 1e3 for part, values in times.items()}
    floor = medians["draws"] + medians["grams"]
    return {
        "rows on all sticks": len(eta),
        **{f"{part}, ms": value for part, value in medians.items()},
        "gibbs sweep / floors": medians["gibbs sweep"] / floor,
        "mixed sweep / floors": medians["mixed sweep"] / floor,
    }


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:24} {value:10.3f}")
