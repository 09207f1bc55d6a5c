"""The order: the table against brute force, the swaps against exact enumeration.

The oracle: with intercepts only and a standard normal prior, the evidence of a stick is
a one-dimensional integral, so the posterior over all orders follows by quadrature.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from calibration.order_mistakes import WholeOrders, WholeOrdersUnnormalised
from scipy.stats import chi2, norm

from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.datasets import load
from pasb.moves.swap import swap_gain, swap_moves
from pasb.numerics.rows import Rows
from pasb.orders import OrderTable, enumerate_orders
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import log_probabilities


def random_table(n_categories, n_rows, rng):
    """Accept and reject logs of random rows, and the table they give."""
    success = rng.uniform(0.05, 0.95, (n_categories, n_rows))
    accept, reject = np.log(success), np.log1p(-success)
    y = rng.integers(n_categories, size=n_rows)
    sums = [
        np.array(
            [[logs[j, y == s].sum() for s in range(n_categories)] for j in range(n_categories)]
        )
        for logs in (accept, reject)
    ]
    return accept, reject, y, OrderTable(*sums, rng.normal(size=n_categories))


@pytest.mark.parametrize("n_categories", [2, 3, 5])
def test_table_gives_the_likelihood_of_every_order(n_categories, seed):
    accept, reject, y, table = random_table(n_categories, 50, np.random.default_rng(seed))
    for order in enumerate_orders(n_categories):
        rows = log_probabilities(accept, reject, order)[y, np.arange(50)]
        assert table.log_likelihood(order) == pytest.approx(rows.sum())


def test_gain_of_a_swap_is_the_difference_of_the_targets(seed):
    table = random_table(6, 80, np.random.default_rng(seed))[-1]

    def target(order):
        return table.log_likelihood(order) + table.reference[order[-1]]

    order = np.random.default_rng(seed).permutation(6)
    for a in range(6):
        for b in range(a + 1, 6):
            swapped = order.copy()
            swapped[a], swapped[b] = order[b], order[a]
            gain = swap_gain(*table, order, a, b)
            assert gain == pytest.approx(target(swapped) - target(order))


@pytest.mark.statistical(level=1e-6)
def test_swaps_on_a_fixed_table_visit_orders_as_the_target_says(seed, level):
    rng = np.random.default_rng(seed)
    table = OrderTable(*rng.normal(size=(2, 4, 4)), rng.normal(size=4))
    orders = enumerate_orders(4)
    target = np.array([table.log_likelihood(o) + table.reference[o[-1]] for o in orders])
    expected = np.exp(target - target.max())
    expected /= expected.sum()
    n, order = 4000, np.arange(4)
    counts = dict.fromkeys(map(tuple, orders), 0)
    for sweep in range(n):
        swap_moves(*table, order, 60, Keys(seed, 0, sweep).at(4))
        counts[tuple(order)] += 1
    observed = np.array([counts[tuple(o)] for o in orders])
    # 60 proposals between two looks leave hardly any dependence: a chi-square test
    statistic = np.sum((observed - n * expected) ** 2 / (n * expected))
    assert statistic < chi2.isf(level, len(orders) - 1)


def exact_order_posterior(counts):
    """Posterior over orders: intercepts only, standard normal prior, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    weights = weights / weights.sum()
    log_p, log_q = -np.logaddexp(0, -nodes), -np.logaddexp(0, nodes)

    def evidence(successes, failures):
        return np.sum(weights * np.exp(successes * log_p + failures * log_q))

    orders = enumerate_orders(len(counts))
    joint = np.array(
        [
            math.prod(evidence(counts[o[j]], counts[o[j + 1 :]].sum()) for j in range(len(o) - 1))
            for o in orders
        ]
    )
    return orders, joint / joint.sum()


def visited_orders(counts, seed, n_sweeps, n_chains=4, n_swaps=20, sweeper=Sweeper, **construction):
    """Frequencies of the orders in each of several chains, warm-up left out."""
    counts = np.asarray(counts)
    y = np.repeat(np.arange(len(counts)), counts)
    rows = Rows.of(np.ones((len(y), 1)), y, len(counts))
    problem = Problem(rows, Logistic(precision=1.0), n_swaps=n_swaps, **construction)
    orders = enumerate_orders(len(counts))
    index = {tuple(order): k for k, order in enumerate(orders)}
    frequencies = np.zeros((n_chains, 20, len(orders)))
    for chain in range(n_chains):
        own = sweeper(problem)
        state = own.start(Keys(seed, chain, 0))
        for sweep in range(1, n_sweeps + 1):
            own.sweep(state, Keys(seed, chain, sweep))
            if sweep > 200:
                batch = (sweep - 201) * 20 // (n_sweeps - 200)
                frequencies[chain, batch, index[tuple(state.order)]] += 1
    return orders, frequencies / ((n_sweeps - 200) / 20)


