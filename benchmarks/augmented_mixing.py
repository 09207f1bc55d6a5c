"""What the augmented sticks of the algorithm as printed cost in effective samples.

``python benchmarks/augmented_mixing.py [DATASET ...]``: logistic sticks as printed, with the binary
outcomes beyond a row's own stick drawn (augmented) and left out (marginal, the same posterior);
on small sets of up to four classes also with every order fixed. Quantiles of the effective
sample sizes of test rows' probabilities, of 1000 draws after 9000 sweeps, over the paper's: the
mean of three trials, the lowest and the highest of the orders.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import repository_root  # noqa: F401
from mean_of_orders import distinct_orders

from pasb import StickLogisticClassifier
from report import write
from reproduction.data_sets import load
from reproduction.paper import published
from reproduction.paper.effective import initial_sequence
from reproduction.paper.experiments.ess import QUANTILES
from reproduction.paper.table_models import LOGISTIC_PRIOR, PRINTED

SETS = ("square", "iris", "wine", "glass", "vehicle", "waveform", "segment", "dna", "satimage")
SMALL = ("square", "iris", "wine", "vehicle", "waveform")
N_TRIALS = 3


def sizes(part, trial: int, **changes) -> np.ndarray:
    """Effective sample sizes of all probabilities of the test rows."""
    settings = {**PRINTED, **LOGISTIC_PRIOR, **changes}
    model = StickLogisticClassifier(
        n_chains=1, n_warmup=9000, n_draws=1000, random_state=trial, progress=False, n_jobs=1,
        **settings,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(part.X_train, part.y_train)
    draws = model.sample_proba(part.X_test)
    each = initial_sequence(draws.reshape(len(draws), -1))
    return each[np.isfinite(each)]


def of_set(name: str) -> dict[str, dict[str, float]]:
    part = load(name).partition(0)
    paper = published.effective_sample_sizes()["pasb_mlr"]

    def shares(trials: list, over: Callable = np.mean) -> dict[str, float]:
        return {
            quantile: float(over([np.quantile(own, q) for own in trials]))
            / paper[name, quantile, "test"]
            for quantile, q in QUANTILES.items()
        }

    ways = ("augmented", "marginal")
    figures = {
        way: shares([sizes(part, trial, sticks=way) for trial in range(N_TRIALS)]) for way in ways
    }
    if name in SMALL:
        orders = distinct_orders(np.unique(part.y_train))
        for way in ways:
            each = [sizes(part, 0, sticks=way, order=order) for order in orders]
            figures[f"{way}, lowest of the orders"] = shares(each, np.min)
            figures[f"{way}, highest"] = shares(each, np.max)
    return figures


PARTS = {name: partial(of_set, name) for name in SETS}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "augmented-mixing-")
