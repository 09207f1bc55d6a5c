"""The robit classifier: outliers, probabilities, weights, settings, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pasb.classifiers.logistic_classifier import StickLogisticClassifier
from pasb.classifiers.robit_classifier import StickRobitClassifier


def planted(n_outliers):
    """Two classes that meet at zero, and rows far inside the second with the first's label."""
    x = np.linspace(-2, 2, 81)
    y = (x + 0.6 * np.sin(40 * x) > 0).astype(int)
    x = np.concatenate([x, np.linspace(6, 7, n_outliers)])
    y = np.concatenate([y, np.zeros(n_outliers, dtype=int)])
    return x[:, None], y


def slope_with_and_without_outliers(classifier):
    slopes = []
    for n in (0, 4):
        X, y = planted(n)
        classifier.fit(X, y)
        slopes.append(float(np.abs(classifier.summary()["mean"][1])))
    return slopes


def test_outliers_have_less_influence_than_in_logistic_regression():
    common = {"n_chains": 2, "n_warmup": 300, "n_draws": 500, "random_state": 0}
    common |= {"scale": None, "order": [1, 0]}
    clean, dirty = slope_with_and_without_outliers(StickLogisticClassifier(**common))
    logistic_left = dirty / clean
    clean, dirty = slope_with_and_without_outliers(StickRobitClassifier(df=1, **common))
    # no level: 3.6 times as much, with a spread of 0.09 over other seeds
    assert dirty / clean > 2 * logistic_left


def test_classifier_recovers_probabilities():
    """Labels by stratified counts, not by chance: cell c has its classes in proportion."""
    centres = np.linspace(-1.5, 1.5, 7)
    p = np.column_stack([stats.t.cdf(1.5 * centres, 6), stats.t.cdf(-centres, 6)])
    truth = np.column_stack([p[:, 0], (1 - p[:, 0]) * p[:, 1], (1 - p[:, 0]) * (1 - p[:, 1])])
    counts = np.round(120 * truth).astype(int)
    X = np.concatenate([np.full((row.sum(), 1), c) for c, row in zip(centres, counts, strict=True)])
    y = np.concatenate([np.repeat([0, 1, 2], row) for row in counts])
    model = StickRobitClassifier(n_chains=2, n_warmup=150, n_draws=300, random_state=0)
    found = model.fit(X, y).predict_proba(centres[:, None])
    # no level: 0.003 with a spread of 0.001 over other seeds
    assert np.abs(found - truth).max() < 0.05


def test_weights_other_than_zero_and_one_are_refused():
    X, y = planted(0)
    model = StickRobitClassifier(n_chains=1, n_warmup=20, n_draws=20, random_state=0)
    with pytest.raises(ValueError, match="sample_weight must be 0 or 1"):
        model.fit(X, y, sample_weight=np.full(len(y), 2.0))


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
def test_weights_of_zero_leave_rows_out():
    X, y = planted(3)
    model = StickRobitClassifier(
        n_chains=1, n_warmup=20, n_draws=20, random_state=0, scale=None, order=[0, 1]
    )
    left_out = model.fit(X, y, sample_weight=(X[:, 0] < 3).astype(float)).draws_.parameters["coef"]
    assert (left_out == model.fit(*planted(0)).draws_.parameters["coef"]).all()


@pytest.mark.parametrize("df", [0, -1.5, "many", np.nan])
def test_classifier_names_an_impossible_df(df):
    X, y = planted(0)
    with pytest.raises(ValueError, match="df"):
        StickRobitClassifier(df=df).fit(X, y)


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "df",
    [4.0, np.inf],
)
def test_a_checkpoint_goes_on(df, tmp_path):
    X, y = planted(2)
    model = StickRobitClassifier(
        df=df, n_chains=2, n_warmup=20, n_draws=30, random_state=0, checkpoint=tmp_path / "run"
    )
    model.set_params(n_draws=10).fit(X, y)
    resumed = model.set_params(n_draws=30).fit(X, y).draws_.parameters["coef"]
    assert (resumed == model.set_params(checkpoint=None).fit(X, y).draws_.parameters["coef"]).all()
