"""A file that takes the place of another whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

NOT_REGULAR = "is a device, pipe or socket, which a file must not replace; choose another name"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a file to write that takes the place of `path` once it is safely on disk."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    if is_special(target):
        raise FileExistsError(errno.EEXIST, NOT_REGULAR, str(path))
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


def is_special(path: str | os.PathLike[str]) -> bool:
    """Tell whether `path` leads to something that is there and neither a file nor a folder."""
    target = Path(os.path.realpath(path))
    return target.exists() and not target.is_file() and not target.is_dir()


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
