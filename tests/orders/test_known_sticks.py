"""Known sticks: all of them against the lattice; some of them against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.orders import enumerate_orders
from pasb.orders.known_sticks import KnownSticks, mark_useful, sticks_of, sum_known_orders
from pasb.orders.lattice import Lattice


def test_all_sticks_make_the_lattice(seed):
    rng = np.random.default_rng(seed)
    known = KnownSticks.all_of(4)
    assert len(known.keys) == 4 * (2**3 - 1)
    weights = rng.normal(size=len(known.keys))
    lattice = Lattice.of(4, lambda c, later: float(weights[known.number(c, later)]))
    below = np.empty(len(known.sets))
    sum_known_orders(known.graph, weights, below)
    assert below == pytest.approx(lattice.sets[known.sets])
    uniforms = rng.random((50, 4))
    for u in uniforms:
        assert (known.draw(weights, u) == lattice.draw(u)).all()


def test_some_sticks_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    orders = enumerate_orders(5)
    some = orders[rng.choice(len(orders), 6, replace=False)]
    known = KnownSticks.of(pair for order in some for pair in sticks_of(order))
    weights = rng.normal(size=len(known.keys))
    numbers = [[known.number(*pair) for pair in sticks_of(order)] for order in orders]
    complete = [one for one in numbers if min(one) >= 0]
    assert len(complete) >= 6
    total = np.array([np.exp(weights[one].sum()) for one in complete])
    expected = np.zeros(len(weights))
    for one, weight in zip(complete, total / total.sum(), strict=True):
        expected[one] += weight
    assert known.probabilities(weights) == pytest.approx(expected)
    assert known.number(0, 1 << 40) == -1


def test_what_makes_no_order_is_of_no_use():
    known = KnownSticks.of([(0, 0b110), (1, 0b100), (2, 0b010), (1, 0b101), (0, 0b100)])
    included = np.array([pair != (2, 0b010) for pair in known.pairs])
    included[known.number(0, 0b100)] = False
    left = mark_useful(known.graph, included, *np.zeros((2, len(known.sets))))
    useful = {pair for pair, use in zip(known.pairs, included, strict=True) if use}
    assert left == 2
    assert useful == {(0, 0b110), (1, 0b100)}


def test_the_most_probable_sticks_still_make_an_order(seed):
    rng = np.random.default_rng(seed)
    known = KnownSticks.all_of(5)
    order = rng.permutation(5)
    few = known.most_probable(3 * rng.normal(size=len(known.keys)), 12, order)
    assert 4 <= len(few.keys) <= 16
    assert all(few.number(*pair) >= 0 for pair in sticks_of(order))
    assert (few.probabilities(np.zeros(len(few.keys))) > 0).all()
