"""The lattice of orders against enumeration, and independence of the shared store."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from pasb import StickLogisticClassifier
from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.evidences.evidences import members
from pasb.numerics.rows import Rows
from pasb.orders import Lattice, enumerate_orders
from pasb.orders.walk import walk
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper


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


def test_approximations_do_not_depend_on_who_asked_first(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    rows = Rows.of(X, rng.integers(4, size=80), 4)
    problem = Problem(rows, Logistic())
    one, other = problem.approximations(), problem.approximations()
    one.lattice()
    for category, later in [(0, 0b1000), (2, 0b1011), (3, 0b0100)]:
        stick = ((category, later),)
        assert (one.gaussians(stick) == other.gaussians(stick)).all()


def test_store_stays_within_its_capacity(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 1))])
    store = Problem(Rows.of(X, rng.integers(6, size=40), 6), Logistic()).approximations()
    store.capacity = 10
    assert store.lattice() is None
    for later in range(1, 32):
        store.gaussians(((5, later),))
    assert len(store._stacked) <= 10


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


def test_many_categories_start_from_a_searched_order(seed):
    """Twelve clusters on a grid: inner ones can only be split off after the outer ones."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(12), 25)
    centres = np.array([[a, b] for a in range(4) for b in range(3)], dtype=float)
    X = centres[y] + rng.normal(scale=0.2, size=(len(y), 2))
    rows = Rows.of(np.column_stack([np.ones(len(y)), X - X.mean(axis=0)]), y, 12)
    problem = Problem(rows, Logistic())
    store = problem.approximations()
    assert store.lattice() is None
    order = store.searched_order(seed)
    reached = store.evidence_of_order(order)
    others = [rng.permutation(12) for _ in range(40)]
    assert reached >= store.evidence_of_order(store.by_separation())
    assert reached > max(map(store.evidence_of_order, others)) + 20
    assert order[0] not in (4, 7)  # the two in the middle
    starts = [Sweeper(problem, store).start(Keys(seed, k, 0)).order for k in range(2)]
    assert all((start == order).all() for start in starts)


def test_what_stands_in_the_way_is_peeled_off_first(seed):
    """Nine clusters in a ring, which no cut can tell from them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(10), [100] + 9 * [40])
    angle = rng.uniform(0, 2 * np.pi, 100)
    ring = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    centres = np.array([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)], dtype=float)
    inner = centres[y[100:] - 1] + rng.normal(scale=0.1, size=(360, 2))
    rows = Rows.of(np.column_stack([np.ones(460), np.concatenate([ring, inner])]), y, 10)
    store = Problem(rows, Logistic()).approximations()
    peeled = store.peeled()
    assert peeled[0] == 0
    assert sorted(peeled) == list(range(10))
    gain = store.evidence_of_order(peeled) - store.evidence_of_order(store.by_separation())
    assert gain > 300


def test_chains_from_different_starts_agree_on_the_order(seed):
    """Two orders are equally good here; plain swaps find one of them and stay."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 1)) * 0.6 + np.array([[-2.0], [0.0], [2.0]])[y]
    model = StickLogisticClassifier(n_warmup=300, n_draws=700, random_state=seed).fit(X, y)
    first = model.draws_.order[:, :, 0]
    # the middle class cannot be split off first by one cut
    assert (first != 1).mean() > 0.99
    share = (first == 0).mean(axis=1)
    assert share.min() > 0.2
    assert share.max() < 0.8
