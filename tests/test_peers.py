"""The baselines: exact posteriors, a plain second implementation, protocols, and manners."""

from __future__ import annotations

from threading import Event

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.numerics.rows import Rows, linear_predictors, padded
from pasb.peers import (
    AdaptiveMultiHyperplane,
    AdaptiveMultiHyperplaneCV,
    BayesianMultinomialLogit,
    l2_multinomial_logit,
    n_support_vectors,
    rbf_svm,
)
from pasb.peers.hyperplanes_cv import _last_before_growth
from pasb.peers.multinomial_logit_chain import sample_chain
from pasb.peers.multinomial_logit_kernels import softmax_sweep

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SMALL = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_jobs": 1, "random_state": 0}
N_BATCHES = 40


def log_softmax(eta):
    """Log-probabilities from the predictors of all categories but the last (last axis)."""
    eta = np.concatenate([eta, np.zeros((*eta.shape[:-1], 1))], axis=-1)
    top = eta.max(axis=-1, keepdims=True)
    return eta - top - np.log(np.exp(eta - top).sum(axis=-1, keepdims=True))


# The posterior of the softmax regression


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
    # and the comparison can tell: without the weights the posterior is another
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


# The adaptive multi-hyperplane machine


def plain_machine(X, y, n_classes, nu, n_epochs, limit, threshold, every, seed):
    """The algorithm as it is usually written: weights shrink, steps are 1 / (nu (t + 1))."""
    rng = np.random.RandomState(seed)
    rows = np.column_stack([X, np.ones(len(X))])
    weights = [[np.zeros(rows.shape[1])] for _ in range(n_classes)]
    assigned: list = [None] * len(rows)
    t = 0
    for epoch in range(n_epochs + 1):
        if epoch > 1:
            for i, (x, own) in enumerate(zip(rows, y, strict=True)):
                assigned[i] = max(weights[own], key=lambda w: w @ x)
        for i in rng.permutation(len(rows)):
            t += 1
            x, own = rows[i], y[i]
            best = max(weights[own], key=lambda w: w @ x)
            if epoch == 0:
                assigned[i] = best
            known = any(w is assigned[i] for w in weights[own])
            mine = assigned[i] if known else best
            others = [w for s in range(n_classes) if s != own for w in weights[s]]
            rival = max(others, key=lambda w: w @ x)
            violated = 1 + rival @ x - mine @ x > 0
            grows = best @ x <= 0
            for vectors in weights:
                for w in vectors:
                    w *= 1 - 1 / (t + 1)
            step = x / (nu * (t + 1))
            if violated:
                rival -= step
                if epoch > 0 or not grows:
                    mine += step
                if grows and len(weights[own]) < limit:
                    weights[own].append(step.copy())
            if epoch > 0 and t % every == 0:
                prune(weights, threshold / (t * nu))
    return weights


def prune(weights, threshold):
    lengths = sorted(w @ w for vectors in weights for w in vectors)
    limit = max(
        [v for v, c in zip(lengths, np.cumsum(lengths), strict=True) if c <= threshold**2] or [-1.0]
    )
    for s, vectors in enumerate(weights):
        kept, left = [], len(vectors)
        for w in vectors:
            if w @ w <= limit and left > 1:
                left -= 1
            else:
                kept.append(w)
        weights[s] = kept


