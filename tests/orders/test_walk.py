"""The walk in search of a good order."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.orders import Lattice, enumerate_orders
from pasb.orders.walk import walk


def random_lattice(n, seed):
    sticks = np.random.default_rng(seed).normal(scale=2, size=(n, 2**n))
    return Lattice.of(n, lambda c, later: sticks[c, later])


def test_walk_finds_the_best_order_of_a_small_lattice(seed):
    """Six categories: 720 orders, so the best one is known."""
    lattice = random_lattice(6, seed)
    orders = enumerate_orders(6)
    best = max(lattice.log_probability(order) for order in orders)
    rng = np.random.default_rng(seed)
    found = [walk(np.arange(6), lambda c, later: lattice.sticks[c, later], rng) for _ in range(10)]
    reached = [lattice.log_probability(order) for order in found]
    assert all(sorted(order) == list(range(6)) for order in found)
    assert max(reached) == pytest.approx(best)
    assert np.mean(reached) > np.mean([lattice.log_probability(order) for order in orders]) + 5


def test_walk_stops_at_its_bound():
    asked = set()

    def log_evidence(c, later):
        asked.add((c, later))
        return float(np.sin(c * later))

    order = walk(np.arange(40), log_evidence, np.random.default_rng(0), most_evidences=100)
    assert sorted(order) == list(range(40))
    assert len(asked) <= 105
