"""Reading and writing tables, and the errors that name what is wrong."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from pasb.covariates.tables import (
    TableError,
    class_labels,
    covariates,
    ending,
    read_table,
    write_table,
)


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.parquet"])
def test_what_is_written_reads_back(tmp_path, name):
    table = pd.DataFrame({"x": [0.1, 2.0], "n": [1, 2], "y": ["a", "b"]})
    write_table(table, tmp_path / name)
    again = read_table(tmp_path / name)
    assert again["x"].tolist() == [0.1, 2.0]
    assert again["y"].tolist() == ["a", "b"]


def test_gzip_is_really_gzip(tmp_path):
    write_table(pd.DataFrame({"x": [1]}), tmp_path / "a.csv.gz")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode().split() == ["x", "1"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_follows_from_the_header(tmp_path, separator):
    path = written(tmp_path, separator.join("xy") + "\n" + separator.join("12") + "\n")
    assert list(read_table(path).columns) == ["x", "y"]


def test_byte_order_mark_and_spaces_around_names(tmp_path):
    path = written(tmp_path, "\ufeffx, y \n1,2\n")
    assert list(read_table(path).columns) == ["x", "y"]


def test_labels_stay_text(tmp_path):
    path = written(tmp_path, "x,y\n1,01\n2,1\n3,01\n4,None\n")
    labels = class_labels(read_table(path, "y"), "y", path)
    assert labels.tolist() == ["01", "1", "01", "None"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([3, 1, 3]), [3, 1, 3]),
        (np.array([3.0, 1.0, 3.0]), [3, 1, 3]),
        (np.array([True, False, True]), [True, False, True]),
        (pd.array([3, 1, 3], dtype="Int64"), [3, 1, 3]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
        (np.array([0.5, 1.5, 0.5]), ["0.5", "1.5", "0.5"]),
    ],
)
def test_labels_of_typed_columns(tmp_path, column, expected):
    labels = class_labels(pd.DataFrame({"y": column}), "y", tmp_path)
    assert labels.tolist() == expected
    assert labels.dtype.kind in "Uib"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "a.csv", "is empty"),
        ("x,y\n", "a.csv", "no rows"),
        (b"x,y\n\xff\xfe,1\n", "a.csv", "UTF-8"),
        ("x,y\n1,2\n1,2,3,4\n", "a.csv", "cannot be read"),
        ("x,y\n1,2,3\n4,5,6\n", "a.csv", "more cells than the header"),
        ("not parquet", "a.parquet", "cannot be read"),
        ("not gzip", "a.csv.gz", "cannot be read"),
        ("x", "a.xlsx", "must end in .csv"),
    ],
)
def test_unreadable_files(tmp_path, text, name, message):
    path = written(tmp_path, text, name)
    with pytest.raises(TableError, match=message) as error:
        read_table(path)
    assert name in str(error.value)


def test_missing_file_suggests_the_nearest(tmp_path):
    written(tmp_path, "x\n1\n", "vehicles.csv")
    with pytest.raises(TableError, match=r"no such file; did you mean 'vehicles\.csv'"):
        read_table(tmp_path / "vehicle.csv")


def test_a_folder_is_not_a_table(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def test_ending_of_the_output_is_checked(tmp_path):
    with pytest.raises(TableError, match="must end in"):
        ending(tmp_path / "a.txt")
    with pytest.raises(TableError, match="cannot be written"):
        write_table(pd.DataFrame({"x": [1]}), tmp_path / "nowhere" / "a.csv")


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
def test_labels_that_are_none(tmp_path, labels, message):
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": 1.0, "y": labels}).to_csv(path, index=False)
    with pytest.raises(TableError, match=message) as error:
        class_labels(read_table(path, "y"), "y", path)
    assert "'y'" in str(error.value)


def test_covariates_name_what_is_wrong(tmp_path):
    table = pd.DataFrame({"size": [1.0, None], "name": ["a", "b"], "flag": [True, False]})
    with pytest.raises(TableError, match=r"lacks column 'siez', .*did you mean 'size'"):
        covariates(table, ["siez"], tmp_path)
    with pytest.raises(TableError, match=r"column 'name' holds text.*'a'(.|\n)*--drop 'name'"):
        covariates(table, ["flag", "name"], tmp_path)
    with pytest.raises(TableError, match=r"column 'size' has missing values \(1 in .* row 2"):
        covariates(table, ["size"], tmp_path)
    assert covariates(table, ["flag"], tmp_path)["flag"].tolist() == [1.0, 0.0]


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    path = written(tmp_path, "x", "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pip install 'pasb\[files\]'"):
        read_table(path)
    with pytest.raises(TableError, match=r"pip install 'pasb\[files\]'"):
        write_table(pd.DataFrame({"x": [1]}), path)


def test_names_that_differ_by_spaces_only(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y, y\n1,2\n3,4\n")
    with pytest.raises(TableError, match="two columns are named 'y'; rename one"):
        read_table(path, "y")


def test_numbers_too_long_for_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n-9223372036854775809,1\n,2\n")
    with pytest.raises(TableError, match="column 'a' holds text, not numbers"):
        covariates(read_table(path), ["a", "b"], path)
