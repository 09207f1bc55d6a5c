"""The store gives back what was put in, or says in one sentence why it cannot."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import math
import os
import stat
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pasb import __version__
from pasb.errors import FileFormatError, NewerFormatError
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
META = {"labels": ["a", "β"], "n": 3}
VALUES = {"x": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False])}


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "file.pasb"
    store.write(path, "test", META, VALUES)
    return path


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


def read_or_refuse(path: Path) -> bool:
    """Tell whether the file could be read; what is read must be what was written."""
    try:
        meta, arrays = store.read(path, "test")
    except FileFormatError:
        return False
    assert meta == META
    assert_same_arrays(arrays, VALUES)
    return True


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


# ---------------------------------------------------------------- hostile files


def header_of(*arrays, **changes) -> dict:
    header = {
        "format": "pasb",
        "format_version": FORMAT_VERSION,
        "version": "0",
        "kind": "test",
        "meta": {},
        "arrays": list(arrays),
    }
    return header | changes


def entry_of(data=b"\0" * 16, **changes) -> dict:
    entry = {"name": "a", "dtype": "float64", "shape": [2]}
    return entry | {"sha256": hashlib.sha256(data).hexdigest()} | changes


def craft(path, header, members=(("0.bin", b"\0" * 16),), compression=zipfile.ZIP_STORED):
    """Write a file whose checksums are right, whatever its header says."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    everything = [
        *members,
        ("pasb.json", text),
        ("pasb.sha256", hashlib.sha256(text).hexdigest().encode()),
    ]
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in everything:
            archive.writestr(name, data)
    return path


def test_the_crafted_file_is_read(tmp_path):
    _, arrays = store.read(craft(tmp_path / "f", header_of(entry_of())), "test")
    assert_same_arrays(arrays, {"a": np.zeros(2)})


