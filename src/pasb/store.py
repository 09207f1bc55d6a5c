"""One file that holds numeric arrays and JSON, and nothing that could be executed.

The file is an uncompressed zip archive:

- ``0.bin``, ``1.bin``, ...: the arrays, as raw little-endian bytes in C order;
- ``pasb.json``: format, version, kind, the caller's ``meta``, and the name, dtype,
  shape and SHA-256 of every array;
- ``pasb.sha256``: the SHA-256 of ``pasb.json``.

Nothing is compressed, so a size that the file claims can be held against the size
that it has, before any memory is taken.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
import shutil
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pasb import __version__
from pasb.errors import FileFormatError

FORMAT_VERSION = 1

_FORMAT = "pasb"
_HEADER = "pasb.json"
_CHECKSUM = "pasb.sha256"
_CHUNK = 1 << 20
_MAX_NDIM = 64  # what NumPy can hold
_DTYPES = {
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


class NewerFormatError(FileFormatError):
    """A sound file of a format that only a later pasb can read."""


class _Refused(Exception):
    """What is wrong with a file, still without the file's name."""


class _Newer(_Refused):
    """The file is of a later format."""


class _Entry(NamedTuple):
    """What the header says about one array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str


class _Header(NamedTuple):
    """The checked content of ``pasb.json``, and the members that go with it."""

    kind: str
    version: str
    meta: dict[str, Any]
    entries: list[_Entry]
    members: list[zipfile.ZipInfo]


# ---------------------------------------------------------------- the three verbs


def write(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write arrays and JSON to one file, wholly or not at all.

    Parameters
    ----------
    path : path-like
        The file. One that exists is replaced in a single step, and stays as it was if
        anything goes wrong.
    kind : str
        What the file is, such as ``"model"``; `read` asks for the same word.
    meta : dict
        What JSON can hold. Tuples become lists and NumPy scalars become Python's; NaN and
        infinity are refused, since JSON has no word for them: put those into an array.
    arrays : dict of str to ndarray
        Booleans, integers and floats of up to 64 bits.

    Raises
    ------
    TypeError, ValueError
        If something cannot be stored; the message names it.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.pasb")
    ...     write(file, "example", {"labels": ["a", "b"]}, {"x": np.arange(3)})
    ...     meta, arrays = read(file, "example")
    >>> meta, arrays["x"]
    ({'labels': ['a', 'b']}, array([0, 1, 2]))
    """
    if not isinstance(kind, str) or not kind:
        raise TypeError(f"kind must be a word, not {kind!r}")
    plain_meta = as_json(meta, "meta")
    if not isinstance(plain_meta, dict):
        raise TypeError(f"meta must be a dict, not {type(meta).__name__}")
    storable = {as_name(name): _storable(name, array) for name, array in arrays.items()}

    with _replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entries = [
            _write_array(archive, index, name, array)
            for index, (name, array) in enumerate(storable.items())
        ]
        header = {
            "format": _FORMAT,
            "format_version": FORMAT_VERSION,
            "version": __version__,
            "kind": kind,
            "meta": plain_meta,
            "arrays": [entry._asdict() for entry in entries],
        }
        text = json.dumps(header, allow_nan=False).encode("ascii")
        archive.writestr(_member(_HEADER), text)
        archive.writestr(_member(_CHECKSUM), hashlib.sha256(text).hexdigest())


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file that `write` wrote, and check every byte that matters.

    Parameters
    ----------
    path : path-like
        The file.
    kind : str
        The kind it must be of.

    Returns
    -------
    meta : dict
    arrays : dict of str to ndarray
        In the order in which they were written; the caller may change them.

    Raises
    ------
    FileFormatError
        If the file is damaged, foreign, of another kind, or of a later format.
    FileNotFoundError
        If there is no file.
    """
    with _archive(path) as archive:
        header = _read_header(archive)
        if header.kind != kind:
            raise _Refused(f"is a pasb file of kind {brief(header.kind)}, not {kind!r}; {_CHECK}")
        arrays = {
            entry.name: _read_array(archive, member, entry)
            for entry, member in zip(header.entries, header.members, strict=True)
        }
    return header.meta, arrays


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Say what a file is without reading its arrays.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    dict
        ``kind``; ``version``, the pasb that wrote it; ``format_version``; ``meta``; and
        ``arrays``, which maps each name to its dtype and shape.

    Raises
    ------
    FileFormatError, FileNotFoundError
        As `read`, but damage inside the arrays goes unseen.
    """
    with _archive(path) as archive:
        header = _read_header(archive)
    return {
        "kind": header.kind,
        "version": header.version,
        "format_version": FORMAT_VERSION,
        "meta": header.meta,
        "arrays": {entry.name: (entry.dtype, entry.shape) for entry in header.entries},
    }


