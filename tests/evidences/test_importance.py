"""Evidences of sticks by importance sampling, against a long run of the same and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from pasb.binary import Logistic, Robit
from pasb.evidences.importance import ImportanceSampler
from pasb.numerics.rows import Rows
from pasb.sticks import ABSENT, FAILURE, SUCCESS

ROLES = np.array([FAILURE, SUCCESS, ABSENT], dtype=np.int8)


def problem(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, n_columns - 1))])
    return Rows.of(X, np.arange(n_rows) % 3, 3), X, np.arange(n_rows) % 3


@pytest.mark.statistical(level=1e-7)
def test_quadrature(seed):
    rows, X, y = problem(seed, 15, 2)
    model = Logistic(rate=8.0)
    found = model.sampler(rows).approximate(ROLES, None)
    value, error = ImportanceSampler(model, rows, 20_000).log_evidence(found, ROLES)
    used = y < 2
    prior = student(4, scale=2.0)
    x = np.linspace(-6, 6, 401)
    grid, widths = np.sinh(x), np.cosh(x) * (x[1] - x[0])  # both coefficients, far out too
    eta = grid[:, None, None] + grid[:, None] * X[used, 1]
    logs = (np.where(y[used] == 1, eta, 0) - np.logaddexp(0, eta)).sum(axis=2)
    mass = prior.pdf(grid) * widths
    exact = np.log(mass @ np.exp(logs) @ mass)
    assert error < 0.02
    assert value == pytest.approx(exact, abs=6 * error + 1e-4)
    assert abs(found.log_evidence - exact) > 0.02


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("model", [Logistic(rate=8.0), Robit(df=6.0)], ids=["logistic", "robit"])
def test_few_draws_are_enough(model, seed):
    rows, _, _ = problem(seed, 90, 12)
    found = model.sampler(rows).approximate(ROLES, None)
    few, error = ImportanceSampler(model, rows, 512).log_evidence(found, ROLES)
    many, small = ImportanceSampler(model, rows, 40_000).log_evidence(found, ROLES)
    assert error < 0.15
    assert abs(few - many) < 6 * np.hypot(error, small)
    assert abs(found.log_evidence - many) > 2 * abs(few - many)


def test_large_tables_need_none(seed):
    rows, _, _ = problem(seed, 3000, 4)
    draws = ImportanceSampler(Logistic(), rows, 8)
    assert not draws.is_needed(ROLES)
    assert ImportanceSampler(Logistic(), problem(seed, 60, 4)[0], 8).is_needed(ROLES)
