"""Files that somebody made to do harm are refused, and take no memory."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from tests.storage.small_files import assert_same_arrays

from pasb.errors import FileFormatError, NewerFormatError
from pasb.storage import store
from pasb.storage.file_format import FORMAT_VERSION


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


def test_nothing_is_ever_unpickled(tmp_path):
    """A pickle in the place of an array is bytes like any other."""
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    data = stream.getvalue()
    entry = entry_of(data, dtype="uint8", shape=[len(data)])
    path = craft(tmp_path / "f", header_of(entry), [("0.bin", data)])
    assert store.read(path, "test")[1]["a"].tobytes() == data
