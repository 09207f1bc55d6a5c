"""Robit regression: updates against quadrature, orders against enumeration, approximations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pasb.binary.binary_model import Keys
from pasb.binary.robit import Robit
from pasb.numerics.rows import Rows, blocked
from pasb.orders import enumerate_orders
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from pasb.sticks import FAILURE, IMPUTED, SUCCESS

DEGREES = [0.3, 1.0, 2.0, 6.0, 7.3, 40.0, 1e3, 1e5, np.inf]


@pytest.mark.parametrize("df", DEGREES)
def test_log_probabilities_are_finite_and_belong_together(df):
    half = np.geomspace(1e-4, 1e4, 100)
    x = np.concatenate([-half[::-1], [0.0], half])
    coef = np.array([[[1.0], [-1.0]]])
    logs = Robit(df=df).log_probabilities({"coef": coef}, blocked(x[:, None]))
    success, failure = (log[0, :, : len(x)] for log in logs)
    assert np.isfinite(success).all()
    assert np.isfinite(failure).all()
    assert np.abs(np.logaddexp(success, failure)).max() < 1e-14
    assert (success[0] == failure[1]).all()  # the model is symmetric
    assert (np.diff(success[0]) >= 0).all()


def posterior_mean_and_sd(log_likelihood):
    """Of an intercept with a standard normal prior, by quadrature."""
    grid = np.linspace(-8, 8, 4001)
    log_density = log_likelihood(grid) - 0.5 * grid**2
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = np.sum(density * grid)
    return mean, np.sqrt(np.sum(density * (grid - mean) ** 2))


@pytest.mark.statistical(level=5e-7)
@pytest.mark.parametrize("imputed", [0, 5])
@pytest.mark.parametrize("df", [1.5, 6.0, np.inf])
def test_an_intercept_against_quadrature(df, imputed, seed, level):
    """Seven successes and two failures; rows whose labels are imputed change nothing."""
    y = np.repeat([0, 1, 2], [7, 2, imputed])
    rows = Rows.of(np.ones((len(y), 1)), y, 3)
    sampler = Robit(df=df, precision=1.0).sampler(rows)
    roles = np.array([SUCCESS, FAILURE, IMPUTED], dtype=np.int8)
    parameters = sampler.start(Keys(seed, 0, 0))
    sampler.resume(parameters)
    sums = np.zeros((2, 3, 3))
    draws = np.empty(12_000)
    for sweep in range(len(draws) + 100):
        sampler.update(parameters, 0, 0, roles, Keys(seed, 0, sweep + 1))
        sampler.log_sums(parameters, *sums)
        draws[sweep - 100] = parameters["coef"][0, 0]

    cdf = stats.norm.logcdf if df == np.inf else lambda b: stats.t.logcdf(b, df)
    mean, sd = posterior_mean_and_sd(lambda b: 7 * cdf(b) + 2 * cdf(-b))
    batches = draws.reshape(40, -1)
    for found, expected in ((batches, mean), ((batches - mean) ** 2, sd**2)):
        means = found.mean(axis=1)
        z = (means.mean() - expected) / (means.std(ddof=1) / math.sqrt(40))
        assert abs(z) < stats.t.isf(level / 4, 39)


def exact_order_posterior(counts, df):
    """Posterior over orders: intercepts only, standard normal prior, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    cdf = stats.norm.logcdf if df == np.inf else lambda b: stats.t.logcdf(b, df)
    log_p, log_q = cdf(nodes), cdf(-nodes)

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


@pytest.mark.statistical(level=5e-7)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(("df", "moves"), [(2.0, "mixed"), (2.0, "gibbs"), (np.inf, "mixed")])
def test_orders_against_enumeration(df, moves, direction, seed, level):
    counts = np.array([6, 1, 3])
    orders, expected = exact_order_posterior(counts, df)
    y = np.repeat(np.arange(3), counts)
    rows = Rows.of(np.ones((len(y), 1)), y, 3)
    problem = Problem(
        rows, Robit(df=df, precision=1.0, moves=moves), direction=direction, n_swaps=20
    )
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(seed, 0, 0))
    visits = np.zeros((3000, len(orders)))
    for sweep in range(-200, len(visits)):
        sweeper.sweep(state, Keys(seed, 0, sweep + 201))
        visits[max(sweep, 0)] = (orders == state.order).all(axis=1)
    batches = visits.reshape(50, -1, len(orders)).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(50)
    z = (batches.mean(axis=0) - expected) / error
    assert np.abs(z).max() < stats.t.isf(level / 2 / len(orders), 49)


@pytest.mark.parametrize("df", [0.01, 0.5, np.inf])
def test_extreme_data_stay_finite(df):
    """Tiny degrees of freedom have latents whose squares overflow."""
    X = np.column_stack([np.ones(30), np.linspace(-1e3, 1e3, 30)])
    problem = Problem(Rows.of(X, np.arange(30) % 3, 3), Robit(df=df))
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(1, 0, 0))
    for sweep in range(1, 200):
        sweeper.sweep(state, Keys(1, 0, sweep))
        assert np.isfinite(state.parameters["coef"]).all()
        assert np.isfinite(state.log_likelihood)


@pytest.mark.parametrize(
    "bad",
    [
        {"df": 0.0},
        {"df": -2},
        {"df": np.nan},
        {"df": 1e9},
        {"df": "6"},
        {"precision": -1.0},
        {"precision": "x"},
        {"shape": 0},
        {"rate": np.inf},
    ],
)
def test_impossible_hyperparameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Robit(**bad).check()


@pytest.mark.parametrize("df", [3.0, 6.0, np.inf])
def test_the_approximation_has_the_mode_and_the_evidence(df, seed):
    """Against a fine grid in one dimension, with enough rows for a nearly normal posterior."""
    y = np.repeat([0, 1], [60, 25])
    rows = Rows.of(np.ones((85, 1)), y, 2)
    sampler = Robit(df=df, precision=1.0).sampler(rows)
    found = sampler.approximate(np.array([SUCCESS, FAILURE], dtype=np.int8), None)
    cdf = stats.norm.logcdf if df == np.inf else lambda b: stats.t.logcdf(b, df)
    grid = np.linspace(-2, 6, 80_001)
    log_density = 60 * cdf(grid) + 25 * cdf(-grid) + stats.norm.logpdf(grid)
    assert found.mode[0] == pytest.approx(grid[np.argmax(log_density)], abs=1e-3)
    top = log_density.max()
    evidence = top + np.log(np.sum(np.exp(log_density - top)) * (grid[1] - grid[0]))
    assert found.log_evidence == pytest.approx(evidence, abs=0.05)


def test_sums_over_rows_are_sums_of_log_probabilities(seed):
    rng = np.random.default_rng(seed)
    rows = Rows.of(rng.normal(size=(300, 3)), rng.integers(4, size=300), 4)
    coef = rng.normal(scale=20, size=(4, 3))
    success, failure = np.zeros((2, 4, 4))
    Robit(df=3).sampler(rows).log_sums({"coef": coef}, success, failure)
    logs = Robit(df=3).log_probabilities({"coef": coef[None]}, rows.blocks)
    for s in range(4):
        part = slice(rows.bounds[s], rows.bounds[s + 1])
        assert success[:, s] == pytest.approx(logs[0][0, :, part].sum(axis=1))
        assert failure[:, s] == pytest.approx(logs[1][0, :, part].sum(axis=1))
