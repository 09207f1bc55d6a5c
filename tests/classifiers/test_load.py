"""Many fits and predictions at once, and one after another for long: same results, no growth."""

from __future__ import annotations

import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

import pasb
from pasb.errors import ConvergenceWarning

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 15, "progress": False}


def data(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], y


X, Y = data()


def models(n_jobs=1):
    """One of each kind, with seeds of their own."""
    short = SHORT | {"n_jobs": n_jobs}
    return [
        pasb.StickLogisticClassifier(**short, random_state=1),
        pasb.StickRobitClassifier(**short, random_state=2),
        pasb.SoftplusClassifier(**short, n_experts=2, n_layers=2, random_state=3),
        pasb.StickSVMClassifier(**short, width=0.5, random_state=4),
    ]


def fit(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


@pytest.fixture(scope="module")
def alone():
    return [fit(model) for model in models()]


def assert_same(fitted, alone):
    for model, other in zip(fitted, alone, strict=True):
        assert type(model) is type(other)
        np.testing.assert_array_equal(model.draws_.order, other.draws_.order)
        for name, values in other.draws_.parameters.items():
            np.testing.assert_array_equal(model.draws_.parameters[name], values)


def in_threads(results):
    with ThreadPoolExecutor(4) as pool:
        results["threads"] = list(pool.map(fit, models(n_jobs=2)))


def in_processes(results):
    jobs = [joblib.delayed(model.fit)(X, Y) for model in models()]
    results["processes"] = joblib.Parallel(n_jobs=2)(jobs)


def in_joblib_threads(results):
    jobs = [joblib.delayed(model.fit)(X, Y) for model in models()]
    results["joblib threads"] = joblib.Parallel(n_jobs=3, backend="threading")(jobs)


def test_threads_processes_and_joblib_at_the_same_time(alone):
    results = {}
    ways = [in_threads, in_processes, in_joblib_threads]
    threads = [threading.Thread(target=way, args=(results,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert results.keys() == {"threads", "processes", "joblib threads"}
    for fitted in results.values():
        assert_same(fitted, alone)


def test_inside_cross_validation():
    """scikit-learn runs the folds in processes of joblib."""
    model = pasb.StickLogisticClassifier(**SHORT, random_state=1)
    serial, parallel = (
        cross_val_predict(model, X, Y, cv=3, n_jobs=n_jobs, method="predict_proba")
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(serial, parallel)


@pytest.mark.parametrize("kind", range(4))
def test_predictions_from_many_threads(alone, kind):
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=(n, 2)) for n in (1, 2, 255, 256, 257, 900)] * 4
    model = alone[kind]
    serial = [model.predict_proba(table) for table in tables]
    model.set_params(n_jobs=2)
    with ThreadPoolExecutor(16) as pool:
        at_once = list(pool.map(model.predict_proba, tables))
        draws = list(pool.map(lambda table: model.sample_proba(table, 5), tables[:6]))
    model.set_params(n_jobs=1)
    for one, other in zip(serial, at_once, strict=True):
        np.testing.assert_array_equal(one, other)
    for table, samples in zip(tables, draws, strict=False):
        np.testing.assert_array_equal(samples, model.sample_proba(table, 5))


# ---------------------------------------------------------------- soak


def resident():
    """Bytes of memory that the process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def soak(n_fits, n_sweeps, make):
    """Growth in resident memory from a fifth of the fits to the end, in bytes."""
    for k in range(n_fits):
        if k == n_fits // 5:
            before = resident()
        model = make(n_warmup=n_sweeps // 2, n_draws=n_sweeps - n_sweeps // 2, random_state=k)
        fit(model).predict_proba(X)
    return before, resident()


on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@on_linux
def test_many_fits_do_not_grow():
    def make(**settings):
        return pasb.StickLogisticClassifier(n_chains=1, n_jobs=1, progress=False, **settings)

    before, after = soak(120, 50, make)
    assert after - before < 8 * 2**20


@on_linux
@pytest.mark.slow
def test_a_million_sweeps_do_not_grow():
    """1000 fits of 1000 sweeps, with predictions."""

    def make(**settings):
        return pasb.StickLogisticClassifier(n_chains=1, n_jobs=1, progress=False, **settings)

    before, after = soak(1000, 1000, make)
    print(f"resident memory {before / 2**20:.1f} MiB at first, {after / 2**20:.1f} MiB at the end")
    assert after - before < 16 * 2**20


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("kind", range(1, 4))
def test_other_models_do_not_grow(kind):
    def make(**settings):
        return models()[kind].set_params(n_chains=1, **settings)

    before, after = soak(200, 100, make)
    print(f"resident memory {before / 2**20:.1f} MiB at first, {after / 2**20:.1f} MiB at the end")
    assert after - before < 16 * 2**20
