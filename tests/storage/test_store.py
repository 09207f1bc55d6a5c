"""The store gives back what was put in, or says in one sentence why it cannot."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.storage.small_files import META, VALUES, assert_same_arrays, read_or_refuse

from pasb import __version__
from pasb.errors import FileFormatError
from pasb.storage import store
from pasb.storage.file_format import FORMAT_VERSION

DTYPES = [
    *("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"),
    *(">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8"),
]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0))
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# ---------------------------------------------------------------- round trips


@given(st.dictionaries(st.text(), JSON, max_size=4), st.dictionaries(st.text(), ARRAYS, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=150, database=None)
def test_round_trip(meta, arrays):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        store.write(path, "test", meta, arrays)
        got_meta, got = store.read(path, "test")
        description = store.describe(path)
    assert json.dumps(got_meta) == json.dumps(meta)
    assert_same_arrays(got, arrays)
    assert description["meta"] == got_meta
    assert description["arrays"] == {n: (a.dtype.name, a.shape) for n, a in arrays.items()}


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(20)[::-3],
        np.broadcast_to(np.float32(1.5), (2, 3)),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
        np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324]),
        np.zeros((1,) * 64),
        np.empty((0, 2**40)),
        np.arange(3 * (1 << 17) + 5, dtype=float),  # more than one chunk
    ],
    ids=["fortran", "strided", "broadcast", "transposed", "special", "64d", "empty", "large"],
)
def test_any_layout(tmp_path, array):
    store.write(tmp_path / "f", "test", {}, {"a": array})
    _, arrays = store.read(tmp_path / "f", "test")
    assert_same_arrays(arrays, {"a": array})


def test_numpy_scalars_and_tuples_become_plain(tmp_path):
    meta = {"a": np.int64(3), "b": (1, np.float32(0.5)), "c": np.bool_(True), "d": np.str_("x")}
    store.write(tmp_path / "f", "test", meta, {"s": np.float64(2.0)})
    got, arrays = store.read(tmp_path / "f", "test")
    assert got == {"a": 3, "b": [1, 0.5], "c": True, "d": "x"}
    assert arrays["s"].shape == ()


def test_equal_content_gives_equal_files(tmp_path):
    for name in ("one", "two"):
        store.write(tmp_path / name, "test", META, VALUES)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_describe(file):
    assert store.describe(file) == {
        "kind": "test",
        "version": __version__,
        "format_version": FORMAT_VERSION,
        "meta": META,
        "arrays": {"x": ("float64", (2, 3)), "flags": ("bool", (2,))},
    }


# ---------------------------------------------------------------- what write refuses


@pytest.mark.parametrize(
    ("array", "what"),
    [
        (np.array([None, 1], dtype=object), "object"),
        (np.array(["a"]), "<U1"),
        (np.array([1j]), "complex128"),
        (np.array([1], dtype="datetime64[s]"), "datetime64"),
        (np.zeros(2, dtype=[("a", float)]), "'a'"),
        (np.ma.masked_array([1, 2], [True, False]), "masked"),
    ],
)
def test_refused_dtypes(tmp_path, array, what):
    with pytest.raises(TypeError, match=f"array 'bad' is .*{what}"):
        store.write(tmp_path / "f", "test", {}, {"good": np.arange(2), "bad": array})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("meta", "error", "message"),
    [
        ({"a": [0, math.nan]}, ValueError, r"meta\['a'\]\[1\] is nan, which JSON cannot hold"),
        ({"a": {"b": -math.inf}}, ValueError, r"meta\['a'\]\['b'\] is -inf"),
        ({"a": {1, 2}}, TypeError, r"meta\['a'\] is a set"),
        ({"a": b"x"}, TypeError, r"meta\['a'\] is a bytes"),
        ({1: 2}, TypeError, "a key of meta must be a string, not 1"),
        ({"a": "\ud800"}, ValueError, r"meta\['a'\] is not valid Unicode"),
        ([1], TypeError, "meta must be a dict, not list"),
    ],
)
def test_refused_meta(tmp_path, meta, error, message):
    with pytest.raises(error, match=message):
        store.write(tmp_path / "f", "test", meta, {})
    assert os.listdir(tmp_path) == []


def test_refused_kind_and_names(tmp_path):
    with pytest.raises(TypeError, match="kind must be a word"):
        store.write(tmp_path / "f", "", {}, {})
    with pytest.raises(TypeError, match="the name of an array must be a string, not 3"):
        store.write(tmp_path / "f", "test", {}, {3: np.arange(2)})


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("mask", [0xFF, 0x01, 0x80])
def test_no_flipped_byte_changes_the_content(file, tmp_path, mask):
    data = file.read_bytes()
    path = tmp_path / "flipped"
    readable = []
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= mask
        path.write_bytes(flipped)
        if read_or_refuse(path):
            readable.append(place)
    # Only the dates, systems and attributes of the zip format are nobody's business.
    assert len(readable) < 0.2 * len(data)


@pytest.mark.parametrize("mask", [0x01, 0x10])
def test_describe_never_fails_otherwise(file, tmp_path, mask):
    data = file.read_bytes()
    path = tmp_path / "flipped"
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= mask
        path.write_bytes(flipped)
        with contextlib.suppress(FileFormatError):
            assert store.describe(path)["meta"] == META


def test_truncation_at_every_length(file, tmp_path):
    data = file.read_bytes()
    path = tmp_path / "cut"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(FileFormatError, match=r"is empty|is not a pasb file|cut short"):
            store.read(path, "test")


def test_random_damage(file, tmp_path, seed):
    rng = np.random.default_rng(seed)
    data = np.frombuffer(file.read_bytes(), dtype=np.uint8)
    path = tmp_path / "noise"
    for _ in range(300):
        noisy = data.copy()
        start = rng.integers(data.size)
        noisy[start : start + rng.integers(1, 40)] = rng.integers(256)
        path.write_bytes(noisy.tobytes())
        read_or_refuse(path)


# ---------------------------------------------------------------- files that are not ours


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        store.read(tmp_path / "none", "test")
    with pytest.raises(FileNotFoundError):
        store.describe(tmp_path / "none")
    with pytest.raises(FileFormatError, match="is a folder, not a file"):
        store.read(tmp_path, "test")
    with pytest.raises(FileFormatError, match="is a device or a pipe"):
        store.read(os.devnull, "test")


def test_not_a_zip(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match="is empty"):
        store.read(path, "test")
    path.write_text("category,x\na,1\n")
    with pytest.raises(FileFormatError, match="is not a pasb file; check"):
        store.read(path, "test")


def test_foreign_zip(tmp_path):
    np.savez_compressed(tmp_path / "f.npz", a=np.arange(3))
    with pytest.raises(FileFormatError, match="is a zip archive, but not one that pasb wrote"):
        store.read(tmp_path / "f.npz", "test")


def test_wrong_kind(file):
    with pytest.raises(FileFormatError, match="is a pasb file of kind 'test', not 'model'"):
        store.read(file, "model")
