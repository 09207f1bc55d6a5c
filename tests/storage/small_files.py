"""Small files of arrays that tests write, read and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pasb.errors import FileFormatError
from pasb.storage import store

META = {"labels": ["a", "β"], "n": 3}
VALUES = {"x": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False])}


def assert_same_arrays(got, expected):
    assert list(got) == list(expected)
    for name, array in expected.items():
        array = np.asarray(array)
        assert got[name].shape == array.shape
        assert got[name].dtype == array.dtype.newbyteorder("=")
        assert got[name].tobytes() == array.astype(got[name].dtype).tobytes()
        assert got[name].dtype.isnative
        assert got[name].flags.writeable
        assert got[name].flags.c_contiguous


def read_or_refuse(path: Path) -> bool:
    """Tell whether the file could be read; what is read must be what was written."""
    try:
        meta, arrays = store.read(path, "test")
    except FileFormatError:
        return False
    assert meta == META
    assert_same_arrays(arrays, VALUES)
    return True
