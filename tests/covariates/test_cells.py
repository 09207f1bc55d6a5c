"""Columns of every library as numbers or words."""

from __future__ import annotations

import datetime as dt
import decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pasb.covariates.cells import cells_by_column, cells_of


def series(values, library, **more):
    if library == "pandas":
        return pd.Series(values, **more)
    if library == "polars":
        return pl.Series("x", values, strict=False, **more)
    return pa.chunked_array([values], **more)


def cells(native):
    return cells_of(nw.from_native(native, series_only=True))


LIBRARIES = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, 3], "number", [1, np.nan, 3]),
        ([1.5, None, 2.0], "number", [1.5, np.nan, 2]),
        ([dt.datetime(1970, 1, 2, 12), None], "moment", [1.5, np.nan]),
        ([dt.timedelta(days=2), None], "number", [2, np.nan]),
    ],
    ids=["integers", "floats", "timestamps", "durations"],
)
def test_numbers(library, values, kind, expected):
    found = cells(series(values, library))
    assert found.kind == kind
    np.testing.assert_array_equal(found.numbers, expected)
    np.testing.assert_array_equal(found.gaps, np.isnan(expected))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([True, None, False], "flag", [1, np.nan, 0]),
        ([dt.date(1970, 1, 3), None], "moment", [2, np.nan]),
        ([dt.time(6, 30), None], "number", [6.5, np.nan]),
        ([decimal.Decimal("1.25"), None], "number", [1.25, np.nan]),
    ],
    ids=["booleans", "dates", "times", "decimals"],
)
def test_types_that_pandas_has_through_pyarrow_only(library, values, kind, expected):
    for native in (series(values, library), pd.Series(pa.array(values), dtype=arrow_type(values))):
        found = cells(native)
        assert found.kind == kind
        np.testing.assert_array_equal(found.numbers, expected)


def arrow_type(values):
    return pd.ArrowDtype(pa.array(values).type)


def test_time_zones_do_not_matter():
    moments = pd.Series(pd.to_datetime(["2020-01-01 12:00"]).tz_localize("Europe/Berlin"))
    utc = moments.dt.tz_convert("UTC").dt.tz_localize(None)
    assert cells(moments).numbers == cells(utc).numbers


@pytest.mark.parametrize("library", LIBRARIES)
def test_words_are_stripped_and_gaps_found(library):
    found = cells(series([" a", "b ", "NA", "a", None, "?", "n/a", ""], library))
    assert found.kind == "word"
    assert found.words == ["a", "b"]
    assert found.codes.tolist() == [0, 1, -1, 0, -1, -1, -1, -1]
    assert found.gaps.tolist() == [False, False, True, False, True, True, True, True]


@pytest.mark.parametrize(
    "native",
    [
        pd.Series(["a", "b"], dtype="category"),
        pl.Series(["a", "b"], dtype=pl.Categorical),
        pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
        pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()]),
    ],
    ids=["pandas", "polars", "enum", "pyarrow"],
)
def test_categories_are_known_by_their_type(native):
    found = cells(native)
    assert found.is_category
    assert found.words == ["a", "b"]


@pytest.mark.parametrize(
    ("native", "what"),
    [
        (pl.Series([[1], [2]]), "nested"),
        (pl.Series([{"a": 1}]), "nested"),
        (pa.chunked_array([[[1], [2]]]), "nested"),
        (pd.Series([[1], [2]]), "nested"),
        (pd.Series([{"a": 1}]), "nested"),
        (pd.Series([(1, 2)]), "nested"),
        (pd.Series([b"x"]), "bytes"),
        (pl.Series([b"x"]), "bytes"),
        (pd.Series([1j]), "complex"),
        (pd.Series([[("a", 1)]], dtype=pd.ArrowDtype(pa.map_(pa.string(), pa.int8()))), "nested"),
    ],
    ids=str,
)
def test_what_no_model_can_use_is_called_what_it_is(native, what):
    found = cells(native)
    assert found.kind == "other"
    assert found.shown.startswith(what)


def test_numbers_in_other_clothes():
    assert cells(pd.Series(pd.arrays.SparseArray([0.0, 1.0]))).numbers.tolist() == [0, 1]
    assert cells(pd.Series(pd.period_range("1970-01-02", periods=2))).numbers.tolist() == [1, 2]
    assert cells(pd.Series(["x", 2.5, True], dtype=object)).words == ["x", "2.5", "true"]


def test_numbers_as_words():
    assert cells(pd.Series([2.0, 1.0, np.nan])).as_words().words == ["1", "2"]
    assert cells(pd.Series([True, False])).as_words().words == ["false", "true"]
    assert cells(pd.Series([2.0, 1.0, np.nan])).as_words().codes.tolist() == [1, 0, -1]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("many", [False, True])
def test_columns_together_are_those_alone(library, many, monkeypatch):
    if many:
        monkeypatch.setattr("pasb.covariates.cells.FEW_ROWS", 3)
        monkeypatch.setattr("pasb.covariates.cells.CELLS_AT_ONCE", 12)
    columns = {
        "a": ["x", " y ", None, "NA"],
        "b": ["1,5", "x", "", "x"],
        "c": [1, 2, 3, 4],
        "d": [4, None, 2, 1],
        "e": [1.5, None, 2.5, 0.0],
        "f": [0.5, 1.5, 2.5, np.inf],
        "g": [True, False, None, True],
        "h": [1, 2, 3, 5],
    }
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](columns)
    frame = nw.from_native(table)
    names = list(columns)[::-1]
    for name, found in zip(names, cells_by_column(frame, names), strict=True):
        alone = cells_of(frame[name])
        for what in ("kind", "words", "is_integer", "is_category", "shown"):
            assert getattr(found, what) == getattr(alone, what)
        np.testing.assert_array_equal(found.numbers, alone.numbers)
        np.testing.assert_array_equal(found.codes, alone.codes)
