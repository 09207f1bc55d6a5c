"""Rows of a length of their own are named, by the number they have in the table."""

from __future__ import annotations

import gzip

import pytest

from pasb.covariates.ragged_rows import refuse_ragged
from pasb.covariates.table_reading import read_chunks, read_table
from pasb.covariates.tables import TableError


def written(folder, text, name="t.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return path


def whole(path):
    return read_table(path)


def in_chunks(path):
    return list(read_chunks(path, lambda names: names[:1], 2))


@pytest.mark.parametrize("read", [whole, in_chunks])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_the_first_one_is_named(tmp_path, read, name):
    rows = ["a,b,c", *["1,2,3"] * 5, "1", "1,2,3", "1,2"]
    text = "\n".join(rows).replace(",", "\t" if "tsv" in name else ",")
    with pytest.raises(TableError) as caught:
        read(written(tmp_path, text, name))
    assert str(caught.value).endswith(
        f"{name}: row 6 has 1 cell, but the header names 3 columns (2 such rows in all). If the "
        "file was not cut off there, write empty cells out"
    )


@pytest.mark.parametrize("read", [whole, in_chunks])
def test_quotes_and_empty_lines_are_counted_as_readers_do(tmp_path, read):
    text = 'a,b\n\n"x, y",2\n  \n"two\nlines",\n3,4\n5,6,7\n'
    with pytest.raises(TableError, match=r"row 4 has 3 cells, .* 2 columns"):
        read(written(tmp_path, text))


@pytest.mark.parametrize("read", [whole, in_chunks])
@pytest.mark.parametrize(
    "text", ['a,b\n1,\n2,""\n"x\n,",\n', "a\n1\n\n2\n", "a,b\r\n1,\r\n2,3\r\n"]
)
def test_empty_cells_are_cells(tmp_path, read, text):
    assert len(read(written(tmp_path, text)))


def test_what_cannot_be_read_is_left_to_readers(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n\xff\n")
    refuse_ragged(tmp_path / "t.csv", "utf-8", ",")
