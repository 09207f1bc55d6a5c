"""The scale of the prior by empirical Bayes."""

from __future__ import annotations

import numpy as np
import pytest

import pasb
import pasb.errors
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.laplace import laplace_logistic
from pasb.covariates.prior_scale import (
    FIRST_RATE,
    GREATEST_RATE,
    LEAST_RATE,
    prior_rate,
)
from pasb.numerics.rows import Rows

FEW = {"n_chains": 1, "n_warmup": 20, "n_draws": 20, "random_state": 1, "progress": False}


def table(scale, n_columns=30, n_rows=600, seed=0):
    """Rows of three categories whose coefficients have a given size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    logits = X @ rng.normal(scale=scale, size=(n_columns, 3))
    y = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    return X, y


def rows_of(X, y):
    return Rows.of(np.column_stack([np.ones(len(X)), X]), y, 3)


def test_rate_follows_the_size_of_the_coefficients():
    rates = [prior_rate(rows_of(*table(scale)), 2.0) for scale in (0.03, 0.3, 3.0)]
    assert rates[0] < rates[1] < rates[2]


def test_rate_is_the_best_of_the_grid():
    rows = rows_of(*table(0.3))
    chosen = prior_rate(rows, 2.0)

    def evidence(rate):
        total = 0.0
        for s in range(3):
            parts = np.zeros(3, dtype=np.int8)
            parts[s] = 1
            prior = CoefficientPrior.of("ard", 2.0, rate)
            total += laplace_logistic(rows, parts, prior).log_evidence
        return total

    grid = FIRST_RATE * 4.0 ** np.arange(-6, 3)
    assert grid[0] == LEAST_RATE
    assert grid[-1] == GREATEST_RATE
    assert chosen == grid[np.argmax([evidence(rate) for rate in grid])]


def test_many_columns_take_no_fits():
    X = np.random.default_rng(0).normal(size=(50, 800))
    assert prior_rate(rows_of(X, np.arange(50) % 3), 2.0) == pytest.approx(8 * 20 / 801)


def test_row_weights_count():
    X, y = table(0.3)
    repeated = prior_rate(rows_of(np.repeat(X, 2, axis=0), np.repeat(y, 2)), 2.0)
    weighted = Rows.of(np.column_stack([np.ones(len(X)), X]), y, 3, np.full(len(y), 2.0))
    assert prior_rate(weighted, 2.0) == repeated


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        (pasb.StickLogisticClassifier(**FEW), 1.0),
        (pasb.StickRobitClassifier(df=np.inf, **FEW), (0.3989422804 / 0.25) ** 2),
    ],
)
def test_classifiers_use_and_keep_the_rate(model, factor, tmp_path):
    X, y = table(0.3)
    with pytest.warns(pasb.errors.ConvergenceWarning):
        model.fit(X, y)
    expected = prior_rate(Rows.of(model._columns(X), y, 3), 2.0)
    assert model.precision_rate_ == pytest.approx(expected / factor)
    model.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert again.precision_rate_ == model.precision_rate_
    assert again._binary_model().get_params() == model._binary_model().get_params()


def test_a_given_rate_is_taken_as_it_is():
    X, y = table(0.3)
    model = pasb.StickLogisticClassifier(precision_rate=3.0, **FEW)
    with pytest.warns(pasb.errors.ConvergenceWarning):
        model.fit(X, y)
    assert model.precision_rate_ == 3.0


def test_a_wrong_rate_is_named():
    X, y = table(0.3)
    with pytest.raises(ValueError, match="precision_rate"):
        pasb.StickLogisticClassifier(precision_rate="automatic").fit(X, y)


def test_softplus_models_sample_theirs(tmp_path):
    X, y = table(0.3)
    model = pasb.SoftplusClassifier(n_experts=1, n_layers=1, **FEW)
    with pytest.warns(pasb.errors.ConvergenceWarning):
        model.fit(X, y)
    draws = model.draws_.parameters["mean_rate"]
    assert model.precision_rate_ == np.median(draws)
    assert (draws == draws[..., :1]).all(), "all sticks share it"
    assert len(np.unique(draws)) == draws.shape[0] * draws.shape[1]
    assert set(model.posterior_["posterior"]) >= {"mean_rate"}
    model.save(tmp_path / "model.pasb")
    assert pasb.load(tmp_path / "model.pasb").precision_rate_ == model.precision_rate_
    given = pasb.SoftplusClassifier(n_experts=1, n_layers=1, precision_rate=3.0, **FEW)
    with pytest.warns(pasb.errors.ConvergenceWarning):
        given.fit(X, y)
    assert given.precision_rate_ == 3.0
    assert "mean_rate" not in given.draws_.parameters