def as_json(value: Any, where: str = "meta") -> Any:
    """Copy `value` into what JSON gives back unchanged, or refuse it by its place.

    Examples
    --------
    >>> as_json({"shape": (2, 3), "scale": np.float64(0.5)})
    {'shape': [2, 3], 'scale': 0.5}
    >>> as_json({"scale": [1.0, float("nan")]})
    Traceback (most recent call last):
    ValueError: meta['scale'][1] is nan, which JSON cannot hold: store it in an array
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return as_name(value, where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which JSON cannot hold: store it in an array")
        return float(value)
    if isinstance(value, list | tuple):
        return [as_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            as_name(key, f"a key of {where}"): as_json(item, f"{where}[{key!r}]")
            for key, item in value.items()
        }
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON cannot hold")


def as_name(value: Any, where: str = "the name of an array") -> str:
    """Return a plain string, and refuse anything that is not valid text."""
    if not isinstance(value, str):
        raise TypeError(f"{where} must be a string, not {value!r}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{where} is not valid Unicode text: {value!r}") from None
    return str.__str__(value)


# ---------------------------------------------------------------- writing


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a file to write that takes the place of `path` once it is safely on disk."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    temporary = target.with_name(temporary_name())
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # a file that was private stays private
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(target.parent)


def temporary_name() -> str:
    """Return a fresh name for a file that is still being written."""
    return f".pasb-{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Tell whether `name` is one that `temporary_name` makes."""
    return name.startswith(".pasb-") and name.endswith(".tmp")


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, on the systems that offer it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _storable(name: str, value: Any) -> np.ndarray:
    """Return `value` as a little-endian array in C order."""
    array = np.asarray(value)
    if isinstance(value, np.ma.MaskedArray) or array.dtype.name not in _DTYPES:
        what = "masked" if isinstance(value, np.ma.MaskedArray) else array.dtype
        raise TypeError(
            f"array {name!r} is {what}; a pasb file holds booleans, integers and floats "
            "of up to 64 bits"
        )
    return array.astype(_DTYPES[array.dtype.name], order="C", copy=False)


