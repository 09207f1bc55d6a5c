"""Effective samples of class probabilities: plain Gibbs against the default moves.

``python benchmarks/mixing.py [DATA ...]``.

One fit each, four chains of 1000 + 1000 sweeps, the same seed; the effective sample size
is that of the class probabilities of some training rows (worst, and median), R-hat the
worst of them. "swap" is the plain swap chain from a random order, "infer" the default.
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

import numpy as np

from pasb import Logistic, Robit, StickBreakingClassifier, datasets
from pasb.binary import BinaryModel

SETTINGS = {
    "gibbs, order by swaps": (Logistic(moves="gibbs"), "swap"),
    "mixed, order by swaps": (Logistic(), "swap"),
    "mixed, order inferred": (Logistic(), "infer"),
    "robit, gibbs, order by swaps": (Robit(moves="gibbs"), "swap"),
    "robit, mixed, order inferred": (Robit(), "infer"),
}


def fit(name: str, binary: BinaryModel, order: str) -> dict[str, float]:
    part = datasets.load(name).partition(0)
    model = StickBreakingClassifier(binary=binary, order=order, random_state=1, progress=False)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part.X_train, part.y_train)
    seconds = perf_counter() - began
    seen = model.diagnostics_
    return {
        "seconds": seconds,
        "worst R-hat": seen.worst_rhat,
        "worst ESS": float(np.min(seen.ess_probability)),
        "median ESS": float(np.median(seen.ess_probability)),
        "median ESS a second": float(np.median(seen.ess_probability)) / seconds,
        "test error, %": 100 * float(np.mean(model.predict(part.X_test) != part.y_test)),
    }


def measure(names=("iris", "wine", "vehicle", "satimage")) -> dict[str, dict[str, float]]:
    return {
        f"{name}: {setting}": fit(name, *how) for name in names for setting, how in SETTINGS.items()
    }


if __name__ == "__main__":
    chosen = (tuple(sys.argv[1:]),) if len(sys.argv) > 1 else ()
    for case, figures in measure(*chosen).items():
        print(f"{case:36}", "  ".join(f"{k} {v:.4g}" for k, v in figures.items()))
