"""Tables in pieces: parts, one look at all of them, and Parquet files that do not fit together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasb.covariates.parquet_source import ParquetSource
from pasb.covariates.part_scan import PartError, class_factors, looked_at, scaling_of, united
from pasb.covariates.parts import PartPlan, Raw, cut, digest_of, gathered, prepared, taken
from pasb.covariates.scaling import Scaling
from pasb.covariates.table_sources import clean_labels
from pasb.numerics.rows import Rows


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 17))
def test_parts_have_all_rows_in_order(lengths, size):
    parts = cut(lengths, size)
    rows = [(one.piece, row) for part in parts for one in part for row in range(*one[1:])]
    assert rows == [(piece, row) for piece, n in enumerate(lengths) for row in range(n)]
    sizes = [sum(one.stop - one.start for one in part) for part in parts]
    assert all(n == size for n in sizes[:-1])
    assert not sizes or 0 < sizes[-1] <= size


def looks_of(raw, size):
    parts = cut([len(raw.labels)], size)
    return [looked_at(gathered(part, [raw]), None, part[0].start) for part in parts]


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.sampled_from(["standard", "range", None]))
def test_the_scaling_is_that_of_the_whole_table(seed, size, how):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3)) * [1e-9, 1.0, 1e9] + [1.0, 0.0, 1e12]
    X[:, 1] = np.where(rng.random(120) < 0.2, 3.0, X[:, 1])
    y, weights = rng.integers(0, 3, 120), rng.choice([0.0, 1.0, 2.5], 120)
    y[:3], weights[:3] = (0, 1, 2), 1.0
    look = united(looks_of(Raw(X, y, weights), size))
    ours, whole = scaling_of(look, None, how, ["a", "b", "c"]), Scaling.of(X, weights, how)
    np.testing.assert_allclose(ours.centre, whole.centre, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ours.spread, whole.spread, rtol=1e-6)
    assert look.counts.tolist() == np.bincount(y).tolist()
    np.testing.assert_allclose(look.totals, np.bincount(y, weights))


def test_class_weights_scale_as_row_weights_do():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), np.repeat(["a", "b", "c"], (20, 30, 40))
    look = united(looks_of(Raw(X + (y == "a")[:, None], y, None), 25))
    factors = class_factors(look, "balanced")
    np.testing.assert_allclose(factors, 90 / (3 * np.array([20, 30, 40])))
    weights = factors[np.searchsorted(["a", "b", "c"], y)]
    whole = Scaling.of(X + (y == "a")[:, None], weights, "standard")
    ours = scaling_of(look, factors, "standard", ["u", "v"])
    np.testing.assert_allclose(ours.centre, whole.centre, rtol=1e-12)
    np.testing.assert_allclose(ours.spread, whole.spread, rtol=1e-12)
    with pytest.raises(ValueError, match="'d' is not a class"):
        class_factors(look, {"d": 2.0})


def test_a_part_is_what_rows_are():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    weights = rng.choice([0.0, 1.0, 2.0], 300)
    plan = PartPlan(np.arange(3), None, Scaling(np.zeros(2), np.ones(2)), "float64")
    part = prepared(Raw(X, y, weights), plan)
    used = weights > 0
    table = np.column_stack([np.ones(300), X])
    rows = Rows.of(table[used], y[used], 3, weights[used])
    assert np.array_equal(part.rows().blocks, rows.blocks)
    assert np.array_equal(part.rows().weights, rows.weights)
    assert np.array_equal(part.bounds, rows.bounds)
    found, own, numbers = taken(part, np.array([0, 5, 100]))
    assert np.array_equal(found, table[numbers])
    assert np.array_equal(own, weights[numbers])
    other = prepared(Raw(X, y, None), plan)
    assert digest_of(other) != digest_of(part)
    assert prepared(Raw(X, y, np.zeros(300)), plan).blocks.shape == (0, 4, 256)


def test_what_is_wrong_with_rows_is_said():
    X, y = np.zeros((4, 2)), np.array([0.0, 1.0, np.nan, 1.0])
    X[2, 1] = np.inf
    with pytest.raises(PartError, match=r"column 'b' has 1 such value(.|\n)*1 labels missing"):
        united([looked_at(Raw(X, y, None), ["a", "b"], 100)])
    numbers = looked_at(Raw(np.zeros((2, 1)), np.array([0, 1]), None), None, 0)
    words = looked_at(Raw(np.zeros((2, 1)), np.array(["0", "1"]), None), None, 0)
    with pytest.raises(PartError, match="numbers and text in different parts"):
        united([numbers, words])
    with pytest.raises(PartError, match="2 labels are missing"):
        clean_labels(np.array(["a", None, None], dtype=object))
    with pytest.raises(PartError, match="mixes text and numbers"):
        clean_labels(np.array(["a", 1], dtype=object))


class TestParquet:
    @pytest.fixture
    def folder(self, tmp_path):
        pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")
        frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "y": ["u", "v", "u"]})
        frame.to_parquet(tmp_path / "0.parquet")
        frame.to_parquet(tmp_path / "1.parquet")
        return tmp_path

    def test_pieces(self, folder):
        source = ParquetSource(folder / "*.parquet", "y")
        assert (source.names, source.lengths()) == (["a", "b"], [3, 3])
        raw = source.piece(1).load()
        assert raw.X.tolist() == [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
        assert raw.labels.tolist() == ["u", "v", "u"]

    def test_large_row_groups_are_read_in_slices(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pasb.covariates.parquet_source.ROWS_OF_A_SLICE", 8)
        pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")
        rng = np.random.default_rng(0)
        texts = np.array([f"tree {k}" for k in range(30)])[rng.integers(30, size=50)]
        frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"]).assign(y=texts, w=1.0)
        frame.to_parquet(tmp_path / "0.parquet", row_group_size=21)
        source = ParquetSource(tmp_path, "y", "w")
        assert source.lengths() == [8, 8, 5, 8, 8, 5, 8]
        load = source.loader()
        in_turn = [load(k) for k in range(7)]
        for raws in (in_turn, [source.piece(k).load() for k in range(7)]):
            whole = Raw.joined(raws)
            assert [len(raw.labels) for raw in raws] == source.lengths()
            assert np.array_equal(whole.X, frame[["a", "b"]].to_numpy())
            assert whole.labels.tolist() == texts.tolist()
            assert whole.weights.tolist() == [1.0] * 50
        for k in (4, 5, 1, 1, 0, 2, 6):  # in any order
            assert np.array_equal(load(k).X, in_turn[k].X)
        assert source.piece(1)._replace(names=(), target=None).load().X.shape == (8, 0)

    def test_a_row_group_is_decoded_once(self, tmp_path, monkeypatch):
        """And never as a whole, so that memory does not grow with it."""
        monkeypatch.setattr("pasb.covariates.parquet_source.ROWS_OF_A_SLICE", 8)
        parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra pasb[files]")
        pd.DataFrame({"a": np.arange(40.0), "y": 1}).to_parquet(tmp_path / "0.parquet")
        asked, read = [], parquet.ParquetFile.iter_batches

        def batches(self, size, **settings):
            asked.append(size)
            return read(self, size, **settings)

        monkeypatch.setattr(parquet.ParquetFile, "iter_batches", batches)
        monkeypatch.setattr(parquet.ParquetFile, "read_row_group", None)
        load = ParquetSource(tmp_path, "y").loader()
        assert [load(k).X[0, 0] for k in range(5)] == [0.0, 8.0, 16.0, 24.0, 32.0]
        assert asked == [8]

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            ({"a": [1], "y": ["u"]}, "has no column 'b'"),
            ({"a": [1], "b": [1], "c": [1], "y": ["u"]}, "has no column 'c'"),
            ({"a": ["x"], "b": [True], "y": ["u"]}, "'a' holds numbers in"),
        ],
    )
    def test_columns_that_differ_between_files(self, folder, columns, words):
        pd.DataFrame(columns).to_parquet(folder / "2.parquet")
        with pytest.raises(ValueError, match=words):
            ParquetSource(folder, "y")

    def test_paths_that_are_none(self, folder):
        (folder / "bad.parquet").write_bytes(b"nothing")
        for path, target, words in (
            (folder / "none.parquet", "y", "no Parquet file"),
            ("s3://bucket/rows.parquet", "y", "dask.dataframe.read_parquet"),
            (folder / "0.parquet", "z", "no column 'z'"),
            (folder / "bad.parquet", "y", "cannot be read as Parquet"),
        ):
            with pytest.raises(ValueError, match=words):
                ParquetSource(path, target)
        with pytest.raises(ValueError, match="column 'y' does not hold numbers"):
            ParquetSource(folder / "0.parquet", "a")
