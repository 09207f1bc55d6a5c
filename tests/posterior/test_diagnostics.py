"""R-hat and effective sample size against ArviZ."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from arviz_stats.base import array_stats

from pasb.posterior.chain_error import ChainError
from pasb.posterior.diagnostics import Diagnostics, bulk_ess, split_rhat


def ar1(rng, shape, rho):
    """Chains of an autoregression with variance 1; the draw is the second axis."""
    x = rng.normal(size=shape)
    for t in range(1, shape[1]):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    return x


class TestAgainstArviz:
    @pytest.mark.parametrize("n_chains", [1, 2, 4])
    @pytest.mark.parametrize("n_draws", [4, 7, 50, 401, 1000])
    @pytest.mark.parametrize("rho", [-0.5, 0.0, 0.7, 0.97])
    def test_autoregressions(self, n_chains, n_draws, rho, seed):
        x = ar1(np.random.default_rng(seed), (n_chains, n_draws, 20), rho)
        ess = [array_stats.ess(x[..., q], chain_axis=0, draw_axis=1) for q in range(20)]
        np.testing.assert_allclose(bulk_ess(x), ess, rtol=1e-8)
        if n_chains == 1:
            assert np.isnan(array_stats.rhat(x[..., 0], chain_axis=0, draw_axis=1))
            assert np.isnan(split_rhat(x)).all()
            return
        rhat = [array_stats.rhat(x[..., q], chain_axis=0, draw_axis=1) for q in range(20)]
        np.testing.assert_allclose(split_rhat(x), rhat, rtol=1e-10)

    def test_chains_that_disagree(self, seed):
        x = ar1(np.random.default_rng(seed), (4, 200, 2), 0.5)
        x[1] += 3
        x[2, :, 1] *= 5
        rhat = [array_stats.rhat(x[..., q], chain_axis=0, draw_axis=1) for q in range(2)]
        np.testing.assert_allclose(split_rhat(x), rhat, rtol=1e-10)
        assert (split_rhat(x) > 1.05).all()

    def test_ties(self, seed):
        x = np.random.default_rng(seed).integers(3, size=(2, 100, 2)).astype(float)
        rhat = [array_stats.rhat(x[..., q], chain_axis=0, draw_axis=1) for q in range(2)]
        ess = [array_stats.ess(x[..., q], chain_axis=0, draw_axis=1) for q in range(2)]
        np.testing.assert_allclose(split_rhat(x), rhat, rtol=1e-10)
        np.testing.assert_allclose(bulk_ess(x), ess, rtol=1e-8)


class TestCorners:
    def test_a_constant_is_converged(self):
        x = np.full((2, 50, 1), 3.0)
        assert split_rhat(x)[0] == 1
        assert bulk_ess(x)[0] == 100

    def test_chains_that_are_constant_but_differ_are_not(self):
        x = np.zeros((2, 50, 1))
        x[1] = 1
        assert split_rhat(x)[0] > 100
        assert bulk_ess(x)[0] < 10

    @pytest.mark.parametrize("n_draws", [1, 2, 3])
    def test_fewer_than_four_draws_say_nothing(self, n_draws):
        x = np.random.default_rng(0).normal(size=(2, n_draws, 2))
        assert np.isnan(split_rhat(x)).all()
        assert np.isnan(bulk_ess(x)).all()

    def test_no_warnings_from_numpy(self):
        x = np.zeros((2, 40, 3))
        x[1, :, 1] = 1
        x[:, :20, 2] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            split_rhat(x)
            bulk_ess(x)

    def test_worst_of_all(self):
        error = ChainError(np.array([[0.1, 0.2]]), np.array([[3.0, 3.0]]))
        seen = Diagnostics(np.array([[1.0, 1.3]]), np.array([[50.0, 7.0]]), 1.1, 90.0, error)
        assert seen.worst_rhat == 1.3
        assert seen.worst_ess == 7.0
        assert replace(seen, rhat_log_likelihood=2.0).worst_rhat == 2.0
        assert replace(seen, ess_log_likelihood=2.0).worst_ess == 2.0
