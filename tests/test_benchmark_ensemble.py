"""Pieces of the benchmarks of estimators on sticks and of choice tables."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_coupling_gives_back_probabilities_that_pairs_agree_on(benchmark):
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    with np.errstate(invalid="ignore"):
        r = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    r[:, np.arange(5), np.arange(5)] = 0.0
    np.testing.assert_allclose(benchmark("ensemble_learners").coupled(r), p, atol=1e-9)


def test_partitions_have_enough_rows_of_each_class(benchmark):
    part = benchmark("ensemble").partition("glass", 1)
    counts = np.bincount(part.y_train)
    assert len(part.y_train) <= 500
    assert counts.min() >= 7  # a share of each class, up to one row
    assert part.n_classes < 6  # glass has classes of 9 and 13 rows
    assert set(part.y_test) <= set(part.y_train)


@pytest.mark.parametrize("way", ["native", "one against rest", "one against one", "sticks"])
def test_every_way_predicts(benchmark, way):
    found = benchmark("ensemble").of_fit("naive Bayes", way, benchmark("tables").load("iris"))
    assert found["error %"] < 15
    assert found["log loss"] < 0.5


def test_the_summary_compares(benchmark):
    ours, theirs = ({"log loss": x, "error %": 10 * x, "seconds": x} for x in (0.5, 1.0))
    found = benchmark("ensemble").compared([(ours, theirs), (theirs, theirs)], "")
    assert found["log loss, ratio"] == "0.707"
    assert found["lower"] == "1 of 2"
    assert found["error, points"] == "-2.50"


def choices(benchmark, n=60):
    rng = np.random.default_rng(0)
    names = ["bus", "car"]
    available = pd.DataFrame({"bus": True, "car": np.arange(n) % 3 > 0})
    chosen = np.where(available["car"], rng.integers(2, size=n), 0)
    return benchmark("choice_tables").ChoiceTable(
        alternatives=names,
        chooser=pd.DataFrame({"age": rng.normal(size=n), "constant": 1.0}),
        attributes={"price": pd.DataFrame(rng.normal(size=(n, 2)), columns=names)},
        available=available,
        chosen=chosen,
        persons=np.arange(n) // 2,
        nests={},
    )


def test_choice_tables_keep_persons_together(benchmark):
    train, test = choices(benchmark).divided()
    assert len(train.chosen) == 40
    assert not set(train.persons) & set(test.persons)
    assert (train.available.to_numpy()[np.arange(40), train.chosen]).all()
    assert list(train.wide().columns) == ["age", "price bus", "price car", "available car"]


class Even(BaseEstimator):
    """Both alternatives are as probable, whatever is available."""

    def fit(self, X, y):
        self.classes_, self.columns_ = np.unique(y), list(X.columns)
        return self

    def predict_proba(self, X):
        assert list(X.columns) == self.columns_
        return np.full((len(X), 2), 0.5)


class Told(Even):
    """Wants to know what is available."""

    def fit(self, X, y, availability=None):
        self.told_ = availability
        return super().fit(X, y)


def test_unavailable_alternatives_get_nothing(benchmark):
    peers = benchmark("choice_peers")
    train, test = choices(benchmark).divided()
    p = peers.OnColumns(Even()).fit(train).predict_proba(test)
    assert np.array_equal(p[:, 1], np.where(test.available["car"], 0.5, 0.0))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    known = peers.shares(train, test)
    assert (known[~test.available["car"].to_numpy(), 0] == 1).all()
    assert peers.scores(p, test.chosen)["log score"] < 0
    told = peers.OnColumns(Told()).fit(train)
    assert np.array_equal(told.classifier.told_, train.available.to_numpy())


@pytest.mark.parametrize("name", ["swissmetro", "mode_canada", "heating", "fishing"])
def test_tables_of_packages(benchmark, name):
    tables = benchmark("choice_tables")
    try:
        table = tables.TABLES[name]()
    except tables.Absent as error:
        pytest.skip(str(error))
    assert table.available.to_numpy()[np.arange(len(table.chosen)), table.chosen].all()
    assert np.isfinite(table.wide().to_numpy(float)).all()
    assert list(table.available.columns) == table.alternatives
    for frame in table.attributes.values():
        assert list(frame.columns) == table.alternatives
    assert {a for nest in table.nests.values() for a in nest} <= set(table.alternatives)
