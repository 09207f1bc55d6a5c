"""What fits and predictions allocate beside the data, as NumPy reports it."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier

N_ROWS, N_COLUMNS = 20_000, 15
SETTINGS = {
    "n_chains": 1,
    "n_warmup": 1,
    "n_draws": 2,
    "order": [0, 1, 2],
    "n_jobs": 1,
    "random_state": 0,
    "progress": False,
}
MODELS = {
    "logistic": StickLogisticClassifier(**SETTINGS),
    "softplus": SoftplusClassifier(n_experts=4, n_layers=3, direction="forward", **SETTINGS),
}


def peak_bytes(run) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", MODELS)
def test_fit_and_prediction_allocate_little(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(N_ROWS, 3)), axis=1)
    model = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:500], y[:500]).predict_proba(X[:500])  # compiles
        fit = peak_bytes(lambda: model.fit(X, y))
    # with the data themselves three times their size
    assert fit < 2 * (X.nbytes + y.nbytes)
    few = peak_bytes(lambda: model.predict_proba(X[:5000]))
    many = peak_bytes(lambda: model.predict_proba(X))
    result = (N_ROWS - 5000) * 3 * 8
    # the check for values that are not finite takes a byte for each of them
    assert many < few + 1.5 * result + (N_ROWS - 5000) * N_COLUMNS
