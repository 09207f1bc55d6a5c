"""Vector functions, blocked sums and normal draws against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import njit
from scipy.integrate import quad
from scipy.stats import binomtest, kstest, norm, t

from pasb.binary.binary_model import Keys
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.laplace import WIDE_SHARE, WIDTH, Laplace, laplace_logistic, pack
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import (
    BLOCK,
    Rows,
    blocked,
    linear_predictors,
    padded,
    unblocked,
    weighted_gram,
)
from pasb.numerics.vector import vector_exp, vector_log, vector_log1p_exp_neg, vector_softplus
from pasb.sticks import ABSENT, FAILURE, SUCCESS


@njit
def apply(which, x, out):
    for i in range(x.size):
        if which == 0:
            out[i] = vector_exp(x[i])
        elif which == 1:
            out[i] = vector_log(x[i])
        elif which == 2:
            out[i] = vector_log1p_exp_neg(x[i])
        else:
            out[i] = vector_softplus(x[i])


def largest_relative_error(which, x, reference):
    out = np.empty_like(x)
    apply(which, x, out)
    return np.max(np.abs(out / reference - 1))


class TestVectorFunctions:
    def test_exp(self):
        x = np.linspace(-700, 700, 100_001)
        assert largest_relative_error(0, x, np.exp(x)) < 1e-15

    def test_log(self):
        x = np.exp(np.linspace(-700, 700, 100_001))
        x = x[np.abs(np.log(x)) > 1e-3]
        assert largest_relative_error(1, x, np.log(x)) < 1e-15
        near_one = 1 + np.linspace(1e-8, 1e-3, 10_001)
        assert largest_relative_error(1, near_one, np.log(near_one)) < 1e-15

    def test_log1p_exp_neg(self):
        x = np.linspace(0, 700, 100_001)
        assert largest_relative_error(2, x, np.log1p(np.exp(-x))) < 2e-15

    def test_softplus(self):
        x = np.linspace(-700, 1e4, 100_001)
        assert largest_relative_error(3, x, np.logaddexp(0, x)) < 2e-15

    def test_extremes_stay_finite(self):
        x = np.array([-1e300, -1e4, -708.5, 0.0, 709.5, 1e4, 1e300])
        for which in (0, 3):
            out = np.empty_like(x)
            apply(which, x, out)
            assert np.isfinite(out).all()


class TestRows:
    def test_weights_are_those_given_or_ones(self):
        X, y = np.ones((6, 1)), np.array([2, 0, 1, 0, 1, 2])
        weights = np.array([0.5, 1.0, 2.0, 3.0, 1.0, 1.0])
        assert Rows.of(X, y, 3, weights).weights.tolist() == [1.0, 3.0, 2.0, 1.0, 0.5, 1.0]
        for ones in (None, np.ones(6), np.ones(6, dtype=int)):
            rows = Rows.of(X, y, 3, ones)
            assert rows.given_weights is None  # no memory for what nobody may ask for
            assert rows.weights.dtype == np.float64
            assert (rows.weights == 1).all()
            assert rows.n_rows == len(rows.weights) == 6

    def test_some_rows_keep_their_weights(self):
        y = np.arange(100) % 2
        rows = Rows.of(np.ones((100, 1)), y, 2, 1.0 + np.arange(100))
        few = rows.at_most(50)
        assert few.n_rows == 50
        assert np.isin(few.weights, rows.weights).all()
        assert (few.weights[few.categories == 1] % 2 == 0).all()
        assert Rows.of(np.ones((100, 1)), y, 2).at_most(50).given_weights is None

    @pytest.mark.parametrize(("n", "p"), [(1, 1), (5, 9), (256, 4), (700, 37)])
    def test_sums_agree_with_numpy(self, n, p, seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, p)), rng.integers(3, size=n)
        rows = Rows.of(X, y, 3)
        n_blocks, n_padded, _ = rows.blocks.shape
        ordered = X[np.argsort(y, kind="stable")]
        assert (unblocked(rows.blocks, n, p) == ordered).all()
        assert (rows.categories == np.sort(y)).all()

        w, v = np.zeros((2, n_blocks * BLOCK))
        w[:n], v[:n] = rng.random(n), rng.normal(size=n)
        gram, linear = np.zeros((n_padded, n_padded)), np.zeros(n_padded)
        scratch, used = np.zeros((n_padded, BLOCK)), np.ones(n_blocks, dtype=bool)
        weighted_gram(rows.blocks, w, v, used, scratch, gram, linear)
        expected = (ordered * w[:n, None]).T @ ordered
        assert np.tril(gram[:p, :p]) == pytest.approx(np.tril(expected))
        assert linear[:p] == pytest.approx(ordered.T @ v[:n])

        coef = rng.normal(size=(2, p))
        eta = np.empty((2, n_blocks * BLOCK))
        linear_predictors(rows.blocks, padded(coef, n_padded), eta)
        assert eta[:, :n] == pytest.approx(coef @ ordered.T)

    def test_a_row_does_not_see_its_neighbours(self, seed):
        rng = np.random.default_rng(seed)
        X, coef = rng.normal(size=(300, 7)), rng.normal(size=(1, 7))
        whole, single = np.empty((1, 512)), np.empty((1, 256))
        linear_predictors(blocked(X), padded(coef, 8), whole)
        for i in (0, 17, 255, 256, 299):
            linear_predictors(blocked(X[i : i + 1]), padded(coef, 8), single)
            assert single[0, 0] == whole[0, i]


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


@pytest.mark.parametrize("precision", [0.5, "ard"])
def test_laplace_finds_the_mode_and_the_evidence(precision):
    """Mode against its equation, evidence of one intercept against quadrature."""
    prior = CoefficientPrior.of(precision, 3.0, 2.0)
    # rows that are absent fill a block, and share others with those that are not
    y = np.repeat(np.arange(5), [100, 18, 500, 12, 3])
    roles = np.array([ABSENT, FAILURE, ABSENT, SUCCESS, ABSENT], dtype=np.int8)
    fit = laplace_logistic(Rows.of(np.ones((len(y), 1)), y, 5), roles, prior)
    p = 1 / (1 + np.exp(-fit.mode[0]))
    gradient = 12 - 30 * p - prior.precision_at(fit.mode)[0] * fit.mode[0]
    assert gradient == pytest.approx(0, abs=1e-3)

    def posterior(b):
        likelihood = -12 * np.logaddexp(0, -b) - 18 * np.logaddexp(0, b)
        return np.exp(likelihood + prior.log_density(np.array([b])))

    exact = np.log(quad(posterior, -15, 15, epsabs=0)[0])
    assert fit.log_evidence == pytest.approx(exact, abs=0.03)
    proposal = quad(lambda b: np.exp(fit.log_density(np.array([b]))), -15, 15)[0]
    assert proposal == pytest.approx(1, abs=1e-6)


@pytest.mark.statistical(level=1e-6)
def test_laplace_draws_have_the_density_they_claim(seed, level):
    """The two-component proposal against its own distribution function."""
    mode, scale = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    factor = np.array([[1.0, 0.0], [0.6, 0.8]])
    approximation = Laplace(pack(mode, scale, factor, -2 * np.log(1.5 / 0.8), 0.0), 0.0)
    draws = np.empty((20_000, 2))
    for i in range(len(draws)):
        approximation.draw(Keys(seed, 0, i).at(0), draws[i])
    z = (draws - mode) / scale @ factor
    distance = np.sum(z**2, axis=1)

    def cdf(d):
        return 1 - (1 - WIDE_SHARE) * np.exp(-d / 2) - WIDE_SHARE * np.exp(-d / 2 / WIDTH**2)

    assert kstest(distance, cdf).pvalue > level / 3
    for column in z.T:  # symmetric about the mode
        assert binomtest(int((column > 0).sum()), len(column)).pvalue > level / 3


@pytest.mark.parametrize(
    "prior", [CoefficientPrior(True, 2.0, 8.0), CoefficientPrior(False, 0.5, 1)]
)
def test_prior_is_a_density_with_the_stated_gradient(prior):
    def density(b):
        return np.exp(prior.log_density(np.array([b])))

    assert quad(density, -np.inf, np.inf)[0] == pytest.approx(1, abs=1e-6)
    if prior.ard:
        assert density(1.3) == pytest.approx(t.pdf(1.3, 4, scale=2))
    slope = (np.log(density(1.3 + 1e-5)) - np.log(density(1.3 - 1e-5))) / 2e-5
    assert -prior.precision_at(np.array([1.3]))[0] * 1.3 == pytest.approx(slope, rel=1e-6)
