"""Normal draws in the space of rows: the same distribution as in that of columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from pasb import StickLogisticClassifier
from pasb.binary import linear
from pasb.binary.wide import draw_wide
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import BLOCK, Rows

N_DRAWS = 600


@pytest.fixture(autouse=True)
def one_thread():
    with one_blas_thread():
        yield


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("heavy", [1.0, 1e6])
def test_moments(heavy, seed, level):
    rng = np.random.default_rng(seed)
    n_rows, n = 200, 7
    rows = Rows.of(rng.normal(size=(n_rows, n)), np.arange(n_rows) % 2, 2)
    latents, linear = np.zeros((2, rows.blocks.shape[0] * BLOCK))
    latents[: n_rows - 60] = rng.gamma(1.0, 0.02 * heavy, size=n_rows - 60)  # the last are absent
    linear[: n_rows - 60] = rng.choice([-0.5, 0.5], size=n_rows - 60)
    precision = rng.gamma(2.0, size=n)
    X = rows.blocks.transpose(0, 2, 1).reshape(-1, rows.blocks.shape[1])[:, :n]
    Q = np.diag(precision) + X.T @ (latents[:, None] * X)
    factor, mean = np.linalg.cholesky(Q), np.linalg.solve(Q, X.T @ linear)
    used = np.ones(len(rows.blocks), dtype=bool)
    draws = np.empty((N_DRAWS, n))
    for k, draw in enumerate(draws):
        assert draw_wide(
            rows.blocks, (latents, linear, used), precision, np.uint64(2 * k + 1), draw
        )
    white = (draws - mean) @ factor
    limit = 1.2 * norm.isf(level / 2 / (n + n * n))  # squares are skewed
    assert np.abs(white.mean(axis=0)).max() * np.sqrt(N_DRAWS) < limit
    second = white.T @ white / N_DRAWS - np.eye(n)
    assert (np.abs(second) / np.sqrt(1 + np.eye(n))).max() * np.sqrt(N_DRAWS) < limit


def test_rows_that_are_nearly_the_same_take_the_slow_way(seed):
    rng = np.random.default_rng(seed)
    rows = Rows.of(np.ones((40, 3)) + 1e-9 * rng.normal(size=(40, 3)), np.arange(40) % 2, 2)
    latents, linear = np.full(BLOCK, 1e30), np.ones(BLOCK)
    draw = np.empty(3)
    task = (latents, linear, np.array([True]))
    assert not draw_wide(rows.blocks, task, np.full(3, 1e-30), np.uint64(1), draw)
    assert np.isfinite(draw).all()


def test_a_fit_with_more_columns_than_rows(monkeypatch):
    monkeypatch.setattr(linear, "WIDE_FROM", 30)
    monkeypatch.setattr("pasb.sampling.problem.MANY_COLUMNS", 30)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = StickLogisticClassifier(
        n_chains=2, n_warmup=20, n_draws=20, random_state=0, progress=False
    )
    with pytest.warns(Warning, match="R-hat|effective"):
        model.fit(X, y)
    assert model.score(X, y) > 0.9  # no level: rows this few are separated
