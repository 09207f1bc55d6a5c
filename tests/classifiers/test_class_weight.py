"""Weights of classes: the same draws as the weights of rows that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import pasb
from pasb import (
    Logistic,
    Robit,
    SoftplusClassifier,
    StackedSoftplusClassifier,
    StickBreakingClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
    StickSVMClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SMALL = {"n_chains": 1, "n_warmup": 5, "n_draws": 8, "n_jobs": 1, "random_state": 0}
X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.repeat(["a", "b", "c"], [30, 20, 10])
TAKE_WEIGHTS = [
    StickLogisticClassifier(**SMALL),
    StickBreakingClassifier(binary=Logistic(), **SMALL),
    StickSVMClassifier(width=0.5, **SMALL),
]


@pytest.mark.parametrize("model", TAKE_WEIGHTS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("class_weight", "factors"),
    [
        ("balanced", {"a": 60 / 90, "b": 1.0, "c": 2.0}),
        ({"a": 0.5, "b": 3}, {"a": 0.5, "b": 3, "c": 1}),
        ({"c": 0}, {"a": 1, "b": 1, "c": 0}),
    ],
    ids=["balanced", "dict", "zero"],
)
def test_they_multiply_the_weights_of_rows(model, class_weight, factors):
    rows = np.array([factors[label] for label in Y])
    by_row = model.set_params(class_weight=None).fit(X, Y, sample_weight=rows).predict_proba(X)
    by_class = model.set_params(class_weight=class_weight).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(by_class, by_row)
    plain = model.set_params(class_weight=None).fit(X, Y).predict_proba(X)
    assert not np.array_equal(by_class, plain)


def test_balanced_counts_the_weights_of_rows():
    weights = np.where(Y == "a", 2 / 3, np.where(Y == "b", 1, 2))  # balanced already
    model = StickLogisticClassifier(**SMALL)
    expected = model.fit(X, Y, sample_weight=weights).predict_proba(X)
    model.set_params(class_weight="balanced").fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"z": 1}, "class_weight: 'z' is not a class; the classes are"),
        ({"a": -1}, "class_weight must hold non-negative numbers"),
        ({"a": np.inf}, "class_weight must hold non-negative numbers"),
        ({"a": 0, "b": 0, "c": 0}, "zero for every row"),
        ("even", "The 'class_weight' parameter"),
        ([1, 2, 3], "The 'class_weight' parameter"),
    ],
)
def test_impossible_weights(class_weight, message):
    with pytest.raises(ValueError, match=message):
        StickLogisticClassifier(class_weight=class_weight, **SMALL).fit(X, Y)


def test_models_without_weights_say_so():
    for kind in (StickRobitClassifier, SoftplusClassifier, StackedSoftplusClassifier):
        with pytest.raises(TypeError, match="class_weight"):
            kind(class_weight="balanced")
    model = StickBreakingClassifier(binary=Robit(), class_weight="balanced", **SMALL)
    with pytest.raises(ValueError, match="robit model, and class_weight None"):
        model.fit(X, Y)
    model = StickLogisticClassifier(sticks="augmented", class_weight="balanced", **SMALL)
    with pytest.raises(ValueError, match="sticks='augmented', and class_weight None"):
        model.fit(X, Y)


@pytest.mark.parametrize("class_weight", ["balanced", {1: 2.0, 2: 0.5}, None])
def test_files_hold_them(tmp_path, class_weight):
    labels = np.searchsorted(["a", "b", "c"], Y)
    model = StickLogisticClassifier(class_weight=class_weight, **SMALL).fit(X, labels)
    model.save(tmp_path / "m.pasb")
    again = pasb.load(tmp_path / "m.pasb")
    assert again.class_weight == class_weight
    np.testing.assert_array_equal(again.fit(X, labels).predict_proba(X), model.predict_proba(X))