HEADERS = {
    "newer": (header_of(format_version=99), "written by a newer pasb, in format 99; upgrade"),
    "version-bool": (header_of(format_version=True), "format version is not a number"),
    "version-text": (header_of(format_version="1"), "format version is not a number"),
    "version-zero": (header_of(format_version=0), "format version is not a number"),
    "other-format": (header_of(format="other"), "not one that pasb wrote"),
    "list": ([1, 2], "not one that pasb wrote"),
    "no-json": (b"{", "is damaged or cut short"),
    "not-ascii": (b"\xff\xfe", "is damaged or cut short"),
    "deep": (b"[" * 100_000, "is damaged or cut short"),
    "long-number": (b'{"format": ' + b"9" * 5000 + b"}", "is damaged or cut short"),
    "nan": (json.dumps(header_of(meta={"a": math.nan})).encode(), "NaN in its header"),
    "overflow": (json.dumps(header_of()).replace('"0"', "1e999").encode(), "right fields"),
    "overflow-meta": (
        json.dumps(header_of(entry_of(), meta={"a": 5})).replace("5}", "1e999}").encode(),
        "is damaged",
    ),
    "twice": (b'{"format": "pasb", "format": "pasb"}', "a key appears twice"),
    "extra-field": (header_of(entry_of(), more=1), "right fields"),
    "meta-list": (header_of(entry_of(), meta=[]), "right fields"),
    "kind-number": (header_of(entry_of(), kind=1), "right fields"),
    "arrays-dict": (header_of(arrays={}), "right fields"),
    "entry-list": (header_of([1]), "right fields"),
    "entry-field": (header_of({"name": "a"}), "right fields"),
    "name-number": (header_of(entry_of(name=1)), "right fields"),
    "name-twice": (header_of(entry_of(), entry_of()), "right fields"),
    "object": (header_of(entry_of(dtype="object")), "unknown dtype 'object'"),
    "pickle": (header_of(entry_of(dtype="|O")), "unknown dtype"),
    "complex": (header_of(entry_of(dtype="complex128", shape=[1])), "unknown dtype"),
    "big-endian": (header_of(entry_of(dtype=">f8")), "unknown dtype"),
    "dtype-list": (header_of(entry_of(dtype=["float64"])), "right fields"),
    "shape-number": (header_of(entry_of(shape=2)), "right fields"),
    "shape-negative": (header_of(entry_of(shape=[-1, -2])), "right fields"),
    "shape-float": (header_of(entry_of(shape=[2.0])), "right fields"),
    "shape-bool": (header_of(entry_of(shape=[2, True])), "right fields"),
    "shape-65d": (header_of(entry_of(shape=[2, *[1] * 64])), "right fields"),
    "shape-other": (header_of(entry_of(shape=[3])), "does not have the size of its shape"),
    "shape-huge": (header_of(entry_of(shape=[2**62])), "does not have the size of its shape"),
    "shape-bignum": (header_of(entry_of(shape=[10**300])), "does not have the size"),
    "dtype-other": (header_of(entry_of(dtype="float32")), "does not have the size of its shape"),
    "sum-other": (header_of(entry_of(b"x")), "array 'a' does not match its checksum"),
    "missing": (header_of(entry_of(), entry_of(name="b")), "members are missing"),
    "extra": (header_of(), "or do not belong there"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_hostile_headers(tmp_path, case):
    header, message = HEADERS[case]
    with pytest.raises(FileFormatError, match=message) as caught:
        store.read(craft(tmp_path / "f", header), "test")
    assert repr(str(tmp_path / "f")) in str(caught.value)


def test_newer_has_its_own_error(tmp_path):
    with pytest.raises(NewerFormatError):
        store.describe(craft(tmp_path / "f", header_of(format_version=2)))


def test_an_empty_array_with_an_absurd_axis(tmp_path):
    entry = entry_of(b"", shape=[0, 2**63])
    with pytest.raises(FileFormatError, match="size of its shape"):
        store.read(craft(tmp_path / "f", header_of(entry), [("0.bin", b"")]), "test")


def test_booleans_are_zero_or_one(tmp_path):
    entry = entry_of(b"\2", dtype="bool", shape=[1])
    with pytest.raises(FileFormatError, match="is not boolean"):
        store.read(craft(tmp_path / "f", header_of(entry), [("0.bin", b"\2")]), "test")


@pytest.mark.parametrize("name", ["../0.bin", "/0.bin", "0.bin\0.txt", "a\\0.bin", "00.bin"])
def test_member_names_with_tricks(tmp_path, name):
    path = craft(tmp_path / "f", header_of(entry_of()), [("N" * len(name), b"\0" * 16)])
    path.write_bytes(path.read_bytes().replace(b"N" * len(name), name.encode()))
    with pytest.raises(FileFormatError, match="is damaged"):
        store.read(path, "test")
    assert os.listdir(tmp_path) == ["f"]


def test_extra_and_duplicated_members(tmp_path):
    zeros = b"\0" * 16
    path = craft(tmp_path / "f", header_of(entry_of()), [("0.bin", zeros), ("1.bin", zeros)])
    with pytest.raises(FileFormatError, match="or do not belong there"):
        store.read(path, "test")
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = craft(tmp_path / "f", header_of(entry_of()), [("0.bin", zeros)] * 2)
    with pytest.raises(FileFormatError, match="two members have one name"):
        store.read(path, "test")


def test_missing_or_wrong_checksum(tmp_path):
    text = json.dumps(header_of())
    path = tmp_path / "f"
    for extra, message in [
        ({}, "its checksum is missing"),
        ({"pasb.sha256": "0" * 64}, "header does not match its checksum"),
    ]:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in {"pasb.json": text, **extra}.items():
                archive.writestr(name, data)
        with pytest.raises(FileFormatError, match=message):
            store.read(path, "test")


def peak_of_refusal(path, message) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=message):
            store.read(path, "test")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_compressed_bomb_is_not_unpacked(tmp_path):
    size = 64 << 20
    members = [("0.bin", bytes(size))]
    header = header_of(entry_of(shape=[size // 8]))
    path = craft(tmp_path / "f", header, members, zipfile.ZIP_DEFLATED)
    del members
    assert peak_of_refusal(path, "has compressed members") < 4 << 20


def test_claimed_sizes_take_no_memory(tmp_path):
    """The directory of the archive claims a gigabyte that the file does not have."""
    size = 1 << 30
    path = craft(tmp_path / "f", header_of(entry_of(shape=[size // 8])))
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\1\2")
    for field in (20, 24):
        data[place + field : place + field + 4] = size.to_bytes(4, "little")
    path.write_bytes(data)
    assert peak_of_refusal(path, "claims more bytes than it has") < 4 << 20


def test_members_that_share_bytes(tmp_path):
    """Many members that all point to one place would multiply the size of the file."""
    entry = entry_of(bytes(1 << 16), shape=[1 << 13])
    entries = [entry | {"name": str(index)} for index in range(3)]
    members = [("0.bin", bytes(1 << 16)), ("1.bin", b""), ("2.bin", b"")]
    path = craft(tmp_path / "f", header_of(*entries), members)
    data = bytearray(path.read_bytes())
    first = data.index(b"PK\1\2")
    place = first
    for _ in range(2):
        place = data.index(b"PK\1\2", place + 4)
        data[place + 16 : place + 28] = data[first + 16 : first + 28]
    path.write_bytes(data)
    assert peak_of_refusal(path, "claims more bytes than it has") < 4 << 20


def test_an_encrypted_member(file):
    data = bytearray(file.read_bytes())
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1
    file.write_bytes(data)
    with pytest.raises(FileFormatError, match="encrypted"):
        store.read(file, "test")


# ---------------------------------------------------------------- atomicity


def failing(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(file, monkeypatch, call):
    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError, match="No space left"):
        store.write(file, "test", {"new": 1}, {})
    monkeypatch.undo()
    assert read_or_refuse(file)
    assert os.listdir(file.parent) == [file.name]


def test_a_failure_in_the_middle_of_an_array(file, monkeypatch):
    real = zipfile.ZipFile.open

    def open_first(self, info, *args, **kwargs):
        if info.filename == "1.bin":
            raise KeyboardInterrupt
        return real(self, info, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "open", open_first)
    with pytest.raises(KeyboardInterrupt):
        store.write(file, "test", {}, {"a": np.zeros(100_000), "b": np.zeros(3)})
    monkeypatch.undo()
    assert read_or_refuse(file)
    assert os.listdir(file.parent) == [file.name]


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path, monkeypatch):
    real = os.fsync

    def files_only(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            failing()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", files_only)
    store.write(tmp_path / "f", "test", META, VALUES)
    assert read_or_refuse(tmp_path / "f")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on file sizes")
def test_no_room_for_real(file):
    """A limit on the size of files takes the place of a full disk."""
    script = (
        "import resource, sys, numpy as np\n"
        "from pasb.storage import store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    store.write(sys.argv[1], 'test', {}, {'a': np.ones(100_000)})\n"
        "except OSError as error:\n"
        "    print(type(error).__name__, error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["OSError", str(errno.EFBIG)]
    assert done.stderr == ""
    assert read_or_refuse(file)
    assert os.listdir(file.parent) == [file.name]


def test_write_says_where_it_cannot(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        store.write(tmp_path, "test", {}, {})
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        store.write(tmp_path / "none" / "f", "test", {}, {})
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes")
def test_links_and_modes_are_kept(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file)
    file.chmod(0o600)
    store.write(link, "test", META, VALUES)
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_or_refuse(file)


def test_nothing_is_ever_unpickled(tmp_path):
    """A pickle in the place of an array is bytes like any other."""
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    data = stream.getvalue()
    entry = entry_of(data, dtype="uint8", shape=[len(data)])
    path = craft(tmp_path / "f", header_of(entry), [("0.bin", data)])
    assert store.read(path, "test")[1]["a"].tobytes() == data
