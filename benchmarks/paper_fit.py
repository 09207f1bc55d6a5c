"""The paper's fit of softplus regression: 10 000 sweeps of both directions, half of them left out.

``python benchmarks/paper_fit.py [--engine cuda] [--data satimage] [--sweeps 10000]``. Kernels are
compiled before the clock starts.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import numpy as np
import repository_root  # noqa: F401

from pasb import SoftplusClassifier
from reproduction.data_sets import load

SEED = 7


def fit(name: str, engine: str, n_sweeps: int) -> None:
    part = load(name).partition(0)
    sampled: list[float] = []
    model = SoftplusClassifier(
        engine=engine,
        moves="gibbs",
        n_chains=1,
        n_warmup=n_sweeps // 2,
        n_draws=n_sweeps // 20,
        thin=10,
        random_state=SEED,
        progress=False,
        n_jobs=-1,
        callbacks=[lambda info: sampled.append(perf_counter()) if info.sweep == 1 else None],
    )
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part.X_train, part.y_train)
    fitted = perf_counter()
    error = 100 * np.mean(model.predict(part.X_test) != part.y_test)
    predicted = perf_counter()
    print(
        f"{name}, {engine}, {n_sweeps} sweeps, both directions: {fitted - began:.1f} s "
        f"({sampled[0] - began:.1f} s to the end of the first sweep), "
        f"prediction of {len(part.y_test)} rows {predicted - fitted:.2f} s, error {error:.2f} %, "
        f"{model.draws_.guards}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--data", nargs="*", default=["satimage"])
    parser.add_argument("--sweeps", type=int, default=10_000)
    given = parser.parse_args()
    for name in given.data:
        fit(name, given.engine, 20)  # compiles
        fit(name, given.engine, given.sweeps)


if __name__ == "__main__":
    main()
