"""The public object of a fitted model, and that nobody goes around it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import pasb
from pasb.posterior.fitted import MOST_WATCHED, Fitted, WatchedRows


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(50, 2)), np.array(["a", "b", "c"])[np.arange(50) % 3]
    settings = {"n_chains": 2, "n_warmup": 5, "n_draws": 8, "random_state": 1, "progress": False}
    with pytest.warns(pasb.ConvergenceWarning):
        return pasb.StickLogisticClassifier(**settings).fit(X, y), X


def test_agrees_with_the_model(model):
    model, X = model
    fitted = model.fitted_
    assert isinstance(fitted, Fitted)
    assert fitted.draws is model.draws_
    assert fitted.directions == ("forward",)
    assert fitted.feature_names == ["x0", "x1"]
    assert not fitted.order_is_fixed
    assert fitted.last_two_tie
    np.testing.assert_array_equal(
        fitted.predictor().mean(fitted.columns(X)), model.predict_proba(X)
    )
    np.testing.assert_array_equal(fitted.columns(X), fitted.inner_rows(X)[:])
    np.testing.assert_array_equal(fitted.classes[fitted.top_order("forward")], model.order_)
    orders, counts = fitted.orders_by_frequency("forward")
    for order, count in zip(orders, counts, strict=True):
        assert fitted.in_order(order, "forward").sum() == count
        assert 1 <= fitted.n_visits(order, "forward") <= 2


def test_the_seed_is_known_until_the_model_is_saved(model, tmp_path):
    model, _ = model
    assert model.fitted_.seed == 1
    model.save(tmp_path / "model.pasb")
    assert pasb.load(tmp_path / "model.pasb").fitted_.seed is None


def test_watched_rows_are_training_rows(model):
    model, X = model
    watched = model.fitted_.watched
    np.testing.assert_array_equal(watched.inner, model.fitted_.columns(X)[watched.row])
    assert len(watched.row) == MOST_WATCHED
    assert set(watched.category) == {0, 1, 2}
    used = np.arange(50) % 2 == 0
    chosen = WatchedRows.of(model.fitted_.columns(X), np.arange(50) % 3, used)
    assert used[chosen.row].all()


def test_not_before_a_fit():
    with pytest.raises(NotFittedError):
        pasb.StickLogisticClassifier().fitted_  # noqa: B018
    assert not hasattr(pasb.StickLogisticClassifier(), "fitted_")


def test_the_tree_is_that_of_the_present_draws(model):
    model, _ = model
    tree = model.posterior_
    assert model.posterior_ is tree
    assert model.best_draw().posterior_["posterior"].sizes["draw"] == 1
    assert pickle.loads(pickle.dumps(model)).posterior_.identical(tree)
