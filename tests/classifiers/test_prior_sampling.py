"""Draws from the prior before any fit, and their picture."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.special import expit
from scipy.stats import ks_2samp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb.classifiers.formula import FormulaClassifier

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(3, 2, 60), "b": RNG.normal(0, 10, 60)})
Y = np.array(["x", "y", "z"])[np.arange(60) % 3]


@pytest.mark.statistical(level=1e-8)
def test_they_are_those_of_the_prior(seed, level):
    """By hand: sticks in a given order, coefficients per unit, the intercept at the means."""
    prior = {"a": pasb.Normal(0.5, 0.2), "b": pasb.StudentT(5, 0, 0.1), "intercept": pasb.Normal()}
    model = pasb.StickLogisticClassifier(prior=prior, order=["z", "x", "y"])
    found = model.sample_prior_proba(X, Y, 4000, random_state=seed % 2**31)
    rng = np.random.default_rng(seed)
    centred = (X - X.mean()).to_numpy()[0]
    coef = np.stack([rng.normal(0.5, 0.2, (4000, 2)), 0.1 * rng.standard_t(5, (4000, 2))], axis=2)
    stop = expit(coef @ centred + rng.normal(size=(4000, 2)))
    expected = [(1 - stop[:, 0]) * stop[:, 1], (1 - stop).prod(axis=1), stop[:, 0]]
    for s in range(3):
        assert ks_2samp(found[:, 0, s], expected[s]).pvalue > level / 3
    assert not hasattr(model, "draws_")
    np.testing.assert_allclose(found.sum(axis=2), 1)


def test_models_and_settings():
    for model in (
        pasb.StickRobitClassifier(prior=pasb.Horseshoe(0.1)),
        pasb.SoftplusClassifier(direction="both"),
    ):
        assert model.sample_prior_proba(X, Y, 7, random_state=1).shape == (7, 60, 3)
    one, two = (
        pasb.StickLogisticClassifier().sample_prior_proba(X, Y, 5, random_state=1) for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match="n_draws"):
        pasb.StickLogisticClassifier().sample_prior_proba(X, Y, 0)
    with pytest.raises(ValueError, match="no probability model"):
        pasb.StickSVMClassifier(width=1.0).sample_prior_proba(X, Y)
    with pytest.raises(ValueError, match="stack"):
        pasb.StackedSoftplusClassifier().sample_prior_proba(X, Y)


def test_the_picture():
    wide = pasb.StickLogisticClassifier(prior=pasb.Normal(0, 100))
    narrow = pasb.StickLogisticClassifier(
        prior={"*": pasb.Normal(0, 1e-3), "intercept": pasb.Normal(0, 0.1)}
    )
    for model, words in ((wide, "above 0.99 in 9"), (narrow, "above 0.99 in 0%")):
        figure = pasb.plots.prior_predictive(model, X, Y, figure=Figure())
        texts = [text.get_text() for text in figure.findobj() if hasattr(text, "get_text")]
        assert any(words in text for text in texts), texts
        assert sum(bar.get_height() for bar in figure.axes[0].patches) == pytest.approx(1)
    pytest.importorskip("formulaic")
    by_formula = FormulaClassifier("kind ~ a + b", narrow)
    data = X.assign(kind=Y)
    assert len(pasb.plots.prior_predictive(by_formula, data, figure=Figure()).axes) == 2
    pipe = make_pipeline(StandardScaler(), pasb.StickLogisticClassifier())
    assert len(pasb.plots.prior_predictive(pipe, X, Y, figure=Figure()).axes) == 2
    with pytest.raises(TypeError, match="classifier of pasb"):
        pasb.plots.prior_predictive(StandardScaler(), X, Y)
    with pytest.raises(ValueError, match="y must hold"):
        pasb.plots.prior_predictive(wide, X)
