"""Rows that could not be everything: orders and coefficients against quadrature."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from calibration.exact_availability import CASES, exact_posterior, probability, problem_of, visited
from calibration.exact_orders import deviations
from scipy.special import expit, ndtr
from scipy.stats import norm

from pasb.binary import Logistic, Robit, Softplus
from pasb.binary.binary_model import Keys
from pasb.moves.swap import swap_gain
from pasb.numerics.rows import Rows, blocked
from pasb.orders import enumerate_orders
from pasb.orders.table import OrderTable
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import ABSENT, Roles


@cache
def exact(case, stops):
    return exact_posterior(CASES[case], stops)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize(
    "construction",
    [
        {},
        {"direction": "reverse"},
        {"augmented": True},
        {"model": Logistic(precision=1.0, moves="gibbs"), "n_sweeps": 4200},
        {"model": Robit(df=np.inf, precision=1.0)},
    ],
    ids=["forward", "reverse", "augmented", "gibbs", "probit"],
)
@pytest.mark.parametrize("case", CASES)
def test_posterior_of_orders_and_coefficients(case, construction, seed, level):
    construction = dict(construction)
    stops = ndtr if isinstance(construction.get("model"), Robit) else expit
    orders, expected, mean = exact(case, stops)
    n_sweeps = construction.pop("n_sweeps", 3200)
    problem = problem_of(CASES[case], **construction)
    frequencies, means = visited(problem, seed, n_sweeps, stops=stops)
    limit = 1.3 * norm.isf(level / 2 / (len(orders) + len(mean)))  # t tails, as in `test_sweep`
    assert np.abs(deviations(frequencies, expected)).max() < limit
    assert np.abs(deviations(means, mean)).max() < limit


def random_rows(seed, n_rows=60, n=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(n, size=n_rows)
    available = rng.random((n_rows, n)) < 0.6
    available[np.arange(n_rows), y] = True
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 2))])
    return X, y, available


@pytest.mark.parametrize(
    "model", [Logistic(), Softplus(n_experts=2, n_layers=2)], ids=["logistic", "softplus"]
)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_log_likelihood_is_that_of_rows(model, direction, seed):
    """From the table, after every kind of sweep, it is what each row by itself says."""
    X, y, available = random_rows(seed)
    rows = Rows.of(X, y, 4, available=available)
    sweeper = Sweeper(Problem(rows, model, direction=direction), n_warmup=10)
    state = sweeper.start(Keys(seed, 0, 0))
    seen = set()
    for sweep in range(1, 45):
        sweeper.sweep(state, Keys(seed, 0, sweep))
        kept = {name: state.parameters[name][None] for name in model.kept}
        success, failure = model.log_probabilities(kept, blocked(X))
        accept = np.exp((success if direction == "forward" else failure)[0, :, : len(y)])
        total = sum(
            np.log(probability(y[i], available[i], state.order, accept[:, i]))
            for i in range(len(y))
        )
        assert state.log_likelihood == pytest.approx(total, rel=1e-9)
        seen.add(tuple(state.order))
    assert len(seen) > 1


def test_gain_of_a_swap(seed):
    X, y, available = random_rows(seed)
    rows = Rows.of(X, y, 4, available=available)
    rng = np.random.default_rng(seed)
    table = OrderTable.of(*rng.normal(size=(2, 4, rows.n_groups)), groups=rows.groups)
    table.reference[:] = rng.normal(size=4)
    for order in enumerate_orders(4):
        for a in range(4):
            for b in range(a + 1, 4):
                other = order.copy()
                other[[a, b]] = other[[b, a]]
                gain = table.log_likelihood(other) - table.log_likelihood(order)
                gain += table.reference[other[-1]] - table.reference[order[-1]]
                assert swap_gain(*table, order, a, b) == pytest.approx(gain)


def test_roles_are_those_of_the_definition(seed):
    """On a stick: its category is available, and so is something behind it."""
    X, y, available = random_rows(seed)
    rows = Rows.of(X, y, 4, available=available)
    roles = Roles.of("forward", groups=rows.groups)
    order = np.random.default_rng(seed).permutation(4)
    for stick in range(3):
        own, behind = order[stick], order[stick + 1 :]
        of_groups = roles.on_stick(order, stick)
        source = np.argsort(rows.group_of_rows, kind="stable")
        assert (rows.categories[source] == np.sort(y)).all()
        for g, role in enumerate(of_groups):
            category, has = rows.groups.category[g], rows.groups.available[g]
            on = has[own] and has[behind].any() and category in (own, *behind)
            assert (role != ABSENT) == on
            assert not on or role == (1 if category == own else 0)


def test_everything_available_is_nothing_said():
    X, y, _ = random_rows(1)
    rows = Rows.of(X, y, 4)
    assert not rows.groups.given
    assert rows.n_groups == rows.n_categories == 4


def test_rows_with_one_category_inform_nothing(seed):
    """The posterior without them is the same: chains are, bit for bit, but for the blocks."""
    X, y, available = random_rows(seed)
    alone = available.sum(axis=1) == 1
    rows = Rows.of(X, y, 4, available=available)
    roles = Roles.of("forward", groups=rows.groups)
    assert alone.any()
    for order in enumerate_orders(4):
        for stick in range(3):
            on = roles.on_stick(order, stick)[rows.group_of_rows] != ABSENT
            single = rows.groups.available[rows.group_of_rows].sum(axis=1) == 1
            assert not (on & single).any()


def test_few_rows_keep_the_groups(seed):
    X, y, available = random_rows(seed, n_rows=3000, n=3)
    rows = Rows.of(X, y, 3, available=available)
    few = rows.at_most(300)
    assert few.n_rows < 600
    assert few.n_groups == rows.n_groups
    assert (few.groups.category == rows.groups.category).all()
