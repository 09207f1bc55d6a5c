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


class TestAllProblems:
    class Estimator(BaseEstimator):
        pass

    def check(self, X, y="no_validation"):
        return checked_table(self.Estimator(), X, reset=True, y=y)

    def test_are_reported_together(self):
        frame = pd.DataFrame(
            {
                "word": ["x", "y", "z"],
                "when": pd.date_range("2020", periods=3),
                "gaps": [1.0, np.nan, np.nan],
                "huge": [1.0, 2.0, np.inf],
                "fine": [1, 2, 3],
            }
        )
        with pytest.raises(ValueError, match=r"^5 problems") as caught:
            self.check(frame, y=["a", None, "b"])
        for part in (
            "'word' does not hold numbers",
            "'when' holds dates or times",
            "contains NaN: column 'gaps' has 2 such values, the first in row 2",
            "contains infinity: column 'huge' has 1 such value, the first in row 3",
            "y contains NaN or None: 1 label missing, the first in row 2",
        ):
            assert part in str(caught.value)

    def test_gaps_in_several_columns(self):
        X = np.ones((5000, 3))
        X[4500, 0] = X[2, 2] = np.nan
        with pytest.raises(ValueError, match="2 problems") as caught:
            self.check(X)
        assert "column x0 has 1 such value, the first in row 4501" in str(caught.value)
        assert "column x2 has 1 such value, the first in row 3" in str(caught.value)

    @pytest.mark.parametrize(
        ("column", "what"),
        [
            (pd.Series([[1], [2]]), "nested values"),
            (pd.Series([{"a": 1}, {"a": 2}]), "nested values"),
            (pl.Series([[1], [2]]), "nested values"),
            (pd.Series(pd.date_range("2020", periods=2, tz="UTC")), "timestamps"),
            (pl.Series([datetime.date(2020, 1, 1)] * 2), "dates"),
            (pl.Series([b"x", b"y"]), "bytes"),
        ],
        ids=["lists", "dicts", "polars lists", "timestamps", "dates", "bytes"],
    )
    def test_columns_are_called_what_they_are(self, column, what):
        frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
        with pytest.raises(ValueError, match=rf"column 'b' .*{what}"):
            self.check(frame({"a": [1.0, 2.0], "b": column}))

    def test_a_hundred_thousand_columns(self):
        """A comparison of every pair of names would not end."""
        names = [f"c{k}" for k in range(100_000)]
        assert self.check(pd.DataFrame(np.ones((2, 100_000)), columns=names)).shape == (2, 100_000)
        names[-1] = "c0"
        with pytest.raises(ValueError, match="two columns are named 'c0'"):
            self.check(pd.DataFrame(np.ones((2, 100_000)), columns=names))


class TestLabels:
    class Estimator(BaseEstimator):
        pass

    def check(self, y):
        return checked_table(self.Estimator(), np.ones((len(y), 1)), reset=True, y=y)[1]

    @pytest.mark.parametrize(
        "y",
        [
            [2**64 - 1, 2**63, 1],
            [2**63, 1, 1],
            np.array([2**64 - 1, 1, 1], dtype=object),
            pd.Series([2**64 - 1, 1, 1], dtype=object),
            [-(2**63), 0, 2**63 - 1],
        ],
        ids=["uint64", "mixed sizes", "objects", "pandas", "int64"],
    )
    def test_integers_of_64_bits_keep_their_value(self, y):
        assert self.check(y).tolist() == list(y)

    @pytest.mark.parametrize("y", [[-1, 2**63, 3], [2**64, 1, 2], [2**70, 2**70 + 1, 1]])
    def test_larger_ones_are_refused(self, y):
        """As floats they would not be told apart."""
        with pytest.raises(ValueError, match=r"do not fit into 64 bits.*make the labels text"):
            self.check(y)
