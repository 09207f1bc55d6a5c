"""The logistic sampler: joint-distribution (Geweke) tests, weights, guards.

Geweke's test draws parameters and data together in two ways: from the prior and the
model, and by alternating the sampler's update with fresh data. Both have the same distribution
if and only if the update leaves the posterior invariant.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from pasb.binary import Logistic, SupportVector
from pasb.binary.binary_model import Keys
from pasb.moves.move import State
from pasb.numerics.gaussian import draw_from_precision
from pasb.numerics.rows import Rows, blocked
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import simulate_categories

X = np.column_stack([np.ones(10), np.linspace(-1.5, 1.5, 10)])
N_CATEGORIES = 3
GIBBS = Logistic(moves="gibbs")
slow = pytest.mark.slow


def statistics(order, coef, precision, y):
    """Bounded functions of everything that the model knows; the reference has no part."""
    first, second = coef[order[0]], coef[order[1]]
    return np.array(
        [
            *np.tanh(first / 2),
            *np.tanh(second / 2),
            *np.tanh(first / 2) ** 2,
            *np.tanh(second / 2) ** 2,
            np.tanh(first[0] * first[1]),
            *np.tanh(np.log(precision[order[0]])),
            np.tanh(np.log(precision[order[1], 1])),
            *(order[0] == np.arange(N_CATEGORIES)),
            *(order[-1] == np.arange(N_CATEGORIES)),
            np.mean(y == order[0]),
            np.mean(y == order[-1]),
            np.tanh(first[1]) * np.mean((y == order[0]) * X[:, 1]),
        ]
    )


def simulated(model, order, coef, direction, rng):
    log_success, log_failure = model.log_probabilities({"coef": coef[None]}, blocked(X))
    n = len(X)
    return simulate_categories(
        log_success[0, :, :n], log_failure[0, :, :n], order, direction, rng=rng
    )


def from_the_prior(model, fixed_order, direction, n, rng):
    out = []
    for _ in range(n):
        order = rng.permutation(N_CATEGORIES) if fixed_order is None else fixed_order
        draws = [model.simulate(X.shape[1], rng) for _ in range(N_CATEGORIES)]
        coef = np.array([d["coef"] for d in draws])
        precision = np.array([d["precision"] for d in draws])
        y = simulated(model, order, coef, direction, rng)
        out.append(statistics(order, coef, precision, y))
    return np.array(out)


def by_turns(model, fixed_order, direction, augmented, n, seed, rng):
    """Update given the data, then new data given the update, and so on."""
    order = np.arange(N_CATEGORIES) if fixed_order is None else fixed_order
    draws = [model.simulate(X.shape[1], rng) for _ in range(N_CATEGORIES)]
    parameters = {name: np.array([d[name] for d in draws]) for name in ("coef", "precision")}
    state = State(order.copy(), parameters)
    out = []
    for sweep in range(n):
        y = simulated(model, state.order, state.parameters["coef"], direction, rng)
        problem = Problem(
            Rows.of(X, y, N_CATEGORIES),
            model,
            direction=direction,
            augmented=augmented,
            fixed_order=fixed_order,
            n_swaps=5,
        )
        sweeper = Sweeper(problem)
        sweeper.resume(state)
        sweeper.sweep(state, Keys(seed, 0, sweep))
        out.append(statistics(state.order, *state.parameters.values(), y))
    return np.array(out)


def largest_deviation(independent, dependent, n_batches=40):
    length = len(dependent) // n_batches
    batches = dependent[: n_batches * length].reshape(n_batches, length, -1).mean(axis=1)
    variance = independent.var(axis=0) / len(independent) + batches.var(axis=0, ddof=1) / n_batches
    difference = independent.mean(axis=0) - batches.mean(axis=0)
    varies = variance > 1e-20
    assert np.all(np.abs(difference[~varies]) < 1e-12)
    return np.abs(difference[varies] / np.sqrt(variance[varies])).max(), varies.sum()


@pytest.mark.statistical(level=5e-7)
@pytest.mark.parametrize(
    ("model", "fixed", "direction", "augmented", "n"),
    [  # default moves are in test_binary_conformity.py too
        pytest.param(Logistic(), True, "forward", False, 4000, id="ard", marks=slow),
        pytest.param(GIBBS, True, "forward", True, 4000, id="ard-augmented-gibbs"),
        pytest.param(
            Logistic(precision=0.5), True, "reverse", False, 4000,
            id="fixed-precision-reverse", marks=slow,
        ),
        pytest.param(Logistic(), False, "forward", False, 2000, id="order", marks=slow),
        pytest.param(
            Logistic(precision=0.5), False, "reverse", True, 2000,
            id="order-augmented", marks=slow,
        ),
        pytest.param(GIBBS, False, "forward", False, 2000, id="order-gibbs"),
    ],
)  # fmt: skip
def test_joint_distribution(model, fixed, direction, augmented, n, seed, level):
    rng = np.random.default_rng(seed)
    order = np.array([1, 2, 0]) if fixed else None
    independent = from_the_prior(model, order, direction, 4 * n, rng)
    dependent = by_turns(model, order, direction, augmented, n, seed, rng)
    z, n_statistics = largest_deviation(independent, dependent)
    # 40 batches: t rather than normal tails; a factor of 1.5 covers it at this level
    assert z < 1.5 * norm.isf(level / 2 / n_statistics)


# 26 on average over other seeds; below 15 the variance of 40 batches would be 2.5 times too large
@pytest.mark.statistical(level=6e-7)
def test_the_joint_distribution_test_sees_a_wrong_update(seed, monkeypatch):
    """A linear term that is 20 % too small must not pass."""
    from pasb.binary import logistic

    right = logistic.gibbs_step

    def wrong(*arguments):
        right(*arguments)
        gram, linear, scale, factor = arguments[1][4:8]
        coef, key = arguments[-1], Keys(*arguments[-5:-2]).at(arguments[-2], purpose=1)
        n = len(coef)
        return draw_from_precision(gram[:n, :n], 0.8 * linear[:n], key, scale, factor, coef)

    monkeypatch.setattr(logistic, "gibbs_step", wrong)
    rng = np.random.default_rng(seed)
    order, model = np.array([1, 2, 0]), Logistic(moves="gibbs")
    independent = from_the_prior(model, order, "forward", 16_000, rng)
    dependent = by_turns(model, order, "forward", False, 4000, seed, rng)
    assert largest_deviation(independent, dependent)[0] > 15


def test_a_weight_of_two_is_a_row_twice(seed):
    """The same latents cannot be drawn, but the sums that the order needs are equal."""
    rng = np.random.default_rng(seed)
    table, y = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    twice = Rows.of(np.vstack([table, table]), np.tile(y, 2), 3)
    weighted = Rows.of(table, y, 3, np.full(20, 2.0))
    parameters = {"coef": rng.normal(size=(3, 3)), "precision": np.ones((3, 3))}
    sums = []
    for rows in (twice, weighted):
        success, failure = np.zeros((2, 3, 3))
        Logistic().sampler(rows).log_sums(parameters, success, failure)
        sums.append((success, failure))
    assert sums[0][0] == pytest.approx(sums[1][0])
    assert sums[0][1] == pytest.approx(sums[1][1])


def test_log_sums_against_numpy(seed):
    rng = np.random.default_rng(seed)
    table, y, h = rng.normal(size=(300, 3)), rng.integers(4, size=300), rng.random(300)
    coef = rng.normal(scale=20, size=(4, 3))
    success, failure = np.zeros((2, 4, 4))
    sampler = Logistic().sampler(Rows.of(table, y, 4, h))
    sampler.log_sums({"coef": coef}, success, failure)
    eta = coef @ table.T
    for s in range(4):
        rows = y == s
        assert success[:, s] == pytest.approx(-np.logaddexp(0, -eta[:, rows]) @ h[rows])
        assert failure[:, s] == pytest.approx(-np.logaddexp(0, eta[:, rows]) @ h[rows])


@pytest.mark.parametrize(
    "bad",
    [{"precision": -1.0}, {"precision": "x"}, {"shape": 0}, {"rate": np.inf}, {"moves": "x"}],
)
def test_impossible_hyperparameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Logistic(**bad).check()


@pytest.mark.parametrize(
    "model",
    [
        Logistic(shape=1e-6, rate=1e-6),
        SupportVector(precision="ard", shape=1e-6, rate=1e-6, inclusion=None),
    ],
)
def test_precisions_at_their_bounds_are_counted(model, seed):
    """A column of zeros has no information: its coefficient can walk away."""
    rng = np.random.default_rng(seed)
    table = np.column_stack([np.ones(30), rng.normal(size=30), np.zeros(30)])
    rows = Rows.of(table, rng.integers(2, size=30), 2)
    sweeper = Sweeper(Problem(rows, model, fixed_order=np.array([0, 1])))
    state = sweeper.start(Keys(seed, 0, 0))
    sweeper.sweep(state, Keys(seed, 0, 1))
    assert sweeper.sampler.guards["bounded_precisions"] == 0
    state.parameters["coef"][0, 2] = 1e60
    state.parameters["precision"][0, 2] = 1e-100
    sweeper.sampler.resume(state.parameters)
    for sweep in range(2, 20):
        sweeper.sweep(state, Keys(seed, 0, sweep))
        assert np.isfinite(state.log_likelihood)
    assert 0 < sweeper.sampler.guards["bounded_precisions"] <= 18


def test_qr_fallback_is_counted_and_harmless(seed):
    """One row of enormous weight drowns the prior in rounding errors."""
    rng = np.random.default_rng(seed)
    table = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    weights = np.ones(30)
    weights[7] = 1e19
    rows = Rows.of(table, rng.integers(2, size=30), 2, weights)
    sweeper = Sweeper(Problem(rows, Logistic(moves="gibbs"), fixed_order=np.array([0, 1])))
    state = sweeper.start(Keys(seed, 0, 0))
    for sweep in range(1, 20):
        sweeper.sweep(state, Keys(seed, 0, sweep))
        assert np.isfinite(state.parameters["coef"][0]).all()
        assert np.isfinite(state.log_likelihood)
    assert sweeper.sampler.guards["qr_fallbacks"] > 0
