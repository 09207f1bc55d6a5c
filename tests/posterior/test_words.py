"""What the order says about the data, in words."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from pasb import SoftplusClassifier, StickLogisticClassifier, StickSVMClassifier
from pasb.posterior.words import stick_divisions

FEW = {"n_warmup": 40, "n_draws": 40, "n_chains": 2, "random_state": 1, "progress": False}


def line(seed, centres, n_each=40):
    """Classes along a line; the outer ones can be split off by one cut."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(centres)), n_each)
    X = np.asarray(centres, dtype=float)[y, None] + rng.normal(scale=0.5, size=(len(y), 1))
    return X, np.array(["a", "b", "c", "d"])[y]


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def test_sure_of_the_first_class(seed):
    X, y = line(seed, [0, 1, 8])
    model = fitted(StickLogisticClassifier(order=["c", "a", "b"], **FEW), X, y)
    model.order = "infer"  # as if all draws had happened to have this order
    words = model.order_in_words(X, y)
    assert words.startswith("With probability 1.00, c is split off first, cleanly (")
    assert words.endswith("The order of the last two makes no difference to the model.")
    assert "Judged by" not in words


def test_fixed_order_and_its_splits(seed):
    X, y = line(seed, [0, 0.5, 8])
    model = fitted(StickLogisticClassifier(order=["c", "a", "b"], **FEW), X, y)
    words = model.order_in_words(X, y)
    assert words.startswith("c is split off first, cleanly (its stick stops ")
    assert "and a and b are told apart last, " in words
    assert "makes no difference" not in words
    shares = [int(share) for share in re.findall(r"(\d+)%", words)]
    assert len(shares) == 4
    assert shares[0] > 90 > 10 > shares[1]
    assert model.order_in_words().endswith("(Judged by 24 of the training rows.)")


def test_splits_are_means_over_rows_and_draws(seed):
    X, y = line(seed, [0, 1, 2])
    model = fitted(StickLogisticClassifier(order=["a", "c", "b"], **FEW), X, y)
    inner, categories = model._inner_rows(X)[:], np.searchsorted(model.classes_, y)
    order = np.array([0, 2, 1])
    every = np.ones((1, 40), dtype=bool)
    splits = stick_divisions(
        model.fitted_, order, "forward", np.array([0]), every, inner, categories
    )
    draws = model.draws_.parameters["coef"][0]
    stop = (1 / (1 + np.exp(-draws @ inner.T))).mean(axis=0)
    for k, category in enumerate(order[:-1]):
        own = stop[category, categories == category].mean()
        others = stop[category, np.isin(categories, order[k + 1 :])].mean()
        assert splits[k] == pytest.approx((own, others))


def test_two_equally_good_classes_are_both_named(seed):
    X, y = line(seed, [-2, 0, 2])
    model = fitted(StickLogisticClassifier(order=["c", "a", "b"], **FEW), X, y)
    order = model.draws_.order.copy()
    order[0] = [0, 2, 1]  # one chain has a on the first stick, the other one c
    model.draws_, model.order = replace(model.draws_, order=order), "infer"
    words = model.order_in_words(X, y)
    assert words.startswith("The class to split off first is a (50%), ")
    assert " or c (50%), " in words
    assert words.endswith(", hardly ever b.")


def test_two_classes_have_one_stick(seed):
    X, y = line(seed, [0, 5])
    words = fitted(StickLogisticClassifier(**FEW), X, y).order_in_words(X, y)
    assert words.startswith("a and b are told apart, cleanly (its stick stops ")
    assert "of the rows of a" in words


@pytest.mark.parametrize(
    "model",
    [SoftplusClassifier(n_experts=2, n_layers=2, **FEW), StickSVMClassifier(**FEW)],
    ids=["softplus", "svm"],
)
def test_other_models_and_two_directions(model, seed):
    X, y = line(seed, [0, 1, 8, 9], 12)
    words = fitted(model, X, y).order_in_words()
    assert "split off first" in words
    if isinstance(model, SoftplusClassifier):
        assert "Forward sticks: " in words
        assert "Reverse sticks: " in words


def test_refuses_labels_it_does_not_know(seed):
    X, y = line(seed, [0, 5])
    model = fitted(StickLogisticClassifier(**FEW), X, y)
    with pytest.raises(ValueError, match="one of the model's classes"):
        model.order_in_words(X, np.where(y == "b", "z", y))


def test_rows_without_a_choice_do_not_judge_a_stick(seed):
    """Shares that stop, by their definition, row for row."""
    X, y = line(seed, [0, 1, 2, 3])
    rng = np.random.default_rng(seed)
    available = rng.random((len(y), 4)) < 0.6
    available[np.arange(len(y)), np.searchsorted(list("abcd"), y)] = True
    model = StickLogisticClassifier(order=list("acdb"), **FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, availability=available)
    table = model.summary(X=X, y=y, availability=available)
    coef = model.draws_.parameters["coef"]
    stop = 1 / (1 + np.exp(-coef.reshape(-1, *coef.shape[2:]) @ model._inner_rows(X)[:].T))
    stop = np.asarray(stop[np.unique(np.linspace(0, 79, 50).astype(int))]).mean(axis=0)
    order = [0, 2, 3, 1]
    for k, category in enumerate(order[:-1]):
        own, others = [], []
        for i, label in enumerate(np.searchsorted(list("abcd"), y)):
            left = [c for c in order[k:] if available[i, c]]
            if label in left and category in left and len(left) > 1:
                (own if label == category else others).append(stop[category, i])
        row = table[table["stick"] == k + 1].iloc[0]
        assert row["stopped_own"] == pytest.approx(np.mean(own))
        assert row["stopped_others"] == pytest.approx(np.mean(others))
        assert row["rows"] == pytest.approx((len(own) + len(others)) / len(y))
    words = model.order_in_words(X, y, available)
    first = table[table["stick"] == 1].iloc[0]
    assert f"stops {first['stopped_own']:.0%} of its own rows" in words
    assert "rows count that could stop there and could go on" in words
    assert "could stop there" in model.order_in_words()
    with pytest.raises(ValueError, match="pass X and y too"):
        model.order_in_words(availability=available)
    with pytest.raises(ValueError, match="pass X and y too"):
        model.summary(availability=available)
