"""Rows in blocks of this process: in memory, in files, rounded; and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasb import RowBlocks, StickLogisticClassifier
from pasb.engines.device import available
from pasb.errors import EngineError
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 150)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(600, 3))
    return X, np.argmax(X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(600, 3)), axis=1)


def model(engine="blocks", **settings):
    usual = {"n_chains": 2, "n_warmup": 4, "n_draws": 30, "random_state": 3, "progress": False}
    return StickLogisticClassifier(engine=engine, **(usual | settings))


def coef(fitted):
    return fitted.draws_.parameters["coef"]


def test_the_same_draws_from_files_and_threads(table, tmp_path, monkeypatch):
    expected = coef(model().fit(*table))
    assert np.array_equal(coef(model(n_jobs=1).fit(*table)), expected)
    assert np.array_equal(coef(model(RowBlocks(folder=tmp_path)).fit(*table)), expected)
    np.save(tmp_path / "X.npy", table[0])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setenv("PASB_MEMORY", "0.000001")  # nothing fits
    assert np.array_equal(coef(model().fit(mapped, table[1])), expected)


def test_float32_is_close_and_takes_half(table):
    exact, rounded = model().fit(*table), model(RowBlocks("float32")).fit(*table)
    assert not np.array_equal(coef(exact), coef(rounded))
    np.testing.assert_allclose(coef(exact), coef(rounded), atol=1e-4)


def test_weights_count_rows_twice(table):
    X, y = table
    twice = np.where(np.arange(600) < 300, 2.0, 1.0)
    settings = {"order": [0, 1, 2], "scale": None, "precision_rate": 8.0, "n_draws": 10}
    weighted = model(**settings).fit(X, y, twice)
    doubled = model(**settings).fit(np.concatenate([X, X[:300]]), np.concatenate([y, y[:300]]))
    assert weighted.draws_.log_likelihood == pytest.approx(doubled.draws_.log_likelihood, rel=1e-9)
    balanced = model(class_weight="balanced").fit(X, y)
    factors = 200 / np.bincount(y)
    assert np.allclose(coef(balanced), coef(model().fit(X, y, factors[y])), atol=1e-9)


def test_the_watched_rows_and_the_prior_are_those_of_rows_in_memory(table):
    here, there = model("cpu").fit(*table), model().fit(*table)
    assert np.array_equal(here._watched.row, there._watched.row)
    np.testing.assert_allclose(here._watched.inner, there._watched.inner, rtol=1e-12)
    assert here.precision_rate_ == there.precision_rate_
    assert there.n_features_in_ == 3
    assert not hasattr(there, "feature_names_in_")


def test_what_cannot_be_done_is_refused(table, tmp_path, monkeypatch):
    X, y = table
    for settings, words in (
        ({"scheme": "paper"}, "scheme='paper' needs all rows in memory"),
        ({"sticks": "augmented"}, "sticks='augmented' needs all rows"),
        ({"order": "swap"}, "order='swap' needs all rows"),
    ):
        with pytest.raises(EngineError, match=words):
            model(**settings).fit(X, y)
    for engine, words in (("gpu", "engine must be"), (3, "engine must be"), (None, "engine must")):
        with pytest.raises(ValueError, match=words):
            model(engine).fit(X, y)
    with pytest.raises(ValueError, match="storage must be one of"):
        RowBlocks("float16")
    with pytest.raises(ValueError, match="folder and client"):
        RowBlocks(folder=tmp_path, client=object())
    with pytest.raises(ValueError, match="device must be one of"):
        RowBlocks(device="gpu")
    if not available():
        with pytest.raises(EngineError, match="engine='cuda'"):
            model("cuda").fit(X, y)
    for bad, words in (
        ((pd.DataFrame(X), y), "data frames in memory are for engine='cpu'"),
        ((X, y[:-1]), "one entry for each of the 600 rows"),
        ((X[0], y), "two dimensions"),
        ((X.astype(str), y), "X must hold numbers"),
        ((X, np.zeros(600)), "one class only"),
        ((np.where(X > 2, np.nan, X), y), "contains NaN"),
        (("no/file.parquet", "y"), "no Parquet file"),
        (("no/file.parquet", y), "y must be the name of a column"),
    ):
        with pytest.raises(ValueError, match=words):
            model().fit(*bad)
    monkeypatch.setattr("pasb.engines.parted.MOST_COLUMNS", 3)
    with pytest.raises(EngineError, match="4 columns are too many"):
        model().fit(X, y)


def test_what_does_not_fit_anywhere_is_refused(table, monkeypatch):
    monkeypatch.setenv("PASB_MEMORY", "0.000001")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Use", (), {"free": 100}))
    with pytest.raises(ValueError, match=r"600 rows take .* RowBlocks\(storage='float32'\)"):
        model().fit(*table)


def test_other_models_and_rows_in_memory_are_refused(table):
    from pasb.binary import Softplus, SupportVector
    from pasb.engines.parted import check_problem
    from pasb.sampling.row_sums import PartedRows

    rows = Rows.of(table[0], table[1], 3)
    with pytest.raises(EngineError, match="needs rows in parts"):
        check_problem(Problem(rows, Softplus()))
    elsewhere = PartedRows(rows.blocks[:0], np.zeros(0), rows.bounds, 3)
    with pytest.raises(EngineError, match="SupportVector sticks need all rows in memory"):
        check_problem(Problem(elsewhere, SupportVector()))


def test_stopping_and_time(table):
    stopped = model(n_draws=200, callbacks=[lambda info: info.sweep == 50]).fit(*table)
    assert stopped.draws_.ended == "interrupted"
    assert 40 <= stopped.draws_.n_draws <= 60
    goal = model(n_draws=400, until={"ess": 30}).fit(*table)
    assert goal.draws_.ended == "until"
    assert goal.draws_.n_draws < 400
    whole = model(n_draws=400).fit(*table)
    assert np.array_equal(coef(goal), coef(whole)[:, : goal.draws_.n_draws])


def test_separated_classes_are_sampled_by_trajectories():
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(-4, 1, 30), rng.normal(4, 1, 30)])[:, None]
    fitted = model(n_draws=60).fit(X, np.repeat([0, 1], 30))
    assert fitted.draws_.statistics["trajectory_accepted"].sum() > 60
