"""Standard errors from the spread between chains, which need not mix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from pasb.posterior.diagnostics import Diagnostics


def of(means, n_draws=5):
    """Diagnostics of chains that stay at these probabilities, (chain, row, category)."""
    means = np.asarray(means, dtype=float)
    draws = np.repeat(means[:, None], n_draws, axis=1)
    return Diagnostics.of(draws, np.zeros(draws.shape[:2]))


class TestBetweenChains:
    def test_spread_of_the_chains_averages(self, seed):
        draws = np.random.default_rng(seed).random((4, 50, 3, 2))
        seen = Diagnostics.of(draws, draws[:, :, 0, 0])
        np.testing.assert_allclose(seen.se_probability, stats.sem(draws.mean(axis=1), axis=0))
        assert (seen.error.df == 3).all()

    def test_chains_need_not_mix(self):
        seen = of([[[0.2, 0.8]], [[0.4, 0.6]], [[0.2, 0.8]], [[0.4, 0.6]]])
        assert seen.worst_rhat > 100
        np.testing.assert_allclose(seen.se_probability, 0.1 * np.sqrt(4 / 3) / 2)

    def test_one_chain_tells_nothing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            seen = of([[[0.2, 0.8]]])
            assert np.isnan(seen.se_probability).all()
            assert np.isnan([seen.usual_error, seen.worst_error]).all()

    @pytest.mark.parametrize("n_chains", [2, 4, 8])
    @pytest.mark.statistical(level=1e-7)
    def test_it_is_one_standard_error_for_any_number_of_chains(self, n_chains, seed):
        """Of 20 000 rows 68 % are within the error, up to 5.4 binomial deviations."""
        means = np.random.default_rng(seed).normal(0.5, 0.1, size=(n_chains, 20_000, 1))
        inside = np.abs(means.mean(axis=0)[:, 0] - 0.5) < of(means, 1).error.of_rows()
        share = 2 * stats.norm.cdf(1) - 1
        assert abs(inside.mean() - share) < 5.4 * np.sqrt(share * (1 - share) / 20_000)

    def test_two_directions_are_averaged(self):
        each = {
            "forward": of([[[0.2, 0.8]], [[0.4, 0.6]], [[0.3, 0.7]]]),
            "reverse": of([[[0.9, 0.1]], [[0.1, 0.9]], [[0.5, 0.5]]]),
        }
        both = Diagnostics.worst_of(each)
        a, b = (one.se_probability for one in each.values())
        np.testing.assert_allclose(both.se_probability, np.sqrt(a**2 + b**2) / 2)
        welch = stats.ttest_ind([0.2, 0.4, 0.3], [0.9, 0.1, 0.5], equal_var=False).df
        np.testing.assert_allclose(both.error.df, welch)

    def test_directions_without_spread(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            both = Diagnostics.worst_of(dict.fromkeys("ab", of([[[0.5, 0.5]]] * 3)))
            assert both.usual_error == both.worst_error == 0
        assert (both.error.df == 4).all()

    def test_rows(self):
        """Of 24 rows, 23 are 95 %; the worst class of a row counts."""
        means = np.zeros((2, 24, 2))
        means[1, :, 1] = np.arange(24) / 100
        seen = of(means, n_draws=1)
        factor = stats.t.ppf(stats.norm.cdf(1), 1)
        np.testing.assert_allclose(seen.error.of_rows(), factor * np.arange(24) / 200)
        assert seen.usual_error == seen.error.of_rows()[22]
        assert seen.worst_error == seen.error.of_rows()[23]
