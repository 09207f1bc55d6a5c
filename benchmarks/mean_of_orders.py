"""Does one order predict as well as the mean of all?

``python benchmarks/mean_of_orders.py [DATASET ...]``: logistic sticks on sets of three and four
classes. The test error and log loss of every fixed order (the two of a pair that differ in the
last two categories are the same model), of the inferred order, and of the mean of the
probabilities of all orders, each over three partitions where a set has as many.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from itertools import permutations

import numpy as np
import repository_root  # noqa: F401
from sklearn.metrics import log_loss

from pasb import StickLogisticClassifier
from report import write
from reproduction.data_sets import load

SETS = ("iris", "wine", "square", "waveform", "dna", "vehicle")
N_PARTITIONS = 3


def distinct_orders(classes: np.ndarray) -> list[list]:
    """Orders whose last two categories are sorted."""
    return [list(o) for o in permutations(classes.tolist()) if o[-2] < o[-1]]


def probabilities(part, order) -> np.ndarray:
    model = StickLogisticClassifier(
        order=order, n_chains=1, n_warmup=200, n_draws=500, random_state=0, progress=False, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(part.X_train, part.y_train).predict_proba(part.X_test)


def of_partition(part) -> dict[str, float]:
    classes = np.unique(part.y_train)

    def scores(p: np.ndarray) -> np.ndarray:
        error = 100 * np.mean(classes[p.argmax(axis=1)] != part.y_test)
        return np.array([error, log_loss(part.y_test, p, labels=classes)])

    fixed = [probabilities(part, order) for order in distinct_orders(classes)]
    each = np.array([scores(p) for p in fixed])
    named = {
        "lowest": each.min(axis=0),
        "highest": each.max(axis=0),
        "inferred": scores(probabilities(part, "infer")),
        "mean of all": scores(np.mean(fixed, axis=0)),
    }
    return {
        f"{what}, {name}": float(value)
        for which, what in enumerate(("error %", "log loss"))
        for name, value in ((name, pair[which]) for name, pair in named.items())
    }


def of_set(name: str) -> dict[str, float]:
    data = load(name)
    n = 1 if name == "dna" else N_PARTITIONS
    figures = [of_partition(data.partition(k)) for k in range(n)]
    return {"partitions": n} | {
        key: float(np.mean([f[key] for f in figures])) for key in figures[0]
    }


PARTS = {name: partial(of_set, name) for name in SETS}

if __name__ == "__main__":
    write(PARTS, sys.argv[1:] or list(PARTS), "mean-of-orders-")
