"""Value and gradient of a softplus stick against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from pasb.binary.softplus_force import force_space, single_gradient
from pasb.binary.softplus_gradient import gradient_space, log_likelihood, value_and_gradient
from pasb.binary.stick_rows import StickRows, stick_rows
from pasb.numerics.rows import Rows
from pasb.sticks import FAILURE, SUCCESS


def by_hand(X, success, power, coef, log_weight):
    log_q = np.zeros((len(X), coef.shape[0]))
    for t in range(coef.shape[1]):
        x = X @ coef[:, t].T + log_q
        with np.errstate(divide="ignore"):
            log_q = np.where(x < -30, x, np.log(np.logaddexp(0, x)))
    rate = np.exp(log_q) @ np.exp(log_weight)
    terms = np.where(success, np.log(-np.expm1(-rate)), -rate)
    return np.sum(power * terms)


def problem(seed, scale, n=(40, 70), n_experts=3, n_layers=2):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(sum(n)), rng.normal(size=(sum(n), 3))])
    rows = Rows.of(X, np.repeat([0, 1], n), 2)
    coef = scale * rng.normal(size=(n_experts, n_layers, 4))
    return X, rows, coef, rng.normal(size=n_experts)


def padded(own: StickRows, coef):
    n_experts, n_layers, n_columns = coef.shape
    flat = np.zeros((n_experts * n_layers, own.blocks.shape[1]))
    flat[:, :n_columns] = coef.reshape(-1, n_columns)
    return flat


def compiled(own: StickRows, coef, log_weight):
    (n_experts, n_layers, n_columns), flat = coef.shape, padded(own, coef)
    grad_coef, grad_weight = np.zeros_like(flat), np.zeros(n_experts)
    work = gradient_space(n_experts, n_layers, own.blocks.shape[2])
    value = value_and_gradient(own, flat, log_weight, work, grad_coef, grad_weight)
    return value, grad_coef[:, :n_columns].reshape(coef.shape), grad_weight


@pytest.mark.parametrize("scale", [0.3, 3.0, 30.0])
def test_value_and_gradient(scale, seed):
    X, rows, coef, log_weight = problem(seed, scale)
    own = stick_rows(rows, np.array([SUCCESS, FAILURE], dtype=np.int8))
    own = own._replace(power=np.array([1.0, 0.3]))
    value, grad_coef, grad_weight = compiled(own, coef, log_weight)
    success, power = np.repeat([True, False], (40, 70)), np.repeat([1.0, 0.3], (40, 70))
    assert value == pytest.approx(by_hand(X, success, power, coef, log_weight), rel=1e-9)

    def at(point):
        return by_hand(X, success, power, point[:-3].reshape(coef.shape), point[-3:])

    point = np.concatenate([coef.ravel(), log_weight])
    expected = approx_fprime(point, at, 1e-7)
    found = np.concatenate([grad_coef.ravel(), grad_weight])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * abs(expected).max())


@pytest.mark.parametrize("scale", [0.3, 3.0, 30.0, 1e4])
def test_value_alone(scale, seed):
    _, rows, coef, log_weight = problem(seed, scale)
    own = stick_rows(rows, np.array([SUCCESS, FAILURE], dtype=np.int8))
    work = gradient_space(*coef.shape[:2], own.blocks.shape[2])
    value = log_likelihood(own, padded(own, coef), log_weight, work)
    assert value == pytest.approx(compiled(own, coef, log_weight)[0], rel=1e-12)


@pytest.mark.parametrize("scale", [0.3, 3.0, 30.0, 300.0])
@pytest.mark.parametrize("shift", [-40.0, 0.0, 3.0])
def test_the_gradient_in_single_precision(scale, shift, seed):
    """Rows of rates from 1e-300 to 1e20: the gradient of each part to some parts in a million."""
    _, rows, coef, log_weight = problem(seed, scale, n=(300, 500))
    log_weight = log_weight + shift
    own = stick_rows(rows, np.array([SUCCESS, FAILURE], dtype=np.int8))
    _, *expected = compiled(own, coef, log_weight)
    flat = padded(own, coef)
    found = np.zeros_like(flat), np.zeros(len(log_weight))
    work = force_space(*coef.shape[:2], *own.blocks.shape[1:])
    single_gradient(own, flat, log_weight, work, *found)
    by_coef = found[0][:, : coef.shape[2]].reshape(coef.shape)
    largest = max(abs(expected[0]).max(), abs(expected[1]).max())
    np.testing.assert_allclose(by_coef, expected[0], rtol=1e-4, atol=1e-5 * largest)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-4, atol=1e-5 * largest)


def test_extreme_predictors_stay_finite(seed):
    _, rows, coef, log_weight = problem(seed, 1e4)
    own = stick_rows(rows, np.array([SUCCESS, FAILURE], dtype=np.int8))
    value, grad_coef, grad_weight = compiled(own, coef, log_weight)
    assert np.isfinite(value)
    assert np.isfinite(grad_coef).all()
    assert np.isfinite(grad_weight).all()
