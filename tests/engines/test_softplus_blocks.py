"""Softplus models whose rows are in blocks of this process: the same draws from anywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pasb
from pasb import RowBlocks, SoftplusClassifier, StackedSoftplusClassifier
from pasb.errors import EngineError

pytestmark = pytest.mark.filterwarnings("ignore::pasb.ConvergenceWarning")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 150)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(500, 2))
    inside = (X**2).sum(axis=1) < 1.2
    return X, np.array(["in", "left", "right"])[np.where(inside, 0, 1 + (X[:, 0] > 0))]


def model(engine="blocks", **settings):
    usual = {"n_experts": 2, "n_layers": 1, "n_chains": 1, "n_warmup": 12, "n_draws": 6}
    return SoftplusClassifier(engine=engine, random_state=3, progress=False, **(usual | settings))


def same(one, other):
    first, second = one.draws_, other.draws_
    return (
        np.array_equal(first.order, second.order)
        and np.array_equal(first.log_likelihood, second.log_likelihood)
        and all(np.array_equal(v, second.parameters[k]) for k, v in first.parameters.items())
    )


@pytest.fixture(scope="module")
def expected(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", 150)
        return model().fit(*table)


def test_the_same_draws_from_files_and_threads(table, expected, tmp_path, monkeypatch):
    X, y = table
    assert same(model(n_jobs=1).fit(X, y), expected)
    assert same(model(n_jobs=3).fit(X, y), expected)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setenv("PASB_MEMORY", "0.000001")  # nothing fits
    assert same(model().fit(mapped, y), expected)


@pytest.mark.parametrize("cuts", [[500], [123, 7, 370], [250, 250]])
def test_the_same_draws_from_parquet(cuts, table, expected, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")
    frame = pd.DataFrame(table[0], columns=["a", "b"]).assign(place=table[1])
    first = 0
    for k, n in enumerate(cuts):
        frame.iloc[first : first + n].to_parquet(tmp_path / f"{k}.parquet", index=False)
        first += n
    assert same(model("cpu").fit(tmp_path, "place"), expected)


def test_a_fit_is_a_fit(table, expected, tmp_path):
    X, y = table
    assert expected.classes_.tolist() == ["in", "left", "right"]
    assert expected.score(X, y) > 0.8  # without a level: two thirds would be chance
    active = expected.draws_.parameters["active"]
    assert active.max() > 100
    assert expected.active_experts()["experts"].max() <= 2
    statistics = expected.posterior_["sample_stats"]
    assert (statistics["softplus_trajectory_gradients"] > 2).all()
    assert (statistics["swap_proposed"] == 100).all()
    expected.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert np.array_equal(again.predict_proba(X[:5]), expected.predict_proba(X[:5]))


def test_a_resumed_run_has_the_same_draws(table, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("pasb.sampling.run.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("pasb.engines.parted.PartedEngine.slice_seconds", 0.0)

    def fit(**more):
        return model(checkpoint=tmp_path / "run", **more).fit(*table)

    stopped = fit(callbacks=[lambda info: info.sweep == 14])
    assert stopped.draws_.ended == "interrupted"
    sweeps = []
    resumed = fit(callbacks=[lambda info: sweeps.append(info.sweep)])
    assert min(sweeps) == 15
    assert same(resumed, expected)
    for name, counts in expected.draws_.statistics.items():
        assert np.array_equal(counts, resumed.draws_.statistics[name])


def test_few_rows_start_as_chains_in_memory_do(table):
    orders = {"forward": ["in", "left", "right"], "reverse": ["left", "in", "right"]}
    here, there = model("cpu", order=orders), model(order=orders)
    here.fit(*table), there.fit(*table)
    assert np.array_equal(here._watched.row, there._watched.row)
    assert there.orders_["reverse"].tolist() == ["left", "in", "right"]
    # neither has forgotten its start: both are at the same mode
    likelihoods = [one.draws_.log_likelihood.mean(axis=1) for one in (here, there)]
    np.testing.assert_allclose(*likelihoods, atol=15)


def test_float32_is_close(table, expected):
    rounded = model(RowBlocks("float32")).fit(*table)
    assert not same(rounded, expected)
    np.testing.assert_allclose(
        rounded.draws_.log_likelihood, expected.draws_.log_likelihood, atol=1.0
    )


def test_the_run_may_become_twice_as_long(table, monkeypatch):
    monkeypatch.setattr("pasb.classifiers.softplus_classifier.LARGE", 1500)
    fitted = model(n_draws="auto")
    problems, schedule = fitted._prepare(*table)
    assert schedule.longest == 2  # by all rows: a sample would be small
    assert schedule.n_draws == 100
    assert len(problems) == 2


def test_what_cannot_be_done_is_refused(table):
    X, y = table
    for settings, words in (
        ({"scheme": "paper"}, "scheme='paper' needs all rows in memory"),
        ({"sticks": "augmented"}, "sticks='augmented' needs all rows"),
        ({"order": "swap"}, "order='swap' needs all rows"),
        ({"moves": "gibbs"}, "moves='gibbs' needs all rows"),
        ({"prune": True}, "prune=True needs all rows"),
    ):
        with pytest.raises(EngineError, match=words):
            model(**settings).fit(X, y)
    weights = np.ones(500)
    weights[499] = 0.5
    with pytest.raises(ValueError, match="sample_weight must be 0 or 1"):
        model().fit(X, y, weights)
    with pytest.raises(EngineError, match="softplus models use one GPU, not those of workers"):
        model(RowBlocks(client=object(), device="cuda")).fit(X, y)
    for engine in ("gpu", 3, None):
        with pytest.raises(ValueError, match="engine must be"):
            model(engine).fit(X, y)
    with pytest.raises(ValueError, match="data frames in memory are for engine='cpu'"):
        model().fit(pd.DataFrame(X), y)


def test_rows_of_weight_zero_are_left_out(table):
    X, y = table
    weights = (np.arange(500) % 5 > 0).astype(float)
    fitted = model(n_draws=2).fit(X, y, weights)
    assert np.isfinite(fitted.draws_.log_likelihood).all()
    assert fitted.draws_.parameters["active"].max() <= 400


def test_stacks_need_rows_in_memory(table):
    with pytest.raises(ValueError, match="'engine' parameter of StackedSoftplusClassifier"):
        StackedSoftplusClassifier(engine="blocks").fit(*table)
