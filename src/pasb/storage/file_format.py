"""The format of a pasb file, and a reader that trusts nothing that it has not checked.

The file is an uncompressed zip archive:

- ``0.bin``, ``1.bin``, ...: the arrays, as raw little-endian bytes in C order;
- ``pasb.json``: format, version, kind, the caller's ``meta``, and the name, dtype,
  shape and SHA-256 of every array;
- ``pasb.sha256``: the SHA-256 of ``pasb.json``.

Nothing is compressed, so the size that the file claims can be compared with the size
that it has before memory is allocated.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pasb import __version__
from pasb.errors import FileFormatError, NewerFormatError
from pasb.storage.plain_json import as_json

FORMAT_VERSION = 1

FORMAT = "pasb"
HEADER = "pasb.json"
CHECKSUM = "pasb.sha256"
CHUNK = 1 << 20
_MAX_NDIM = 64  # what NumPy can hold
DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
# What zipfile and json raise on bytes that make no sense to them.
_NONSENSE = (
    *(zipfile.BadZipFile, struct.error, EOFError, NotImplementedError),
    *(RuntimeError, ValueError, LookupError, OverflowError),
)
_RESTORE = "restore it from a copy, or write it again"
_CHECK = "check that this is the right file"


class _Refused(Exception):
    """What is wrong with a file, still without the file's name."""


class _Newer(_Refused):
    """The file is of a later format."""


class Entry(NamedTuple):
    """What the header says about one array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str


class Header(NamedTuple):
    """The checked content of ``pasb.json``, and the members that go with it."""

    kind: str
    version: str
    meta: dict[str, Any]
    entries: list[Entry]
    members: list[zipfile.ZipInfo]


@contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
    """Open the archive, and turn all that is wrong with it into `FileFormatError`."""
    shown = repr(os.fspath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a folder" if os.path.isdir(path) else "a device or a pipe"
        raise FileFormatError(f"{shown} is {what}, not a file; give the path of a pasb file")
    with open(path, "rb") as file:
        start = file.read(2)
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except _Newer as error:
            raise NewerFormatError(f"{shown} {error}") from None
        except _Refused as error:
            raise FileFormatError(f"{shown} {error}") from None
        except _NONSENSE as error:
            raise FileFormatError(f"{shown} {_diagnosis(start, error)}") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: an offset before the start of the file
                raise
            raise FileFormatError(f"{shown} {_diagnosis(start, error)}") from error


def _diagnosis(start: bytes, error: Exception) -> str:
    if not start:
        return f"is empty; {_RESTORE}"
    if start != b"PK":
        return f"is not a pasb file; {_CHECK}"
    reason = str(error) if len(str(error)) <= 100 else f"{str(error)[:100]}..."
    return f"is damaged or cut short ({reason}); {_RESTORE}"


def read_header(archive: zipfile.ZipFile) -> Header:
    """Read and check all but the arrays."""
    infos = archive.infolist()
    if HEADER not in {info.orig_filename for info in infos}:
        raise _Refused(f"is a zip archive, but not one that pasb wrote; {_CHECK}")
    members = _checked_members(archive, infos)
    text = archive.read(members[HEADER])
    header = json.loads(
        text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_constant
    )
    # a version is believed only where the checksum, if there is one, says that it is sound
    digest = hashlib.sha256(text).hexdigest().encode("ascii")
    if CHECKSUM in members and archive.read(members[CHECKSUM]) != digest:
        raise _Refused(f"is damaged (its header does not match its checksum); {_RESTORE}")
    _check_version(header)
    # A later format may well do all of what follows in another way.
    if CHECKSUM not in members:
        raise _Refused(f"is damaged (its checksum is missing); {_RESTORE}")
    meta, entries = _checked_content(header)
    bins = [f"{index}.bin" for index in range(len(entries))]
    if set(members) != {HEADER, CHECKSUM, *bins}:
        raise _Refused(f"is damaged (members are missing, or do not belong there); {_RESTORE}")
    infos = [members[name] for name in bins]
    for entry, info in zip(entries, infos, strict=True):
        _check_size(entry, info.file_size)
    return Header(header["kind"], header["version"], meta, entries, infos)


def check_kind(header: Header, kind: str) -> None:
    """Refuse a file that is sound, but not what the caller asks for."""
    if header.kind != kind:
        raise _Refused(f"is a pasb file of kind {brief(header.kind)}, not {kind!r}; {_CHECK}")


def _checked_members(
    archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo]
) -> dict[str, zipfile.ZipInfo]:
    """Refuse what could take more memory than the file has bytes."""
    members = {info.orig_filename: info for info in infos}
    if len(members) != len(infos):
        raise _Refused(f"is damaged (two members have one name); {_RESTORE}")
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise _Refused(f"has compressed members, which pasb never writes; {_CHECK}")
    assert archive.fp is not None
    if sum(info.file_size for info in infos) > os.fstat(archive.fp.fileno()).st_size:
        raise _Refused(f"is damaged (it claims more bytes than it has); {_RESTORE}")
    return members


def brief(value: Any) -> str:
    """A value from a file as a message shows it: a file must not fill the screen."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_version(header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _Refused(f"is a zip archive, but not one that pasb wrote; {_CHECK}")
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise _Refused(f"is damaged (its format version is not a number); {_RESTORE}")
    if version > FORMAT_VERSION:
        raise _Newer(
            f"was written by a newer pasb, in format {brief(version)}; upgrade pasb, which here is "
            f"{__version__} and reads up to format {FORMAT_VERSION}"
        )


