"""Stacking weights, tables of models, and averaged predictions."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import cauchy
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb import StackedPosterior, StickLogisticClassifier, StickRobitClassifier, datasets
from pasb.posterior.comparison import stacking_weights

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:compare. "),
]

SHORT = {"n_chains": 2, "n_warmup": 50, "n_draws": 100, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def models():
    data = datasets.load("wine")
    X, y = data.X[::2, :4], data.y[::2]
    return (
        {
            "logistic": StickLogisticClassifier(**SHORT).fit(X, y),
            "flat": StickLogisticClassifier(precision=1e6, **SHORT).fit(X, y),
            "robit": StickRobitClassifier(**SHORT).fit(X, y),
        },
        X,
        y,
    )


@pytest.mark.statistical(level=1e-7)
def test_two_modes(seed):
    """The example of Yao, Vehtari and Gelman (2022).

    Rows come from a mixture of two Cauchy distributions, the model has one. Its posterior has two
    modes, and one chain in each. Averaging them by posterior weight would forget the smaller
    one; the best weights are the shares of the mixture.
    """
    rng, n = np.random.default_rng(seed), 4000
    first = rng.random(n) < 2 / 3
    rows = cauchy.rvs(loc=np.where(first, 10, -10), random_state=rng)
    logs = np.column_stack([cauchy.logpdf(rows, loc=mode) for mode in (10, -10)])
    weights = stacking_weights(logs)
    assert weights[0] == pytest.approx(2 / 3, abs=6 * np.sqrt(2 / 9 / n) + 0.02)
    shifted = stacking_weights(logs + rng.normal(size=(n, 1)) * 500)
    np.testing.assert_allclose(shifted, weights, atol=1e-5)  # a row's constant does not matter


@pytest.mark.parametrize("n_models", [2, 5, 12])
def test_weights_are_the_maximum(n_models, seed):
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(200, n_models)) * np.linspace(0.2, 2, n_models)
    weights = stacking_weights(logs)
    assert weights.sum() == pytest.approx(1)
    slope = np.mean(np.exp(logs) / (np.exp(logs) @ weights)[:, None], axis=0)
    assert slope.max() < 1 + 1e-6  # no direction leads upward
    assert slope[weights > 1e-4] == pytest.approx(1, abs=1e-5)


def test_table(models):
    each, X, y = models
    table = pasb.compare(each, X, y)
    assert sorted(table["model"]) == sorted(each)
    assert table["elpd"].is_monotonic_decreasing
    assert table["difference"][0] == table["difference_se"][0] == 0
    assert table["weight"].sum() == pytest.approx(1)
    assert table["model"][2] == "flat"
    assert table["weight"][2] < 0.2
    loos = {name: model.loo(X, y, warn=False) for name, model in each.items()}
    again = pasb.compare(loos)
    np.testing.assert_allclose(again["weight"], table["weight"])


def test_pipelines_count_as_the_classifier_at_their_end(models):
    each, X, y = models
    pipe = make_pipeline(StandardScaler(), StickLogisticClassifier(**SHORT)).fit(X, y)
    inner = pasb.compare([pipe[-1]], pipe[:-1].transform(X), y)
    outer = pasb.compare([pipe], X, y)
    assert outer["model"].tolist() == ["StickLogisticClassifier"]
    assert outer["elpd"].tolist() == inner["elpd"].tolist()
    stacked = StackedPosterior([pipe, each["logistic"]], [3, 1])
    expected = 0.75 * pipe.predict_proba(X) + 0.25 * each["logistic"].predict_proba(X)
    np.testing.assert_allclose(stacked.predict_proba(X), expected)
    assert stacked.sample_proba(X[:2], n_draws=40).shape == (40, 2, 3)


def test_models_with_bad_weights_are_marked(models):
    """Trusting weights without a look put a model first that folds put last."""
    each, X, y = models
    loo = each["logistic"].loo(X, y, warn=False)
    n_bad = 25
    shape = np.where(np.arange(len(y)) < n_bad, 1.5, 0.1)
    unreliable = replace(loo, pareto_k=shape)
    sound = replace(loo, pareto_k=np.full(len(y), 0.1), elpd_of_row=loo.elpd_of_row - 0.1)
    with pytest.warns(UserWarning, match=f"{n_bad} of 'bad' have a Pareto k .*cross_val") as caught:
        table = pasb.compare({"bad": unreliable, "sound": sound})
    assert caught[0].filename == __file__
    assert table["reliable"].tolist() == [False, True]
    assert table["bad_k"].tolist() == [n_bad, 0]
    few = replace(loo, pareto_k=np.where(np.arange(len(y)) < 2, 1.5, 0.1))
    with pytest.warns(UserWarning, match="2 of 'few' .*refit=True"):
        pasb.compare({"few": few})


def test_refits(models):
    each, X, y = models
    model = each["logistic"]
    bad = len(model.loo(X, y, warn=False).bad)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        table = pasb.compare({"one": model}, X, y, refit=max(bad, 1))
    assert table["reliable"].tolist() == [True]
    assert table["elpd"][0] == model.loo(X, y, refit=max(bad, 1)).elpd
    with pytest.raises(ValueError, match=r"refit needs classifiers; 'a' is a result of loo"):
        pasb.compare({"a": model.loo(X, y, warn=False)}, refit=True)


def test_the_ranking_of_arviz(models):
    import arviz_stats

    each, X, y = models
    trees = {name: model.posterior_with(X, y) for name, model in each.items()}
    theirs = arviz_stats.compare(trees)
    ours = pasb.compare(each, X, y).set_index("model")
    np.testing.assert_allclose(theirs["elpd"].to_numpy(float), ours["elpd"], atol=0.6)
    np.testing.assert_allclose(
        theirs["weight"].to_numpy(float), ours["weight"].loc[theirs.index], atol=0.1
    )


def test_averaged_predictions(models):
    each, X, _ = models
    stacked = StackedPosterior(each, [0.5, 0, 1.5])
    expected = 0.25 * each["logistic"].predict_proba(X) + 0.75 * each["robit"].predict_proba(X)
    np.testing.assert_allclose(stacked.predict_proba(X), expected)
    draws = stacked.sample_proba(X[:3], n_draws=400)
    assert draws.shape == (400, 3, 3)
    np.testing.assert_allclose(draws.mean(axis=0), expected[:3], atol=0.1)
    np.testing.assert_array_equal(stacked.predict(X), stacked.classes_[expected.argmax(axis=1)])


def test_chains_of_a_model(models):
    each, X, y = models
    model = each["logistic"]
    stacked = StackedPosterior.of_chains(model, X, y)
    assert len(stacked.weights_) == 2
    parts = [m.predict_proba(X) for m in stacked.models_.values()]
    np.testing.assert_allclose(sum(parts) / 2, model.predict_proba(X))
    assert stacked.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, X, y: pasb.compare(m), ValueError, "X and y are needed"),
        (lambda m, X, y: pasb.compare({}, X, y), ValueError, "models is empty"),
        (lambda m, X, y: pasb.compare([object()], X, y), TypeError, "fitted classifier of pasb"),
        (lambda m, X, y: StackedPosterior(m, [1, 2]), ValueError, "weights must hold 3 numbers"),
        (lambda m, X, y: StackedPosterior(m, [0, 0, 0]), ValueError, "not all 0"),
    ],
)
def test_bad_input(models, call, error, message):
    with pytest.raises(error, match=message):
        call(*models)


def test_different_rows(models):
    each, X, y = models
    loos = [each["logistic"].loo(X, y, warn=False), each["robit"].loo(X[:9], y[:9], warn=False)]
    with pytest.raises(ValueError, match="the same rows"):
        pasb.compare(loos)
