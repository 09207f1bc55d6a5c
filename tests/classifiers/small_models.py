"""Small models to save."""

from __future__ import annotations

import numpy as np

from pasb import (
    StickLogisticClassifier,
)

SMALL = {"n_chains": 2, "n_warmup": 10, "n_draws": 12, "n_swaps": 5, "n_jobs": 1, "random_state": 0}


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], y


X, Y = data()


def fit(labels=None, classifier=StickLogisticClassifier, table=X, **changes):
    y = Y if labels is None else np.asarray(labels)[Y]
    return classifier(**(SMALL | changes)).fit(table, y)
