"""Bayesian softmax regression: exact posteriors, the joint distribution, and threads."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.datasets import load_iris

from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.numerics.rows import Rows, linear_predictors, padded
from reproduction.peers import (
    BayesianMultinomialLogit,
)
from reproduction.peers.multinomial_logit_chain import sample_chain
from reproduction.peers.multinomial_logit_kernels import softmax_sweep

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SMALL = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_jobs": 1, "random_state": 0}
N_BATCHES = 40


def log_softmax(eta):
    """Log-probabilities from the predictors of all categories but the last (last axis)."""
    eta = np.concatenate([eta, np.zeros((*eta.shape[:-1], 1))], axis=-1)
    top = eta.max(axis=-1, keepdims=True)
    return eta - top - np.log(np.exp(eta - top).sum(axis=-1, keepdims=True))


def batch_means(draws):
    """Means of a chain of statistics, and their standard errors."""
    length = len(draws) // N_BATCHES
    batches = draws[: N_BATCHES * length].reshape(N_BATCHES, length, -1).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)


def scores_against(expected, draws):
    mean, error = batch_means(draws)
    return np.abs(mean - expected) / error


def small_table(seed, n_categories):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=12)
    y = np.arange(12) % n_categories
    return x, y, rng.uniform(0.4, 2.5, size=12)


def drawn(x, y, weights, prior, seed, n_draws):
    rows = Rows.of(x[:, None], y, y.max() + 1, weights)
    coef, *_ = sample_chain(rows, prior, (200, n_draws, 1), (seed, 0), Event())
    return coef[:, :, 0]


@pytest.mark.statistical(level=1e-6)
def test_two_categories_agree_with_quadrature(seed, level):
    x, y, weights = small_table(seed, 2)
    prior = CoefficientPrior.of(0.7, 1.0, 1.0)
    b = drawn(x, y, weights, prior, seed, 20_000)[:, 0]
    grid = np.linspace(-12, 12, 4001)
    log_p = log_softmax(grid[:, None, None] * x[:, None])

    def expected(weights):
        log_posterior = log_p[:, np.arange(12), y] @ weights - 0.35 * grid**2
        posterior = np.exp(log_posterior - log_posterior.max())
        return statistics(grid).T @ posterior / posterior.sum()

    def statistics(b):
        return np.column_stack([np.tanh(b), np.tanh(b) ** 2, 1 / (1 + np.exp(-3 * b))])

    limit = student.isf(level / 2 / 3, N_BATCHES - 1)
    assert np.max(scores_against(expected(weights), statistics(b))) < limit
    # and the comparison has power: without the weights the posterior differs
    assert np.max(scores_against(expected(np.ones(12)), statistics(b))) > 2 * limit


@pytest.mark.statistical(level=1e-6)
def test_three_categories_agree_with_a_grid(seed, level):
    x, y, weights = small_table(seed, 3)
    prior = CoefficientPrior.of("ard", 2.0, 3.0)
    coef = drawn(x, y, weights, prior, seed, 30_000)
    axis = np.linspace(-20, 20, 601)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    log_posterior = np.sum(np.log1p(grid**2 / 6) * -2.5, axis=1)  # precisions integrated out
    for x_i, y_i, h_i in zip(x, y, weights, strict=True):
        log_posterior += h_i * log_softmax(grid * x_i)[:, y_i]
    posterior = np.exp(log_posterior - log_posterior.max())

    def statistics(b):
        t = np.tanh(b / 2)
        return np.column_stack([t, t**2, t[:, 0] * t[:, 1], np.exp(log_softmax(b))])

    expected = statistics(grid).T @ posterior / posterior.sum()
    limit = student.isf(level / 2 / len(expected), N_BATCHES - 1)
    assert np.max(scores_against(expected, statistics(coef))) < limit


@pytest.mark.statistical(level=1e-6)
def test_joint_distribution(seed, level):
    """Geweke: parameters and data from prior and model, and by turns of sweep and new data."""
    X = np.column_stack([np.ones(8), np.linspace(-1.5, 1.5, 8)])
    prior = CoefficientPrior.of("ard", 2.0, 2.0)
    rng = np.random.default_rng(seed)

    def simulated(coef):
        p = np.exp(log_softmax(X @ coef.T))
        return np.sum(rng.uniform(size=(8, 1)) > np.cumsum(p, axis=1)[:, :2], axis=1)

    def from_prior():
        precision = rng.gamma(prior.shape, 1 / prior.rate, (2, 2))
        return rng.normal(size=(2, 2)) / np.sqrt(precision), precision

    def statistics(coef, precision, y):
        t = np.tanh(coef / 2).ravel()
        shares = [np.mean(y == 0), np.mean(y == 1), t[1] * np.mean((y == 0) * X[:, 1])]
        return [*t, *t**2, t[0] * t[2], t[1] * t[3], *np.tanh(np.log(precision.ravel())), *shares]

    independent = []
    for _ in range(8000):
        coef, precision = from_prior()
        independent.append(statistics(coef, precision, simulated(coef)))
    dependent = []
    coef, precision = from_prior()
    for sweep in range(8000):
        y = simulated(coef)
        rows = Rows.of(X, y, 3)
        eta = np.empty((2, rows.blocks.shape[0] * rows.blocks.shape[2]))
        linear_predictors(rows.blocks, padded(coef, rows.blocks.shape[1]), eta)
        table = (rows.blocks, rows.weights, rows.bounds)
        softmax_sweep(*table, *prior, seed, 0, sweep, coef, precision, eta)
        dependent.append(statistics(coef, precision, y))
    (a, error_a), (b, error_b) = (
        batch_means(np.array(independent)),
        batch_means(np.array(dependent)),
    )
    z = np.abs(a - b) / np.hypot(error_a, error_b)
    assert np.max(z) < student.isf(level / 2 / len(z), N_BATCHES - 1)


def test_draws_do_not_depend_on_the_number_of_threads():
    X, y = load_iris(return_X_y=True)
    one = BayesianMultinomialLogit(**SMALL).fit(X, y)
    two = BayesianMultinomialLogit(**{**SMALL, "n_jobs": 2}).fit(X, y)
    other = BayesianMultinomialLogit(**{**SMALL, "random_state": 1}).fit(X, y)
    np.testing.assert_array_equal(one.draws_.coef, two.draws_.coef)
    np.testing.assert_array_equal(one.draws_.precision, two.draws_.precision)
    assert not np.array_equal(one.draws_.coef, other.draws_.coef)


def test_thinning_keeps_every_other_draw():
    X, y = load_iris(return_X_y=True)
    every = BayesianMultinomialLogit(**SMALL).fit(X, y)
    thinned = BayesianMultinomialLogit(**{**SMALL, "n_draws": 20, "thin": 2}).fit(X, y)
    np.testing.assert_array_equal(thinned.draws_.coef, every.draws_.coef[:, 1::2])


def test_logit_shapes_labels_and_likelihood():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = BayesianMultinomialLogit(**SMALL, precision=1.0).fit(X, labels)
    draws, proba = model.sample_proba(X), model.predict_proba(X)
    assert draws.shape == (80, 150, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1)
    np.testing.assert_allclose(draws.mean(axis=0), proba)
    assert set(model.predict(X)) <= set(labels)
    assert model.score(X, labels) > 0.9
    assert model.draws_.coef.shape == (2, 40, 2, 5)
    np.testing.assert_array_equal(model.draws_.precision, 1.0)
    assert model.diagnostics_.rhat_probability.shape[1] == 3
    log_likelihood = np.log(draws[:, np.arange(150), y]).sum(axis=1)
    np.testing.assert_allclose(model.draws_.log_likelihood.ravel(), log_likelihood)


def test_extreme_predictors_stay_finite():
    X = np.array([[-1e3], [-1e3 + 1], [0.0], [1.0], [1e3], [1e3 + 1]])
    model = BayesianMultinomialLogit(**SMALL, scale=None, precision=1e-4)
    proba = model.fit(X, [0, 0, 1, 1, 2, 2]).predict_proba(X)
    assert np.isfinite(proba).all()
    assert np.isfinite(model.draws_.log_likelihood).all()
