"""Effects of stacked models: draws of each in proportion to its weight."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pasb import (
    StackedPosterior,
    StickLogisticClassifier,
    StickRobitClassifier,
    datasets,
    effects,
    plots,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 40, "n_jobs": 1, "random_state": 0}
WEIGHTS = {"pipe": 0.25, "logistic": 0.5, "robit": 0.25}


@pytest.fixture(scope="module")
def wine():
    data = datasets.load("wine")
    return data.frame()[list(data.feature_names)[:3]].iloc[::2].reset_index(drop=True), data.y[::2]


@pytest.fixture(scope="module")
def stack(wine):
    models = {
        "pipe": make_pipeline(StandardScaler(), StickLogisticClassifier(**SHORT)).fit(*wine),
        "logistic": StickLogisticClassifier(**SHORT).fit(*wine),
        "robit": StickRobitClassifier(**SHORT).fit(*wine),
    }
    return StackedPosterior(models, list(WEIGHTS.values()))


def draws(stack, X):
    """Probabilities of all draws that stand for the stack."""
    parts = []
    for name, n in stack.draws_of_models().items():
        model = stack.models_[name]
        before, last = (model[:-1], model[-1]) if name == "pipe" else (None, model)
        parts.append(last.sample_proba(X if before is None else before.transform(X), n_draws=n))
    return np.concatenate(parts)


def test_draws_are_shared_out_by_weight(stack):
    assert stack.draws_of_models() == {"pipe": 40, "logistic": 80, "robit": 40}
    assert stack.draws_of_models(8) == {"pipe": 2, "logistic": 4, "robit": 2}
    one = StackedPosterior(stack.models_, [0, 1, 0])
    assert one.draws_of_models() == {"logistic": 80}
    with pytest.raises(ValueError, match="n_draws must be a positive integer up to 160"):
        stack.draws_of_models(161)
    uneven = StackedPosterior(stack.models_, [1, 3, 5]).draws_of_models()
    assert max(uneven.values()) <= 80
    assert sum(uneven.values()) >= 140


def test_predictions(stack, wine):
    X, _ = wine
    each = draws(stack, X)
    found = effects.avg_predictions(stack, X)
    np.testing.assert_allclose(found["estimate"], each.mean(axis=(0, 1)), rtol=1e-9)
    lower = np.quantile(each.mean(axis=1), 0.05, axis=0)
    np.testing.assert_allclose(found["lower"], lower, rtol=1e-9)
    rows = effects.predictions(stack, X[:4])
    np.testing.assert_allclose(rows["estimate"], each[:, :4].mean(axis=0).ravel(), rtol=1e-9)
    assert effects.avg_predictions(stack, X, draws=True).shape == (1, 160, 3)
    # the same number as one model has, but no chains of it
    assert effects.avg_predictions(stack, X, draws=True, n_draws=80).shape == (1, 80, 3)


@pytest.mark.parametrize("kind", ["dydx", "eyex"])
def test_slopes_and_comparisons(stack, wine, kind):
    X, _ = wine
    name = X.columns[0]
    step = 1e-3
    sides = [draws(stack, X.assign(**{name: X[name] + s * step})) for s in (-1, 1)]
    slope = (sides[1] - sides[0]) / (2 * step)
    if kind == "eyex":
        slope *= X[name].to_numpy()[:, None] / draws(stack, X)
    found = effects.avg_slopes(stack, X, name, kind=kind)
    expected = slope.mean(axis=1)
    np.testing.assert_allclose(found["estimate"], expected.mean(axis=0), rtol=1e-3, atol=1e-6)
    change = draws(stack, X.assign(**{name: X[name] + 0.5})) - draws(stack, X)
    found = effects.avg_comparisons(stack, X, {name: 0.5})
    np.testing.assert_allclose(found["estimate"], change.mean(axis=(0, 1)), rtol=1e-7)


def test_exact_slopes_of_all_models(stack, wine):
    X, _ = wine
    plain = StackedPosterior([stack.models_["logistic"], stack.models_["robit"]], [1, 1])
    exact = effects.avg_slopes(plain, X, by=True)
    each = [effects.avg_slopes(model, X)["estimate"] for model in plain.models_.values()]
    np.testing.assert_allclose(exact["estimate"], sum(each) / 2, rtol=1e-9)


def test_pictures(stack, wine):
    X, _ = wine
    figure = plots.effects(stack, X, X.columns[0], n_points=6)
    assert len(figure.axes) == 1
    with pytest.raises(TypeError, match=r"one of its models_; plots\.effects takes the stack"):
        plots.trace(stack)
    with pytest.raises(TypeError, match="odds ratios are of one model"):
        effects.odds_ratios(stack)
