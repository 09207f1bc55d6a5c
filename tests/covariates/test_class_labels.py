"""Labels keep their value, and columns that hold none are refused."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pytest

from pasb.covariates.class_labels import check_labels, class_labels
from pasb.covariates.tables import Problems, TableError

TOP = 2**64 - 1


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([3, 1, 3]), [3, 1, 3]),
        (np.array([3.0, 1.0, 3.0]), [3, 1, 3]),
        (np.array([True, False, True]), [True, False, True]),
        (pd.array([3, 1, 3], dtype="Int64"), [3, 1, 3]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
        (np.array([0.5, 1.5, 0.5]), ["0.5", "1.5", "0.5"]),
        (["01", " 1", "None"], ["01", "1", "None"]),
    ],
)
def test_labels_of_typed_columns(column, expected):
    labels, gaps = class_labels(pd.Series(column))
    assert labels.tolist() == expected
    assert labels.dtype.kind in "Uib"
    assert not gaps.any()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([TOP, 1], dtype=np.uint64), [TOP, 1]),
        (pd.array([TOP, 1], dtype="UInt64"), [TOP, 1]),
        (pd.array([TOP, 1], dtype="uint64[pyarrow]"), [TOP, 1]),
        (np.array([1e19, 2e19]), ["1e+19", "2e+19"]),
        ([decimal.Decimal(2**70), decimal.Decimal(1)], [str(2**70), "1"]),
        (pd.Series([2**70, 1], dtype=object), [str(2**70), "1"]),
        (np.array([2.0**63, 1.0]), ["9.223372036854776e+18", "1.0"]),
    ],
)
def test_labels_beyond_64_bits_keep_their_value(column, expected):
    """As 64-bit integers they would wrap: the largest one would be -1."""
    assert class_labels(pd.Series(column))[0].tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        ["a", "", "b"],
        ["a", "NA", "b"],
        ["a", "n/a", "b"],
        ["a", "?", "b"],
        pd.array([1, None, 2], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        np.array([1.0, np.nan, 2.0]),
        pd.Series([1, None, 2], dtype="int64[pyarrow]"),
    ],
    ids=str,
)
def test_gaps(column):
    assert class_labels(pd.Series(column))[1].tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "", "b"], "1 missing label, the first in row 2"),
        (["a", "NA", "nan"], "2 missing labels, the first in row 2"),
        (["a", "a", "a"], "one class only"),
        ([str(k / 7) for k in range(30)], "looks continuous"),
        ([str(k) for k in range(300)], "looks continuous"),
        ([f"name {k}" for k in range(30)], "30 different labels in 30 rows"),
    ],
)
def test_labels_that_are_none(labels, message):
    problems = Problems("t.csv")
    check_labels(*class_labels(pd.Series(labels)), "y", problems)
    with pytest.raises(TableError, match=message) as error:
        problems.raise_any()
    assert "'y'" in str(error.value)
