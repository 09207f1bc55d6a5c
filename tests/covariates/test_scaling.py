"""Scaling of covariates, and back."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.covariates.scaling import Scaling


class TestScaling:
    @pytest.fixture
    def table(self):
        rng = np.random.default_rng(0)
        return rng.normal(size=(50, 3)) * [1, 1e-8, 1e8] + [0, 1e-8, -3e8]

    def test_standard(self, table):
        inner = Scaling.of(table, np.ones(50), "standard").with_constant(table)
        np.testing.assert_array_equal(inner[:, 0], 1)
        np.testing.assert_allclose(inner[:, 1:].mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose(inner[:, 1:].std(axis=0), 1)

    def test_standard_with_weights_is_that_of_repeated_rows(self, table):
        weights = np.arange(50) % 3
        weighted = Scaling.of(table, weights.astype(float), "standard")
        repeated = np.repeat(table, weights, axis=0)
        np.testing.assert_allclose(weighted.centre, repeated.mean(axis=0))
        np.testing.assert_allclose(weighted.spread, repeated.std(axis=0))

    def test_range(self, table):
        inner = Scaling.of(table, np.ones(50), "range").with_constant(table)
        np.testing.assert_allclose(inner[:, 1:].min(axis=0), -1)
        np.testing.assert_allclose(inner[:, 1:].max(axis=0), 1)

    def test_none(self, table):
        inner = Scaling.of(table, np.ones(50), None).with_constant(table)
        np.testing.assert_array_equal(inner[:, 1:], table)

    @pytest.mark.parametrize("how", ["standard", "range"])
    @pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 1e-300])
    def test_constant_column_becomes_zero(self, how, value):
        X = np.full((7, 1), value)
        scaling = Scaling.of(X, np.ones(7), how)
        assert scaling.spread[0] == 1
        np.testing.assert_array_equal(scaling.with_constant(X)[:, 1], 0)

    @pytest.mark.parametrize("how", ["standard", "range"])
    def test_column_that_varies_by_rounding_only_is_constant(self, how):
        X = (np.full((9, 1), 0.1) * np.arange(1, 10)[:, None]) / np.arange(1, 10)[:, None]
        assert Scaling.of(X, np.ones(9), how).spread[0] == 1

    @pytest.mark.parametrize("how", ["standard", "range"])
    def test_column_of_the_largest_numbers(self, how):
        X = np.array([[-1.5e308], [1.5e308], [0.0]])
        inner = Scaling.of(X, np.ones(3), how).with_constant(X)
        assert np.isfinite(inner).all()
        assert np.abs(inner).max() < 2

    @pytest.mark.parametrize("how", ["standard", "range", None])
    def test_coefficients_come_back_to_the_scale_of_the_table(self, table, how):
        rng = np.random.default_rng(1)
        scaling = Scaling.of(table, np.ones(50), how)
        coef = rng.normal(size=(2, 5, 4))
        intercept, slopes = scaling.intercept_and_slopes(coef)
        np.testing.assert_allclose(
            intercept[..., None] + slopes @ table.T,
            coef @ scaling.with_constant(table).T,
            rtol=1e-6,
            atol=1e-6,
        )
