"""Draws side by side: the probabilities of the formulas, however large the predictors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import norm
from scipy.stats import t as student

from pasb.binary import Logistic, Robit, Softplus
from pasb.binary.side_by_side import n_lanes
from pasb.numerics.rows import TILE, padded

N_DRAWS, N_STICKS, N_COLUMNS = 300, 2, 6


def probabilities(model, parameters, X):
    """Success and failure by the package, (stick, row, draw)."""
    layout = model.side_by_side(parameters)
    success, failure = np.empty((2, N_STICKS, len(X), n_lanes(N_DRAWS)))
    wide = padded(X, -(-X.shape[1] // TILE) * TILE)
    model.stick_probabilities(layout, wide, success, failure)
    return success[..., :N_DRAWS], failure[..., :N_DRAWS]


def some_rows(rng, n=7):
    return np.column_stack([np.ones(n), rng.normal(size=(n, N_COLUMNS - 1))])


@pytest.mark.parametrize("size", [0.1, 3.0, 40.0, 1e3, 1e6])
@pytest.mark.parametrize("df", [None, 4.0, np.inf])
def test_linear(df, size, seed):
    rng = np.random.default_rng(seed)
    model = Logistic() if df is None else Robit(df=df)
    X, coef = some_rows(rng), size * rng.normal(size=(N_DRAWS, N_STICKS, N_COLUMNS))
    success, failure = probabilities(model, {"coef": coef}, X)
    eta = np.einsum("iv,djv->jid", X, coef)
    link = expit if df is None else norm.cdf if df == np.inf else student(df).cdf
    np.testing.assert_allclose(success, link(eta), rtol=0, atol=1e-12)
    np.testing.assert_allclose(failure, link(-eta), rtol=0, atol=1e-12)
    if df is None:
        small = np.abs(eta) < 700
        np.testing.assert_allclose(
            np.log(success[small]), log_expit(eta[small]), rtol=1e-10, atol=1e-14
        )
    assert (success > 0).all()
    assert (failure > 0).all()


def softplus_by_hand(coef, weight, X):
    """Success and failure in plain NumPy and logs, (stick, row, draw)."""
    log_q = np.zeros((*weight.shape, len(X)))
    for t in range(coef.shape[3]):
        x = np.einsum("djkv,iv->djki", coef[:, :, :, t], X) + log_q
        with np.errstate(divide="ignore"):
            log_q = np.where(x < -30, x, np.log(np.logaddexp(0, np.maximum(x, -30))))
    with np.errstate(divide="ignore", over="ignore"):
        rate = np.exp(np.log(weight)[..., None] + log_q).sum(axis=2)
    return -np.expm1(-rate).transpose(1, 2, 0), np.exp(-rate).transpose(1, 2, 0)


@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("size", [0.1, 1.0, 20.0, 300.0, 1e4])
def test_softplus(size, n_layers, seed):
    """Beyond some size of predictors the kernel works in logs."""
    rng = np.random.default_rng(seed)
    X = some_rows(rng)
    coef = size * rng.normal(size=(N_DRAWS, N_STICKS, 4, n_layers, N_COLUMNS))
    weight = rng.gamma(0.3, 1, size=(N_DRAWS, N_STICKS, 4))
    weight[rng.random(weight.shape) < 0.3] = 0.0
    weight[:256, 1, 2:] = 0.0  # a block without these experts
    model = Softplus(n_experts=4, n_layers=n_layers)
    success, failure = probabilities(model, {"coef": coef, "weight": weight}, X)
    expected = softplus_by_hand(coef, weight, X)
    np.testing.assert_allclose(success, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(failure, expected[1], rtol=0, atol=1e-12)
    sure = (expected[0] > 1e-250) & (size <= 20)
    np.testing.assert_allclose(success[sure], expected[0][sure], rtol=1e-10)


def test_negligible_experts(seed):
    """Only those are left out that no training row needed and that hardly change a rate."""
    rng = np.random.default_rng(seed)
    X = some_rows(rng, 20)
    parameters = {
        "coef": rng.normal(size=(50, 3, 5, 2, N_COLUMNS)),
        "weight": rng.gamma(0.1, 1, size=(50, 3, 5)),
        "active": rng.integers(0, 2, size=(50, 3, 5)).astype(float),
    }
    model = Softplus(n_experts=5, n_layers=2)
    kept = model.without_negligible(parameters, X)["weight"]
    out = (kept == 0) & (parameters["weight"] > 0)
    assert 0.05 < out.mean() < 0.6
    assert (parameters["active"][out] == 0).all()
    assert (kept.max(axis=2) > 0).all()
    before = softplus_by_hand(parameters["coef"], parameters["weight"], X)[0]
    after = softplus_by_hand(parameters["coef"], np.maximum(kept, 1e-290), X)[0]
    assert np.abs(after - before).max() < 5 * 1e-4
