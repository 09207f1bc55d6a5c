"""What fits and predictions take beside the data: as NumPy reports it, and as the kernel does."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier

N_ROWS, N_COLUMNS = 40_000, 15
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
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "peak_memory.py"


def some_data(n_rows: int, n_columns: int, n_categories: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    noise = rng.gumbel(size=(n_rows, n_categories))
    return X, np.argmax(X[:, :n_categories] + noise, axis=1)


def peak_bytes(run) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", MODELS)
def test_fit_and_prediction_allocate_little(name):
    X, y = some_data(N_ROWS, N_COLUMNS, 3)
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
    assert many < few + 1.5 * result


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_draws_and_approximations_are_stored_once(n_jobs):
    """Many draws of few rows: a fit takes no second copy of the draws, nor of the lattice."""
    X, y = some_data(1000, 39, 5)
    settings = {**SETTINGS, "n_chains": 2, "n_draws": 600, "order": "infer", "n_jobs": n_jobs}
    model = StickLogisticClassifier(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:500], y[:500])  # compiles
        peak = peak_bytes(lambda: model.fit(X, y))
    data = X.nbytes + y.nbytes
    kept = sum(values.nbytes for values in model.draws_.parameters.values())
    assert data + peak < 3 * (data + kept)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param("softplus 50000 11 3 2 1 1", id="softplus"),
        pytest.param(
            "softplus 400000 9 3 2 1 2", id="softplus, two threads", marks=pytest.mark.slow
        ),
        pytest.param("logistic 50000 11 3 2 2 2", id="logistic"),
    ],
)
def test_resident_memory_is_three_times_the_data_at_most(case):
    """Model, rows, covariates, classes, draws, chains and threads; heaps of threads count too.

    Two threads have metrics of 2 MB in all, whatever the rows; tables are large beside them.
    """
    command = [sys.executable, str(SCRIPT), *case.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["peak / (data + kept)"] < 3
