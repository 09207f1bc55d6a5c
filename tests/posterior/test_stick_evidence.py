"""The evidence of each stick in `summary()` is that of `pasb.order_evidence`."""

from __future__ import annotations

import numpy as np
import pytest

import pasb
from pasb import StickLogisticClassifier, StickRobitClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:summary. Several orders"),
]

SHORT = {"n_chains": 1, "n_warmup": 5, "n_draws": 20, "n_jobs": 1, "random_state": 0}


def clusters(seed, n_classes=4, n_each=20):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_each)
    X = rng.normal(size=(n_classes, 3))[y] * 1.5 + rng.normal(size=(len(y), 3))
    return X, np.array(list("abcdefghijklmnop"))[y]


@pytest.mark.parametrize("kind", [StickLogisticClassifier, StickRobitClassifier])
def test_as_order_evidence_has_it(kind, seed):
    X, y = clusters(seed)
    model = kind(**SHORT).fit(X, y)
    found = pasb.order_evidence(X, y, model=model)
    for order in (model.order_, model.classes_[::-1]):
        fixed = kind(order=order, **SHORT).fit(X, y)
        for own in (model, fixed):
            table = own.summary(X=X, y=y).drop_duplicates("stick")
            sticks = found.sticks(own.order_)
            assert table["class"].tolist() == sticks["class"].tolist()
            np.testing.assert_allclose(table["log_evidence"], sticks["log_evidence"], atol=0.01)


def test_every_probable_order_has_them(seed):
    X, y = clusters(seed)
    model = StickLogisticClassifier(**SHORT).fit(X, y)
    found = pasb.order_evidence(X, y, model=model)
    table = model.summary(orders=3, X=X, y=y).drop_duplicates(["order", "stick"])
    for label, own in table.groupby("order"):
        order = label.replace(" / ", " > ").split(" > ")
        expected = found.sticks(order)["log_evidence"]
        np.testing.assert_allclose(own["log_evidence"], expected, atol=0.01)


def test_more_classes_than_a_lattice_has():
    X, y = clusters(3, n_classes=13, n_each=5)
    model = StickLogisticClassifier(**SHORT).fit(X, y)
    table = model.summary(X=X, y=y).drop_duplicates("stick")
    assert len(table) == 12
    assert np.isfinite(table["log_evidence"]).all()


def test_rows_without_some_classes():
    X, y = clusters(3)
    model = StickLogisticClassifier(order=list("abcd"), **SHORT).fit(X, y)
    some = y != "b"
    table = model.summary(X=X[some], y=y[some]).drop_duplicates("stick")
    assert (table["log_evidence"] <= 0.01).all()  # importance sampling has an error


@pytest.mark.parametrize("change", ["horseshoe", "availability"])
def test_not_defined(change):
    X, y = clusters(3)
    settings = {"prior": pasb.Horseshoe()} if change == "horseshoe" else {}
    model = StickLogisticClassifier(**SHORT, **settings)
    allowed = np.ones((len(y), 4), dtype=bool)
    allowed[0, 1] = False  # an "a" that could not be "b"
    given = {"availability": allowed} if change == "availability" else {}
    model.fit(X, y, **given)
    assert model.summary(X=X, y=y, **given)["log_evidence"].isnull().all()