def _member(name: str) -> zipfile.ZipInfo:
    """Describe a member without a date or a system, so that equal content gives equal files."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    return info


def _write_array(archive: zipfile.ZipFile, index: int, name: str, array: np.ndarray) -> _Entry:
    raw = array.reshape(-1).view(np.uint8)
    info = _member(f"{index}.bin")
    info.file_size = raw.nbytes  # tells zipfile when it needs its format for large files
    digest = hashlib.sha256()
    with archive.open(info, "w") as member:
        for start in range(0, raw.size, _CHUNK):
            chunk = raw[start : start + _CHUNK].data
            digest.update(chunk)
            member.write(chunk)
    return _Entry(name, array.dtype.name, array.shape, digest.hexdigest())


# ---------------------------------------------------------------- reading


@contextmanager
def _archive(path: str | os.PathLike[str]) -> Iterator[zipfile.ZipFile]:
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
            if error.errno != errno.EINVAL:  # EINVAL: an offset that lies before the file
                raise
            raise FileFormatError(f"{shown} {_diagnosis(start, error)}") from error


def _diagnosis(start: bytes, error: Exception) -> str:
    if not start:
        return f"is empty; {_RESTORE}"
    if start != b"PK":
        return f"is not a pasb file; {_CHECK}"
    reason = str(error) if len(str(error)) <= 100 else f"{str(error)[:100]}..."
    return f"is damaged or cut short ({reason}); {_RESTORE}"


def _read_header(archive: zipfile.ZipFile) -> _Header:
    """Read and check all but the arrays."""
    infos = archive.infolist()
    if _HEADER not in {info.orig_filename for info in infos}:
        raise _Refused(f"is a zip archive, but not one that pasb wrote; {_CHECK}")
    members = _checked_members(archive, infos)
    text = archive.read(members[_HEADER])
    header = json.loads(
        text.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_constant
    )
    _check_version(header)
    # A later format may well do all of what follows in another way.
    if _CHECKSUM not in members:
        raise _Refused(f"is damaged (its checksum is missing); {_RESTORE}")
    if archive.read(members[_CHECKSUM]) != hashlib.sha256(text).hexdigest().encode("ascii"):
        raise _Refused(f"is damaged (its header does not match its checksum); {_RESTORE}")
    meta, entries = _checked_content(header)
    bins = [f"{index}.bin" for index in range(len(entries))]
    if set(members) != {_HEADER, _CHECKSUM, *bins}:
        raise _Refused(f"is damaged (members are missing, or do not belong there); {_RESTORE}")
    infos = [members[name] for name in bins]
    for entry, info in zip(entries, infos, strict=True):
        _check_size(entry, info.file_size)
    return _Header(header["kind"], header["version"], meta, entries, infos)


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
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise _Refused(f"is a zip archive, but not one that pasb wrote; {_CHECK}")
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise _Refused(f"is damaged (its format version is not a number); {_RESTORE}")
    if version > FORMAT_VERSION:
        raise _Newer(
            f"was written by a newer pasb, in format {brief(version)}; upgrade pasb, which here is "
            f"{__version__} and reads up to format {FORMAT_VERSION}"
        )


def _checked_content(header: dict[str, Any]) -> tuple[dict[str, Any], list[_Entry]]:
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


def _checked_entry(entry: Any, damaged: _Refused) -> _Entry:
    if not isinstance(entry, dict) or entry.keys() != set(_Entry._fields):
        raise damaged
    name, dtype, shape, sha256 = (entry[field] for field in _Entry._fields)
    if not all(isinstance(text, str) for text in (name, dtype, sha256)):
        raise damaged
    if dtype not in _DTYPES:
        raise _Refused(
            f"is damaged (array {brief(name)} has the unknown dtype {brief(dtype)}); {_RESTORE}"
        )
    if not isinstance(shape, list) or len(shape) > _MAX_NDIM:
        raise damaged
    if not all(type(length) is int and length >= 0 for length in shape):
        raise damaged
    return _Entry(name, dtype, tuple(shape), sha256)


def _check_size(entry: _Entry, size: int) -> None:
    """Hold the declared shape against the bytes that are there, before taking memory."""
    itemsize = _DTYPES[entry.dtype].itemsize
    # An empty array may not have absurd other axes either: NumPy multiplies them.
    extent = itemsize * math.prod(max(length, 1) for length in entry.shape)
    if math.prod(entry.shape) * itemsize != size or extent > np.iinfo(np.intp).max:
        raise _Refused(
            f"is damaged (array {brief(entry.name)} does not have the size of its shape); "
            f"{_RESTORE}"
        )


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, entry: _Entry) -> np.ndarray:
    array = np.empty(entry.shape, dtype=_DTYPES[entry.dtype])
    raw = array.reshape(-1).view(np.uint8)
    digest = hashlib.sha256()
    with archive.open(info) as member:
        for start in range(0, raw.size, _CHUNK):
            chunk = raw[start : start + _CHUNK]
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
