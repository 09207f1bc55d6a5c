"""Normal draws from a precision matrix, by Cholesky and by QR, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from pasb.binary.binary_model import Keys
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import (
    BLOCK,
    blocked,
)


class TestGaussian:
    @pytest.mark.statistical(level=1e-6)
    @pytest.mark.parametrize("size", [3, 100])  # own Cholesky; LAPACK's
    def test_draws_have_the_mean_and_covariance(self, size, seed, level):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(size, size)) / math.sqrt(size)
        precision = (root @ root.T + 0.5 * np.eye(size)) * np.outer(
            *2 * [10.0 ** rng.uniform(-3, 3, size)]
        )
        linear = rng.normal(size=size)
        n = 4000
        draws = np.empty((n, size))
        scale, factor = np.empty(size), np.empty((size, size))
        for i in range(n):
            key = Keys(seed, 0, i).at(0)
            assert draw_from_precision(precision, linear, key, scale, factor, draws[i])
        # whitened draws are standard normal
        upper = np.linalg.cholesky(precision).T
        z = (draws - np.linalg.solve(precision, linear)) @ upper.T
        limit = norm.isf(level / (4 * size**2))
        assert np.abs(z.mean(axis=0) * math.sqrt(n)).max() < limit
        spread = (z.T @ z / n - np.eye(size)) * math.sqrt(n)
        spread[np.diag_indices(size)] /= math.sqrt(2)
        assert np.abs(spread).max() < 1.15 * limit  # the tails of a chi-square are heavier

    def test_qr_gives_the_same_draw(self, seed):
        rng = np.random.default_rng(seed)
        X, w, alpha = rng.normal(size=(40, 5)), rng.random(40), rng.random(5) + 0.1
        rows, centre, key = rng.normal(size=40), rng.normal(size=5), Keys(seed, 0, 0).at(0)
        precision = (X * w[:, None]).T @ X + np.diag(alpha)
        out = np.empty(5)
        linear = X.T @ rows + alpha * centre
        draw_from_precision(precision, linear, key, np.empty(5), np.empty((5, 5)), out)
        weights, linear_weights, by_qr = np.zeros(BLOCK), np.zeros(BLOCK), np.empty(5)
        weights[:40], linear_weights[:40] = w, rows
        work = key, np.empty(5), by_qr
        draw_by_qr(blocked(X), weights, linear_weights, alpha, centre, *work)
        assert by_qr == pytest.approx(out)

    def test_qr_is_exact_where_weights_differ_by_decades(self, seed):
        """Against rational numbers; distances are in units of the distribution's own spread.

        Weights of 1e14 beside a prior precision of 1e-12, and linear terms that would push a
        predictor of a million to the other side: summed up they would leave nothing of the rest.
        """
        rng = np.random.default_rng(seed)
        m, n = 40, 4
        X = np.column_stack([np.ones(m), rng.random((m, n - 1))])
        w = 10.0 ** np.where(rng.random(m) < 0.3, rng.uniform(2, 14, m), rng.uniform(-6, 0, m))
        psi, alpha, centre = 1e6 * rng.normal(size=m), np.full(n, 1e-12), 1e6 * rng.normal(size=n)
        rows = np.where(psi > 0, -2 * w * psi, np.sqrt(w))
        weights, linear_weights = np.zeros(BLOCK), np.zeros(BLOCK)
        weights[:m], linear_weights[:m] = w, rows
        drawn, noise = np.empty(n), np.empty(n)
        key, scale = Keys(seed, 0, 0).at(0), np.empty(n)
        draw_by_qr(blocked(X), weights, linear_weights, alpha, centre, key, scale, drawn)
        nothing = np.zeros(BLOCK), alpha, np.zeros(n)
        draw_by_qr(blocked(X), weights, *nothing, key, scale, noise)
        exact = np.vectorize(Fraction, otypes=[object])
        Q = exact(X).T @ (exact(w)[:, None] * exact(X)) + np.diag(exact(alpha))
        linear = exact(X).T @ exact(rows) + exact(alpha) * exact(centre)
        off = exact(drawn - noise) - solve_exactly(Q, linear)
        assert float(off @ Q @ off) ** 0.5 < 0.05

    @pytest.mark.parametrize("size", [3, 120])
    def test_cholesky_failure_is_reported_and_qr_still_works(self, size):
        """One row of weight 1e17 drowns the prior precisions in rounding errors."""
        X = np.vander([1.1], size) + 1.0
        w, alpha = np.array([1e17]), np.full(size, 1e-3)
        precision = (X * w[:, None]).T @ X + np.diag(alpha)
        linear, key, out = np.ones(size), Keys(1, 2, 3).at(4), np.empty(size)
        work = np.empty(size), np.empty((size, size))
        assert not draw_from_precision(precision, linear, key, *work, out)
        weights, draw = np.zeros(BLOCK), np.empty(size)
        weights[:1] = w
        nothing = np.zeros(BLOCK), alpha, np.ones(size)
        draw_by_qr(blocked(X), weights, *nothing, key, np.empty(size), draw)
        assert np.isfinite(draw).all()
        # the data pin down x'b to within 1e-8; the rest is free to move with the prior
        assert abs(X[0] @ draw) < 1e-3 * np.linalg.norm(draw)

    def test_not_a_number_is_reported(self):
        precision = np.full((2, 2), np.nan)
        work = np.empty(2), np.empty((2, 2))
        assert not draw_from_precision(precision, np.ones(2), np.uint64(1), *work, np.empty(2))


def solve_exactly(matrix, right):
    """Gaussian elimination, for entries that are rational numbers."""
    n = len(right)
    a = np.column_stack([matrix, right])
    for j in range(n):
        for i in range(j + 1, n):
            a[i] = a[i] - a[j] * (a[i, j] / a[j, j])
    for j in range(n - 1, -1, -1):
        a[j] = a[j] / a[j, j]
        for i in range(j):
            a[i] = a[i] - a[j] * a[i, j]
    return a[:, n]
