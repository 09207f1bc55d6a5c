"""Writing tables: in parts, and whole or not at all."""

from __future__ import annotations

import errno
import gzip

import pandas as pd
import pytest

from pasb.covariates.table_reading import read_table
from pasb.covariates.table_writing import table_writer, write_table
from pasb.covariates.tables import TableError

NAMES = ["a.csv", "a.tsv", "a.csv.gz", "a.parquet"]


@pytest.mark.parametrize("name", NAMES)
def test_parts_make_one_table(tmp_path, name):
    with table_writer(tmp_path / name) as append:
        for k in range(3):
            append(pd.DataFrame({"x": [k, k + 0.5], "label": ["a,b", 'c"']}))
    table = read_table(tmp_path / name)
    assert table["x"].astype(float).tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    assert table["label"].tolist() == ["a,b", 'c"'] * 3


def test_gzip_is_really_gzip(tmp_path):
    write_table(pd.DataFrame({"x": [1]}), tmp_path / "a.csv.gz")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode().split() == ["x", "1"]


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_the_old_file_whole(tmp_path, name, monkeypatch):
    write_table(pd.DataFrame({"x": [1, 2]}), tmp_path / name)
    old = (tmp_path / name).read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pasb.storage.whole_file.os.fsync", full)
    with pytest.raises(TableError, match=rf"{name} cannot be written: No space left on device"):
        write_table(pd.DataFrame({"x": [3]}), tmp_path / name)
    assert (tmp_path / name).read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_an_error_between_the_parts_leaves_the_old_file_whole(tmp_path, name):
    write_table(pd.DataFrame({"x": [1, 2]}), tmp_path / name)
    old = (tmp_path / name).read_bytes()

    def stop_halfway():
        with table_writer(tmp_path / name) as append:
            append(pd.DataFrame({"x": [3]}))
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        stop_halfway()
    assert (tmp_path / name).read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 1


def test_no_such_folder(tmp_path):
    with pytest.raises(TableError, match="cannot be written"):
        write_table(pd.DataFrame({"x": [1]}), tmp_path / "nowhere" / "a.csv")