def deviations(frequencies, expected):
    """Deviation of each order's frequency from the truth, in standard errors by batches."""
    batches = frequencies.reshape(-1, frequencies.shape[-1])
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    return (batches.mean(axis=0) - expected) / error


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("sticks", ["marginal", "augmented"])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("counts", [(6, 1, 3), (4, 2, 1, 3)])
def test_exact_scheme_has_the_posterior_over_orders(counts, sticks, direction, seed, level):
    orders, expected = exact_order_posterior(np.array(counts))
    augmented = sticks == "augmented"
    _, frequencies = visited_orders(counts, seed, 2200, augmented=augmented, direction=direction)
    z = deviations(frequencies, expected)
    # 80 batches: t rather than normal tails; a factor of 1.3 covers it at this level
    assert np.abs(z).max() < 1.3 * norm.isf(level / 2 / len(orders))


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("counts", [(20, 2, 8), (12, 5, 1, 9)])
def test_whole_orders_leave_the_posterior_as_it_is(counts, direction, seed, level):
    orders, expected = exact_order_posterior(np.array(counts))
    limit = 1.3 * norm.isf(level / 2 / len(orders))

    def deviation(sweeper):
        _, frequencies = visited_orders(counts, seed, 4200, sweeper=sweeper, direction=direction)
        return np.abs(deviations(frequencies, expected)).max()

    assert deviation(WholeOrders) < limit
    assert deviation(WholeOrdersUnnormalised) > limit


def test_a_chain_in_the_worst_order_leaves_it_at_once(seed):
    part = load("satimage").partition(0)
    rows = np.random.default_rng(seed).choice(len(part.y_train), 900, replace=False)
    X, y = part.X_train[rows, ::6], np.unique(part.y_train[rows], return_inverse=True)[1]
    table = np.column_stack([np.ones(len(y)), (X - X.mean(axis=0)) / X.std(axis=0)])
    sweeper = Sweeper(Problem(Rows.of(table, y, 6), Logistic()))
    lattice = sweeper.approximations.lattice()
    worst = min(enumerate_orders(6), key=lattice.log_probability)

    def reached(n_sweeps):
        state = sweeper.start(Keys(seed, 0, 0))
        state.order[:] = worst
        sweeper.resume(state)
        for sweep in range(1, n_sweeps + 1):
            sweeper.sweep(state, Keys(seed, 0, sweep))
        return lattice.log_probability(state.order)

    assert reached(3) > -20
    sweeper.whole_every = 2  # never, for no remainder is 2: only neighbours swap
    assert reached(3) < -20


def test_whole_orders_that_cannot_be_weighed_are_skipped_and_counted(seed):
    y = np.repeat(np.arange(3), (5, 3, 4))
    sweeper = Sweeper(Problem(Rows.of(np.ones((12, 1)), y, 3), Logistic()))
    state = sweeper.start(Keys(seed, 0, 0))
    sweeper.sweep(state, Keys(seed, 0, 1))
    order, coef = state.order.copy(), state.parameters["coef"].copy()
    move = sweeper.whole_order
    move.gaussians = np.full_like(move.gaussians, np.nan)
    before = sweeper.table.log_likelihood(order)
    move(state, Keys(seed, 0, 2))
    after = sweeper.table.log_likelihood(order)
    assert (state.order == order).all()
    assert (state.parameters["coef"] == coef).all()
    assert after == before
    assert sweeper.sampler.guards["skipped_whole_orders"] == 1


@pytest.mark.statistical(level=1e-6)
def test_printed_scheme_is_biased_as_documented(seed):
    """The printed algorithm gives 0.16 to an order whose probability is 0.29."""
    counts = (6, 1, 3)
    _, expected = exact_order_posterior(np.array(counts))
    biased = np.argmax(expected)
    _, frequencies = visited_orders(counts, seed, 6200, scheme="paper", augmented=True, n_swaps=1)
    share = frequencies[..., biased].mean()
    assert expected[biased] == pytest.approx(0.290, abs=0.002)
    assert share == pytest.approx(0.157, abs=0.03)  # some ten standard errors
    assert abs(deviations(frequencies, expected)[biased]) > 8