def checkerboard(n, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize(("threshold", "every", "limit"), [(0.0, 10**6, 50), (2.5, 70, 4)])
def test_machine_equals_a_plain_implementation(threshold, every, limit):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = AdaptiveMultiHyperplane(
        regularization=1e-3,
        n_epochs=4,
        max_weights=limit,
        prune_threshold=threshold,
        prune_every=every,
        random_state=5,
    ).fit(X, y)
    plain = plain_machine(X, y, 3, 1e-3, 4, limit, threshold, every, 5)
    assert [len(w) for w in model.weights_] == [len(w) for w in plain]
    for mine, other in zip(model.weights_, plain, strict=True):
        np.testing.assert_allclose(mine, np.array(other), rtol=1e-7, atol=1e-9)


def test_machine_separates_what_no_line_can():
    X, y = checkerboard(600)
    test_X, test_y = checkerboard(600, seed=1)
    model = AdaptiveMultiHyperplane(n_epochs=30, random_state=0).fit(X, y)
    assert model.score(test_X, test_y) > 0.93
    assert LogisticRegression().fit(X, y).score(test_X, test_y) < 0.65
    assert model.n_hyperplanes_ >= 4


def test_hyperplane_counts():
    X, y = checkerboard(300)
    free = AdaptiveMultiHyperplane(random_state=0).fit(X, y)
    assert free.n_hyperplanes_ == sum(len(w) for w in free.weights_) > 2
    assert max(len(w) for w in free.weights_) <= 50
    linear = AdaptiveMultiHyperplane(max_weights=1, random_state=0).fit(X, y)
    assert linear.n_hyperplanes_ == 2
    assert linear.weights_[0].shape == (1, 3)
    unbiased = AdaptiveMultiHyperplane(max_weights=1, bias=0.0, random_state=0).fit(X, y)
    assert unbiased.weights_[0].shape == (1, 2)
    settings = {"prune_every": 300, "random_state": 0}  # the last step prunes
    everything = AdaptiveMultiHyperplane(prune_threshold=1e9, **settings).fit(X, y)
    assert everything.n_hyperplanes_ == 2
    some = AdaptiveMultiHyperplane(prune_threshold=3.0, **settings).fit(X, y)
    assert 2 <= some.n_hyperplanes_ < free.n_hyperplanes_


def test_machine_follows_its_random_state():
    X, y = checkerboard(200)
    first, again, other = (
        AdaptiveMultiHyperplane(random_state=k).fit(X, y).decision_function(X) for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_epochs_are_tried_until_the_error_grows():
    assert _last_before_growth(np.array([0.3, 0.2, 0.25, np.nan])) == 1
    assert _last_before_growth(np.array([0.3, 0.2, 0.2, 0.1])) == 3
    assert _last_before_growth(np.array([0.3, 0.4, np.nan, np.nan])) == 0
    X, y = checkerboard(200)
    model = AdaptiveMultiHyperplaneCV(random_state=0).fit(X, y)
    for path in model.cv_errors_:
        tried = path[~np.isnan(path)]
        assert np.isnan(path[len(tried) :]).all()
        assert np.all(np.diff(tried)[:-1] <= 0)
        assert len(tried) == 5 or tried[-1] > tried[-2]
    row = list(model.regularizations).index(model.regularization_)
    column = list(model.epochs).index(model.n_epochs_)
    assert column == _last_before_growth(model.cv_errors_[row])
    assert model.estimator_.get_params()["regularization"] == model.regularization_
    assert model.estimator_.get_params()["n_epochs"] == model.n_epochs_


def test_going_on_equals_starting_again():
    X, y = checkerboard(150)
    folds = list(StratifiedKFold(3).split(X, y))
    model = AdaptiveMultiHyperplaneCV(
        regularizations=(1e-3,), epochs=(2, 4), cv=StratifiedKFold(3), random_state=3
    ).fit(X, y)
    for k in range(np.sum(~np.isnan(model.cv_errors_))):
        fresh = AdaptiveMultiHyperplane(**model.estimator_.get_params())
        fresh.set_params(n_epochs=(2, 4)[k])
        wrong = sum(np.sum(fresh.fit(X[a], y[a]).predict(X[b]) != y[b]) for a, b in folds)
        assert model.cv_errors_[0, k] == wrong / 150


# The presets


def test_grids_are_those_of_the_paper():
    linear = l2_multinomial_logit()
    assert linear.param_grid["estimator__C"] == [2.0**k for k in range(-10, 16)]
    assert linear.cv.get_n_splits() == 5
    assert linear.estimator.estimator.solver == "liblinear"
    assert linear.estimator.estimator.fit_intercept
    svm = rbf_svm()
    powers = [2.0**k for k in range(-10, 11)]
    assert svm.param_grid == {"C": powers, "gamma": powers}
    assert svm.cv.get_n_splits() == 3
    assert rbf_svm(step=5).param_grid["C"] == [2.0**k for k in (-10, -5, 0, 5, 10)]
    machine = AdaptiveMultiHyperplaneCV()
    np.testing.assert_allclose(machine.regularizations, 10.0 ** np.arange(-7, -1))
    assert tuple(machine.epochs) == (5, 10, 20, 50, 100)


def test_presets_fit_text_labels():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    linear = l2_multinomial_logit().fit(X, labels)
    assert linear.score(X, labels) > 0.9
    assert len(linear.best_estimator_.estimators_) == 3
    svm = rbf_svm(step=5).fit(X, labels)
    assert svm.score(X, labels) > 0.95
    assert n_support_vectors(svm) == len(svm.best_estimator_.support_)
    with pytest.raises(ValueError, match="step"):
        rbf_svm(step=0)


# Manners


@parametrize_with_checks(
    [
        BayesianMultinomialLogit(**SMALL),
        AdaptiveMultiHyperplane(random_state=0),
        AdaptiveMultiHyperplaneCV(epochs=(5, 10), random_state=0),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": (
            "the draws agree in law and not one by one; the quadrature above has weights"
        )
    },
)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        BayesianMultinomialLogit(**SMALL),
        AdaptiveMultiHyperplane(random_state=0),
        AdaptiveMultiHyperplaneCV(epochs=(5,), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_errors_name_the_trouble(estimator):
    frame = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0] * 5, "height": [1.0, 1.0, 2.0, 2.0] * 5})
    y = ["a", "b", "a", "b"] * 5
    with pytest.raises(ValueError, match="one class only"):
        estimator.fit(frame, ["a"] * 20)
    with pytest.raises(ValueError, match=r"'height' has 1 such value"):
        estimator.fit(frame.assign(height=[np.nan] + [1.0] * 19), y)
    with pytest.raises(ValueError, match="'colour' does not hold numbers"):
        estimator.fit(frame.assign(colour="red"), y)
    assert set(estimator.fit(frame, y).predict(frame)) <= {"a", "b"}
    with pytest.raises(ValueError, match="third"):
        estimator.predict(frame.assign(third=1.0))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (BayesianMultinomialLogit(precision=-1.0), "precision"),
        (BayesianMultinomialLogit(thin=0), "thin"),
        (BayesianMultinomialLogit(n_jobs=0), "n_jobs"),
        (AdaptiveMultiHyperplane(regularization=0.0), "regularization"),
        (AdaptiveMultiHyperplane(prune_every=0), "prune_every"),
        (AdaptiveMultiHyperplaneCV(epochs=(10, 5)), "epochs"),
        (AdaptiveMultiHyperplaneCV(regularizations=()), "regularizations"),
    ],
)
def test_wrong_settings_are_named(estimator, name):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=name):
        estimator.fit(X, y)
