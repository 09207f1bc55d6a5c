"""Evidences of orders without a chain: against enumeration, and what users see of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pasb
from pasb import SoftplusClassifier, StickLogisticClassifier, StickRobitClassifier
from pasb.binary import Logistic
from pasb.evidences.filling import evidence_lattice
from pasb.numerics.rows import Rows
from pasb.orders import Lattice, enumerate_orders
from pasb.sampling.problem import Problem


def random_lattice(n, seed):
    sticks = np.random.default_rng(seed).normal(scale=2, size=(n, 2**n))
    return Lattice.of(n, lambda c, later: sticks[c, later])


def probabilities(lattice):
    orders = enumerate_orders(lattice.n_categories)
    return orders, np.exp([lattice.log_probability(order) for order in orders])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_probability_of_sitting_before(n, seed):
    lattice = random_lattice(n, seed)
    orders, shares = probabilities(lattice)
    place = np.argsort(orders, axis=1)
    expected = np.einsum("o,oab->ab", shares, place[:, :, None] < place[:, None, :])
    assert lattice.before() == pytest.approx(expected)


@pytest.mark.parametrize("n", [2, 4, 5])
def test_best_orders(n, seed):
    lattice = random_lattice(n, seed)
    orders, shares = probabilities(lattice)
    ranking = np.argsort(-shares)
    assert (lattice.best_order() == orders[ranking[0]]).all()
    assert (lattice.best_orders(7) == orders[ranking[:7]]).all()
    assert len(lattice.best_orders(1000)) == len(orders)


def test_orders_that_end_in_a_tie_are_listed_once(seed):
    lattice = random_lattice(4, seed).with_ties()
    orders, shares = probabilities(lattice)
    once = orders[:, -2] < orders[:, -1]
    assert shares[once].sum() == pytest.approx(0.5)
    ranking = np.argsort(-shares[once])
    assert (lattice.best_orders(12, tied=True) == orders[once][ranking]).all()
    assert len(lattice.best_orders(100, tied=True)) == 12


def clusters(seed, n_classes=4, n_each=20):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_each)
    X = rng.normal(size=(n_classes, 3))[y] * 1.5 + rng.normal(size=(len(y), 3))
    return X, y


def problem_of(seed, n_classes=5):
    X, y = clusters(seed, n_classes)
    return Problem(Rows.of(np.column_stack([np.ones(len(y)), X]), y, n_classes), Logistic())


def test_starts_from_neighbours_give_the_same_evidences(seed):
    store = problem_of(seed).approximations()
    filled = evidence_lattice(store).sticks
    expected = Lattice.of(5, store.log_evidence).sticks
    known = np.isfinite(expected)
    assert (np.isfinite(filled) == known).all()
    assert filled[known] == pytest.approx(expected[known], abs=0.01)


def test_nothing_depends_on_the_number_of_threads(seed):
    problem = problem_of(seed)
    one, many = problem.approximations(1), problem.approximations(3)
    assert (evidence_lattice(one).sticks == evidence_lattice(many).sticks).all()
    assert (one.lattice().sticks == many.lattice().sticks).all()
    for left, right in zip(one.all_gaussians(None), many.all_gaussians(None), strict=True):
        assert (left == right).all()
    searched = [problem.approximations(n).searched_order(seed) for n in (1, 3)]
    assert (searched[0] == searched[1]).all()


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
    drawn = found.draw(200, random_state=1)
    assert drawn.shape == (200, 4)
    assert (np.sort(drawn, axis=1) == names).all()
    assert (drawn == found.draw(200, random_state=1)).all()
    assert "exact" in repr(found)


def test_the_sticks_of_an_order_are_those_of_a_model_with_that_order(seed):
    """The evidence of an order by the lattice is the sum of its sticks by the store."""
    X, y = clusters(seed)
    model = StickLogisticClassifier(scale=None, precision=0.5)
    found = pasb.order_evidence(X, y, model=model)
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
    assert not found.exact
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


def test_a_frequent_and_clear_category_comes_first(seed):
    """Rare categories have more to gain per row; that must not put them first."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(10), [200] + [6] * 9)
    X = np.where(y == 0, -3.0, 3.0) + rng.normal(size=len(y))
    rows = Rows.of(np.column_stack([np.ones(len(y)), X, rng.normal(size=len(y))]), y, 10)
    assert Problem(rows, Logistic()).approximations().by_separation()[0] == 0
