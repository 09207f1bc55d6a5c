"""One file that holds numeric arrays and JSON, and nothing that could be executed.

`pasb.storage.file_format` describes its layout.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from pasb import __version__
from pasb.storage import file_format
from pasb.storage.file_format import (
    CHECKSUM,
    CHUNK,
    DTYPES,
    FORMAT,
    HEADER,
    Entry,
    check_kind,
    open_archive,
    read_array,
    read_header,
)
from pasb.storage.plain_json import as_json, as_name
from pasb.storage.whole_file import replacing


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
        infinity are refused, since JSON has none: store them in an array.
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
    >>> from pathlib import Path
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

    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        entries = [
            _write_array(archive, index, name, array)
            for index, (name, array) in enumerate(storable.items())
        ]
        header = {
            "format": FORMAT,
            "format_version": file_format.FORMAT_VERSION,
            "version": __version__,
            "kind": kind,
            "meta": plain_meta,
            "arrays": [entry._asdict() for entry in entries],
        }
        text = json.dumps(header, allow_nan=False).encode("ascii")
        archive.writestr(_member(HEADER), text)
        archive.writestr(_member(CHECKSUM), hashlib.sha256(text).hexdigest())


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
    with open_archive(path) as archive:
        header = read_header(archive)
        check_kind(header, kind)
        arrays = {
            entry.name: read_array(archive, member, entry)
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
    with open_archive(path) as archive:
        header = read_header(archive)
    return {
        "kind": header.kind,
        "version": header.version,
        "format_version": file_format.FORMAT_VERSION,
        "meta": header.meta,
        "arrays": {entry.name: (entry.dtype, entry.shape) for entry in header.entries},
    }


def _storable(name: str, value: Any) -> np.ndarray:
    """Return `value` as a little-endian array in C order."""
    array = np.asarray(value)
    if isinstance(value, np.ma.MaskedArray) or array.dtype.name not in DTYPES:
        what = "masked" if isinstance(value, np.ma.MaskedArray) else array.dtype
        raise TypeError(
            f"array {name!r} is {what}; a pasb file holds booleans, integers and floats "
            "of up to 64 bits"
        )
    return array.astype(DTYPES[array.dtype.name], order="C", copy=False)


def _member(name: str) -> zipfile.ZipInfo:
    """Describe a member without a date or a system, so that equal content gives equal files."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    return info


def _write_array(archive: zipfile.ZipFile, index: int, name: str, array: np.ndarray) -> Entry:
    raw = array.reshape(-1).view(np.uint8)
    info = _member(f"{index}.bin")
    info.file_size = raw.nbytes  # tells zipfile when it needs its format for large files
    digest = hashlib.sha256()
    with archive.open(info, "w") as member:
        for start in range(0, raw.size, CHUNK):
            chunk = raw[start : start + CHUNK].data
            digest.update(chunk)
            member.write(chunk)
    return Entry(name, array.dtype.name, array.shape, digest.hexdigest())
