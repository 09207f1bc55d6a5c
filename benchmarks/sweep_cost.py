"""What fits are told to take beforehand, beside what they take.

    python benchmarks/sweep_cost.py --models logistic robit softplus svm
    python benchmarks/sweep_cost.py --models softplus --engine blocks

Tables of several sizes; one chain of each direction, one thread. Processor time, so that other work
on the machine counts little. What a fit is told is `pasb.engines.cost.FitCost`, whose constants
are chosen by this.
"""

from __future__ import annotations

import argparse
import warnings
from time import process_time

import numpy as np

import pasb
from pasb.engines.cost import FitCost

KINDS = {
    "logistic": pasb.StickLogisticClassifier,
    "robit": pasb.StickRobitClassifier,
    "softplus": pasb.SoftplusClassifier,
    "svm": pasb.StickSVMClassifier,
}
SIZES = {  # rows, columns, classes, settings
    "linear": [
        (20_000, 5, 3, {}),
        (20_000, 60, 3, {}),
        (20_000, 20, 5, {}),
        (80_000, 20, 5, {}),
        (20_000, 20, 12, {}),
    ],
    "svm": [
        (500, 4, 3, {"width": 0.5}),
        (1500, 4, 3, {"width": 0.5}),
        (1500, 4, 6, {"width": 0.5}),
        (1500, 4, 3, {"width": 0.5, "n_bases": 300}),
        (1500, 40, 3, {"kernel": "linear", "inclusion": None}),
    ],
    "softplus": [
        (10_000, 10, 3, {"n_experts": 3, "n_layers": 2}),
        (10_000, 10, 3, {}),
        (10_000, 30, 3, {}),
        (10_000, 10, 6, {}),
        (30_000, 10, 3, {}),
    ],
}
LENGTHS = {"linear": (100, 300), "softplus": (20, 20), "svm": (50, 50)}


def table(n_rows: int, n_columns: int, n_classes: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    scores = X @ rng.normal(size=(n_columns, n_classes)) * 0.5
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--engine", choices=["cpu", "blocks"], default="cpu")
    arguments = parser.parse_args()
    told: list[FitCost] = []
    FitCost.tell = lambda self: told.append(self)
    warnings.simplefilter("ignore", pasb.ConvergenceWarning)
    print("model, rows x columns, classes, settings: told, taken, ratio")
    for name in arguments.models:
        group = name if name in SIZES else "linear"
        n_warmup, n_draws = LENGTHS[group]
        settings = {"n_chains": 1, "n_jobs": 1, "random_state": 0, "progress": False}
        settings |= {"n_warmup": n_warmup, "n_draws": n_draws, "engine": arguments.engine}
        KINDS[name](**settings).fit(*table(300, 3, 3))  # kernels are loaded
        for n_rows, n_columns, n_classes, own in SIZES[group]:
            X, y = table(n_rows, n_columns, n_classes)
            began = process_time()
            KINDS[name](**settings, **own).fit(X, y)
            taken, expected = process_time() - began, told[-1].seconds
            size = f"{n_rows} x {n_columns}, {n_classes}"
            print(
                f"{name}, {size}, {own}: {expected:.1f} s, {taken:.1f} s, {taken / expected:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
