"""A small softplus model."""

from __future__ import annotations

import numpy as np

from pasb import SoftplusClassifier

SMALL = {
    "n_experts": 3,
    "n_layers": 2,
    "n_chains": 2,
    "n_warmup": 10,
    "n_draws": 15,
    "n_swaps": 5,
    "n_jobs": 1,
    "random_state": 0,
}
LABELS = np.array(["ash", "oak", "yew"])


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], LABELS[y]


X, Y = data()
NEW = np.random.default_rng(1).normal(size=(300, 2))


def fit(table=X, labels=Y, sample_weight=None, **changes):
    model = SoftplusClassifier(**(SMALL | changes))
    return model.fit(table, labels, sample_weight=sample_weight)


def assert_same_draws(model, other):
    np.testing.assert_array_equal(model.draws_.order, other.draws_.order)
    np.testing.assert_array_equal(model.draws_.log_likelihood, other.draws_.log_likelihood)
    assert model.draws_.parameters.keys() == other.draws_.parameters.keys()
    for name, values in model.draws_.parameters.items():
        np.testing.assert_array_equal(values, other.draws_.parameters[name], err_msg=name)
