"""The checks of input and the scaling, one by one."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from pasb.covariates.checking import checked_order, checked_table, checked_weights
from pasb.covariates.scaling import Scaling

CLASSES = np.array(["a", "b", "c"])


class TestOrder:
    @pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series])
    def test_labels_become_categories(self, kind):
        order = checked_order(kind(["c", "a", "b"]), CLASSES)
        assert order.dtype == np.int64
        assert order.tolist() == [2, 0, 1]

    @pytest.mark.parametrize(
        ("classes", "order"),
        [([0, 1], [1.0, 0.0]), ([0.0, 1.0], [1, 0]), ([False, True], [True, False])],
    )
    def test_equal_numbers_are_the_same_label(self, classes, order):
        assert checked_order(order, np.array(classes)).tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("order", "message"),
        [
            (["a", "b"], "'c' is missing"),
            (["a", "b", "b"], "'c' is missing"),
            (["a", "b", "c", "c"], "more than once"),
            (["a", "b", "z"], "'z' is not a class; the classes are 'a', 'b', 'c'"),
            ([0, 1, 2], "0 is not a class"),
            ([["a", "b", "c"]], "is not a class"),
            ([], "'a' is missing"),
            ({"a", "b", "c"}, "first stick to last"),
        ],
    )
    def test_errors_name_the_argument(self, order, message):
        with pytest.raises(ValueError, match=message) as caught:
            checked_order(order, CLASSES)
        assert str(caught.value).startswith("order")


class TestColumns:
    """What the tests of the classifiers leave out: rarer kinds of columns and frames."""

    class Estimator(BaseEstimator):
        pass

    def check(self, frame):
        return checked_table(self.Estimator(), frame, reset=True)

    def test_text_in_pyarrow(self):
        with pytest.raises(ValueError, match=r"'b' does not hold numbers \(String\)"):
            self.check(pa.table({"a": [1, 2], "b": ["x", "y"]}))

    def test_dates_in_pyarrow(self):
        day = datetime.date(2020, 1, 1)
        with pytest.raises(ValueError, match=r"'b' holds dates or times"):
            self.check(pa.table({"a": [1, 2], "b": [day, day]}))

    def test_intervals_are_no_times(self):
        cut = pd.DataFrame({"a": [1.0, 2.0], "b": pd.arrays.IntervalArray.from_breaks([0, 1, 2])})
        with pytest.raises(ValueError, match=r"'b' does not hold numbers \(interval"):
            self.check(cut)

    @pytest.mark.parametrize(
        "column",
        [
            pd.Series(["1.5", "2"]),
            pd.Series(pd.arrays.SparseArray([0.0, 1.0])),
            pd.Series([decimal.Decimal(1), decimal.Decimal(2)]),
            pl.Series([decimal.Decimal(1), decimal.Decimal(2)]),
            pl.Series(["1.5", "2"]),
        ],
        ids=["text", "sparse", "decimals", "polars decimals", "polars text"],
    )
    def test_numbers_in_other_clothes(self, column):
        frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
        assert self.check(frame({"a": [1.0, 2.0], "b": column})).dtype == np.float64

    def test_columns_with_one_name(self):
        frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
        with pytest.raises(ValueError, match="two columns are named 'a'; rename one"):
            self.check(frame)

    def test_complex_numbers(self):
        with pytest.raises(ValueError, match="Complex data not supported"):
            self.check(pd.DataFrame({"a": [1j, 2j]}))

    def test_gaps_only(self):
        with pytest.raises(ValueError, match=r"NaN: column 'b' has 2 such values"):
            self.check(pl.DataFrame({"a": [1, 2], "b": [None, None]}))


class TestWeights:
    X = np.zeros((3, 1))

    def test_default_is_one(self):
        np.testing.assert_array_equal(checked_weights(None, self.X), [1, 1, 1])

    @pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
    def test_kinds(self, kind):
        weights = checked_weights(kind([1, 0, 2]), self.X)
        assert weights.dtype == np.float64
        np.testing.assert_array_equal(weights, [1, 0, 2])


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