def _checked_content(header: dict[str, Any]) -> tuple[dict[str, Any], list[Entry]]:
    """Check the types of all that the header holds."""
    damaged = _Refused(f"is damaged (its header does not have the right fields); {_RESTORE}")
    if header.keys() != {"format", "format_version", "version", "kind", "meta", "arrays"}:
        raise damaged
    if not isinstance(header["kind"], str) or not isinstance(header["version"], str):
        raise damaged
    if not isinstance(header["meta"], dict) or not isinstance(header["arrays"], list):
        raise damaged
    entries = [_checked_entry(entry, damaged) for entry in header["arrays"]]
    if len({entry.name for entry in entries}) != len(entries):
        raise damaged
    return as_json(header["meta"], "meta"), entries


def _checked_entry(entry: Any, damaged: _Refused) -> Entry:
    if not isinstance(entry, dict) or entry.keys() != set(Entry._fields):
        raise damaged
    name, dtype, shape, sha256 = (entry[field] for field in Entry._fields)
    if not all(isinstance(text, str) for text in (name, dtype, sha256)):
        raise damaged
    if dtype not in DTYPES:
        raise _Refused(
            f"is damaged (array {brief(name)} has the unknown dtype {brief(dtype)}); {_RESTORE}"
        )
    if not isinstance(shape, list) or len(shape) > _MAX_NDIM:
        raise damaged
    if not all(type(length) is int and length >= 0 for length in shape):
        raise damaged
    return Entry(name, dtype, tuple(shape), sha256)


def _check_size(entry: Entry, size: int) -> None:
    """Compare the declared shape with the bytes that are there, before allocating memory."""
    itemsize = DTYPES[entry.dtype].itemsize
    # An empty array may not have absurd other axes either: NumPy multiplies them.
    extent = itemsize * math.prod(max(length, 1) for length in entry.shape)
    if math.prod(entry.shape) * itemsize != size or extent > np.iinfo(np.intp).max:
        raise _Refused(
            f"is damaged (array {brief(entry.name)} does not have the size of its shape); "
            f"{_RESTORE}"
        )


def read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: Entry) -> np.ndarray:
    """Read one array, and compare its bytes with their checksum."""
    array = np.empty(entry.shape, dtype=DTYPES[entry.dtype])
    raw = array.reshape(-1).view(np.uint8)
    digest = hashlib.sha256()
    with archive.open(info) as member:
        for start in range(0, raw.size, CHUNK):
            chunk = raw[start : start + CHUNK]
            data = member.read(chunk.size)
            if len(data) != chunk.size:
                raise _Refused(f"is cut short (in array {brief(entry.name)}); {_RESTORE}")
            digest.update(data)
            chunk[:] = np.frombuffer(data, dtype=np.uint8)
    if digest.hexdigest() != entry.sha256:
        raise _Refused(
            f"is damaged (array {brief(entry.name)} does not match its checksum); {_RESTORE}"
        )
    if entry.dtype == "bool" and raw.size and raw.max() > 1:
        raise _Refused(f"is damaged (array {brief(entry.name)} is not boolean); {_RESTORE}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("a key appears twice in its header")
    return unique


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} in its header")
