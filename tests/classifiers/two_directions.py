"""Models with both directions, and what their draws are compared by."""

from __future__ import annotations

import numpy as np

from pasb import (
    Logistic,
    Robit,
    Softplus,
    StickBreakingClassifier,
)

N_CHAINS, N_WARMUP, N_DRAWS = 2, 15, 20
LABELS = np.array(["ash", "oak", "yew"])
BINARIES = [Logistic(), Robit(), Softplus(n_experts=2, n_layers=2)]
DIRECTIONS = ("forward", "reverse")


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], LABELS[y]


X, Y = data()
NEW = np.random.default_rng(1).normal(size=(300, 2))


def fit(binary=None, direction="both", table=X, **changes):
    settings = {
        "n_chains": N_CHAINS,
        "n_warmup": N_WARMUP,
        "n_draws": N_DRAWS,
        "n_swaps": 5,
        "n_jobs": 1,
        "random_state": 3,
    }
    settings |= changes
    return StickBreakingClassifier(binary=binary, direction=direction, **settings).fit(table, Y)


def arrays(draws):
    return {
        "order": draws.order,
        "log_likelihood": draws.log_likelihood,
        **draws.statistics,
        **draws.parameters,
    }


def assert_same_draws(model, other):
    a, b = arrays(model.draws_), arrays(other.draws_)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
