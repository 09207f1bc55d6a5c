"""The lattice of orders against enumeration: sums, draws, precedence, the best orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from pasb.evidences.evidences import members
from pasb.orders import Lattice, enumerate_orders


def random_lattice(n, seed):
    sticks = np.random.default_rng(seed).normal(scale=2, size=(n, 2**n))
    return Lattice.of(n, lambda c, later: sticks[c, later])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_sums_over_all_orders(n, seed):
    lattice = random_lattice(n, seed)
    orders = enumerate_orders(n)
    joint = [sum(lattice.sticks[o[j], members(o[j + 1 :])] for j in range(n - 1)) for o in orders]
    assert lattice.log_evidence == pytest.approx(logsumexp(joint))
    assert [lattice.log_probability(o) for o in orders] == pytest.approx(joint - logsumexp(joint))


@pytest.mark.statistical(level=1e-6)
def test_draws_are_independent_draws_from_the_posterior(seed, level):
    lattice = random_lattice(4, seed)
    orders = enumerate_orders(4)
    expected = np.exp([lattice.log_probability(o) for o in orders])
    rng = np.random.default_rng(seed)
    n = 20_000
    counts = dict.fromkeys(map(tuple, orders), 0)
    for _ in range(n):
        counts[tuple(lattice.draw(rng.random(4)))] += 1
    observed = np.array(list(counts.values()))
    often = n * expected > 5
    statistic = np.sum((observed - n * expected)[often] ** 2 / (n * expected)[often])
    assert statistic < chi2.isf(level, often.sum())


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
