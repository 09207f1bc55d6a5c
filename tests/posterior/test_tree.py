"""Exports: what is there stays until the new one is whole, and is not taken from its readers."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import xarray

from pasb.posterior.tree import write_tree

pytest.importorskip("h5netcdf")
READER = (
    "import sys, xarray; tree = xarray.open_datatree(sys.argv[1], engine='h5netcdf');"
    "print('open', flush=True); input()"
)


def tree(value):
    data = xarray.Dataset({"a": ("x", np.full(3, float(value)))})
    return xarray.DataTree.from_dict({"posterior": data})


def value_in(path):
    with xarray.open_datatree(path, engine="h5netcdf") as opened:
        return float(opened["posterior"]["a"][0])


@pytest.fixture
def path(tmp_path):
    write_tree(tree(1), tmp_path / "draws.nc")
    return tmp_path / "draws.nc"


def test_overwrites(path):
    write_tree(tree(2), path)
    assert value_in(path) == 2
    assert [other.name for other in path.parent.iterdir()] == ["draws.nc"]


def test_open_in_this_process(path):
    with (
        xarray.open_datatree(path, engine="h5netcdf"),
        pytest.raises(OSError, match=r"draws\.nc is open.*close it .* or export to another name"),
    ):
        write_tree(tree(2), path)
    assert value_in(path) == 1
    write_tree(tree(3), path)
    assert value_in(path) == 3


def test_open_in_another_process(path):
    """Where HDF5 locks files; it used to leave an empty one behind."""
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert reader.stdout.readline().strip() == b"open"
        with pytest.raises(OSError, match=r"draws\.nc is open"):
            write_tree(tree(2), path)
    finally:
        reader.communicate(b"\n")
    assert value_in(path) == 1


def test_an_export_that_fails_leaves_the_old_one(path, monkeypatch):
    def fails(self, where, **options):
        where.write_bytes(b"half")
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(xarray.DataTree, "to_netcdf", fails)
    with pytest.raises(OSError, match="no space left"):
        write_tree(tree(2), path)
    monkeypatch.undo()
    assert value_in(path) == 1
    assert [other.name for other in path.parent.iterdir()] == ["draws.nc"]


def test_a_file_that_is_no_export_is_replaced(tmp_path):
    (tmp_path / "draws.nc").write_text("text")
    write_tree(tree(2), tmp_path / "draws.nc")
    assert value_in(tmp_path / "draws.nc") == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "draws.nc")
    with pytest.raises(OSError, match="is a device, pipe or socket"):
        write_tree(tree(2), tmp_path / "draws.nc")
    assert (tmp_path / "draws.nc").is_fifo()
