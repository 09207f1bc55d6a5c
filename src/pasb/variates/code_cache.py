"""Where compiled code is kept: Numba's cache with checksums, which fails quietly.

Numba trusts the files of its cache, and a function cannot even be defined where no folder is
writable. Here, code that is damaged, or that another process wrote under the same name, is compiled
again and replaced. Where no folder is writable, code that was compiled when the package was
installed is still read, and anything else is compiled for this process alone.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

unsaved: set[str] = set()
"""Functions whose code could not be kept."""


def compiled(**options: Any) -> Callable:
    """Like ``numba.njit(cache=True, **options)``, with the cache of this module."""

    def decorate(function: Callable) -> Any:
        dispatcher = njit(**options)(function)
        dispatcher._cache = CodeCache(function)
        return dispatcher

    return decorate


class CheckedFile(IndexDataCacheFile):
    """The files of one function, each behind a SHA-256 of it and of Numba's version."""

    def save(self, key: Any, data: Any) -> None:
        """Save code together with what it is the code of."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """The code that was saved under a key, or None where it is missing or damaged."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> dict:
        with suppress(OSError):
            stamp, overloads = self._load_data(self._index_name)
            if stamp == self._source_stamp:
                return overloads
        return {}

    def _save_index(self, overloads: dict) -> None:
        self._save_data(self._index_name, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        content = Path(self._cache_path, name).read_bytes()
        data = content[32:]
        if content[:32] != self._digest(data):
            raise OSError(f"{name} is damaged, or of another version")
        return pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        dumped = self._dump(data)
        with self._open_for_write(os.path.join(self._cache_path, name)) as file:
            file.write(self._digest(dumped) + dumped)

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + data).digest()


class _Installed:
    """The folder beside the source, where nothing else can be written: code may be there."""

    def __init__(self, function: Callable, path: str):
        self.path, self.line = path, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable, path: str) -> _Installed:
        return cls(function, path)

    def get_cache_path(self) -> str:
        return os.path.join(os.path.dirname(self.path), "__pycache__")

    def get_source_stamp(self) -> Any:
        return _content(self.path)

    def get_disambiguator(self) -> str:
        return str(self.line)

    def ensure_cache_path(self) -> None:
        raise OSError("no folder is writable")


@cache
def _content(path: str) -> bytes:
    """The hash of a source file: code from another version of it is of no use."""
    with suppress(OSError):  # a package in a zip archive has no files
        return hashlib.sha256(Path(path).read_bytes()).digest()
    return b""


class _AtHome:
    """A folder of the user, who may have none: then "~" stays in its name."""

    def ensure_cache_path(self) -> None:
        folder = self.get_cache_path()  # type: ignore[attr-defined]
        if folder.startswith("~"):
            raise OSError(f"there is no home for {folder}")
        super().ensure_cache_path()  # type: ignore[misc]


class _Serialised(FunctionCache._impl_class):  # type: ignore[valid-type, misc]
    _locator_classes = (
        *(type(c.__name__, (_AtHome, c), {}) for c in FunctionCache._impl_class._locator_classes),
        _Installed,
    )


class CodeCache(FunctionCache):
    """The cache of one function.

    Parameters
    ----------
    function : callable
    """

    _impl_class = _Serialised

    def __init__(self, function: Callable):
        super().__init__(function)
        source, base = inspect.getfile(function), self._impl.filename_base
        stamp = _content(source) or self._cache_file._source_stamp
        self._cache_file = CheckedFile(self.cache_path, base, stamp)
        beside = _Installed(function, source).get_cache_path()
        self._installed = None
        if beside != self.cache_path:
            self._installed = CheckedFile(beside, base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code that was compiled before, by whoever uses this folder or installed the package."""
        own = self._cache_file
        for file in (own, self._installed):
            if file is None:
                continue
            self._cache_file = file
            try:
                found = super().load_overload(sig, target_context)
            except Exception:  # whatever is wrong with it, it can be compiled
                continue
            finally:
                self._cache_file = own
            if found is not None:
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code, or note that it could not be kept."""
        try:
            super().save_overload(sig, data)
        except OSError:
            unsaved.add(self._name)
