"""A short run of a small table, and what is compared afterwards."""

from __future__ import annotations

import numpy as np

from pasb import StickLogisticClassifier

N_WARMUP, N_DRAWS = 20, 30


def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2], y


X, Y = data()


def classifier(**changes):
    settings = {
        "n_chains": 2,
        "n_warmup": N_WARMUP,
        "n_draws": N_DRAWS,
        "n_swaps": 10,
        "n_jobs": 1,
        "random_state": 5,
    }
    return StickLogisticClassifier(**(settings | changes))


def fit(**changes):
    return classifier(**changes).fit(X, Y)


def arrays(model):
    draws = model.draws_
    return {
        "order": draws.order,
        "log_likelihood": draws.log_likelihood,
        **draws.statistics,
        **draws.parameters,
    }


def assert_same_draws(model, other, n=None):
    """Bit for bit, all draws or the first n."""
    a, b = arrays(model), arrays(other)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name][:, :n], b[name][:, :n], err_msg=name)
