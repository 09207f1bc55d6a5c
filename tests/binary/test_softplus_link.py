"""The softplus link against its definition, in extended precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pasb.binary.logistic import Logistic
from pasb.binary.softplus import Softplus
from pasb.numerics.rows import blocked


def log_rate(coef, weight, table):
    """log lambda in extended precision, straight from the definition."""
    total = np.zeros(len(table), dtype=np.longdouble)
    for r, layers in zip(weight, coef, strict=True):
        q = np.ones(len(table), dtype=np.longdouble)
        for b in layers:
            q = np.log1p(q * np.exp(table.astype(np.longdouble) @ b.astype(np.longdouble)))
        total += np.longdouble(r) * q
    return np.log(total)


def logs(model, coef, weight, table):
    parameters = {"coef": coef[None, None], "weight": weight[None, None]}
    success, failure = model.log_probabilities(parameters, blocked(table))
    return success[0, 0, : len(table)], failure[0, 0, : len(table)]


@pytest.mark.parametrize(("n_experts", "n_layers"), [(1, 1), (1, 3), (5, 1), (5, 3)])
def test_link_against_its_definition(n_experts, n_layers, seed):
    rng = np.random.default_rng(seed)
    table = np.column_stack([np.ones(300), rng.normal(scale=3, size=(300, 4))])
    coef = rng.normal(scale=2, size=(n_experts, n_layers, 5))
    weight = rng.gamma(0.3, size=n_experts) + 1e-12
    model = Softplus(n_experts=n_experts, n_layers=n_layers)
    success, failure = logs(model, coef, weight, table)
    rate = np.exp(log_rate(coef, weight, table))
    assert failure == pytest.approx(-rate.astype(float), rel=1e-12)
    assert success == pytest.approx(np.log(-np.expm1(-rate)).astype(float), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("n_layers", [1, 2, 20])
@pytest.mark.parametrize("psi", [-1e4, -800.0, -37.5, 0.0, 37.5, 800.0, 1e4])
def test_link_is_finite_for_enormous_predictors(psi, n_layers):
    model = Softplus(n_experts=2, n_layers=n_layers)
    coef = np.full((2, n_layers, 1), psi)
    success, failure = logs(model, coef, np.array([0.5, 1e-300]), np.ones((3, 1)))
    log_q = 0.0
    for _ in range(n_layers):
        x = psi + log_q
        log_q = x if x < -37 else math.log(np.logaddexp(0.0, x))
    rate = 0.5 * math.exp(min(log_q, 700))
    assert np.isfinite(success).all()
    assert np.isfinite(failure).all()
    assert failure == pytest.approx(-rate, rel=1e-12, abs=1e-300)
    if log_q < -40:
        assert success == pytest.approx(log_q + math.log(0.5), rel=1e-12)
    else:
        assert success == pytest.approx(math.log(-math.expm1(-rate)), rel=1e-12, abs=1e-15)


def test_one_expert_with_one_layer_and_unit_weight_is_logistic(seed):
    table = np.random.default_rng(seed).normal(scale=5, size=(100, 3))
    coef = np.array([0.5, -1.0, 2.0])
    ours = logs(Softplus(n_experts=1, n_layers=1), coef[None, None], np.ones(1), table)
    theirs = Logistic().log_probabilities({"coef": coef[None, None]}, blocked(table))
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b[0, 0, :100], rel=1e-11, abs=1e-15)
