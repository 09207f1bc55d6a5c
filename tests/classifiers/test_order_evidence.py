"""Evidences of orders without a chain: against enumeration, and what users see of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pasb
from pasb import SoftplusClassifier, StickLogisticClassifier, StickRobitClassifier
from pasb.binary import Logistic
from pasb.numerics.rows import Rows
from pasb.orders import enumerate_orders
from pasb.sampling.problem import Problem


def clusters(seed, n_classes=4, n_each=20):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_each)
    X = rng.normal(size=(n_classes, 3))[y] * 1.5 + rng.normal(size=(len(y), 3))
    return X, y


@pytest.mark.parametrize(
    "model", [None, StickRobitClassifier(), StickRobitClassifier(df=np.inf)], ids=str
)
def test_evidences_of_every_order(model, seed):
    X, y = clusters(seed)
    names = np.array(["a", "b", "c", "d"])
    found = pasb.order_evidence(X, names[y], model=model)
    orders = names[enumerate_orders(4)]
    shares = np.array([found.probability(order) for order in orders])
    assert shares.sum() == pytest.approx(2.0)  # both forms of the last two count as one
    assert found.probability(found.order) == pytest.approx(shares.max())
    mirrored = [*found.order[:2], *found.order[:1:-1]]
    assert found.probability(mirrored) == pytest.approx(shares.max())
    table = found.order_posterior(top=100)
    assert table["probability"].sum() == pytest.approx(1.0)
    assert table["probability"].is_monotonic_decreasing
    assert table["order"][0] == " > ".join([*found.order[:2], " / ".join(found.order[2:])])
    assert table["log_evidence"][0] == pytest.approx(found.log_evidence_of_order)
    mean = np.log(np.mean(np.exp(np.repeat(table["log_evidence"], 2) - found.log_evidence)))
    assert mean == pytest.approx(0.0, abs=1e-9)
    before = found.before()
    assert np.isnan(before.diagonal()).all()
    off = ~np.eye(4, dtype=bool)
    assert (before + before.T)[off] == pytest.approx(1.0)
    sticks = found.sticks()
    assert sticks["class"].tolist() == found.order[:3].tolist()
    assert sticks["against"][1] == ", ".join(sorted(found.order[2:]))
    assert sticks["log_evidence"].sum() == pytest.approx(found.log_evidence_of_order)
    drawn = found.draw(200, random_state=1)
    assert drawn.shape == (200, 4)
    assert (np.sort(drawn, axis=1) == names).all()
    assert (drawn == found.draw(200, random_state=1)).all()
    assert "all orders" in repr(found)


def test_the_sticks_of_an_order_are_those_of_a_model_with_that_order(seed):
    """The evidence of an order by the lattice is the sum of its sticks by the store."""
    X, y = clusters(seed)
    model = StickLogisticClassifier(scale=None, precision=0.5)
    found = pasb.order_evidence(X, y, model=model, n_importance=0)
    rows = Rows.of(np.column_stack([np.ones(len(y)), X]), y, 4)
    store = Problem(rows, Logistic(precision=0.5)).approximations()
    expected = store.evidence_of_order(found.order)
    assert found.log_evidence_of_order == pytest.approx(expected, abs=0.01)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_are_of_the_kind_that_came_in(library, seed):
    X, y = clusters(seed, 3)
    frame = library.DataFrame({f"x{k}": X[:, k] for k in range(3)})
    found = pasb.order_evidence(frame, y)
    assert isinstance(found.order_posterior(), library.DataFrame)
    pairs = found.before_frame()
    assert isinstance(pairs, library.DataFrame)
    assert list(pairs.columns) == ["first", "second", "probability"]
    assert pairs.shape == (6, 3)
    assert pairs["probability"][0] == found.before()[0, 1]


def test_many_classes_are_searched(seed):
    X, y = clusters(seed, 13, 12)
    found = pasb.order_evidence(X, y, random_state=seed)
    assert not found.complete
    assert sorted(found.order) == list(range(13))
    assert "searched" in repr(found)
    with pytest.raises(ValueError, match="there are 13 classes"):
        found.before()


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (SoftplusClassifier(), [0, 1, 2, 0, 1, 2], "normal approximations"),
        (None, [0] * 6, "one class only"),
    ],
)
def test_refusals(model, y, message):
    with pytest.raises(ValueError, match=message):
        pasb.order_evidence(np.arange(12.0).reshape(6, 2), y, model=model)
