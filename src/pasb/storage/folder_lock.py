"""One run a folder: a lock that the system drops when the process ends."""

from __future__ import annotations

import errno
import os
import platform
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from pasb.errors import CheckpointError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_FILE = "run.lock"


class FolderLock:
    """A lock that the system drops when the process ends, however it ends."""

    # Windows forbids others to read a locked byte: lock one beyond the owner's name.
    _FAR = 1 << 30

    def __init__(self, folder: Path) -> None:
        self._file = open(folder / LOCK_FILE, "a+b")  # noqa: SIM115
        try:
            self._acquire()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                owner = self._owner()
                self._file.close()
                raise CheckpointError(
                    f"another run is using the checkpoint folder '{folder}'{owner}; wait until "
                    "it ends, or use another folder"
                ) from None
            warnings.warn(
                f"the checkpoint folder '{folder}' cannot be locked on this file system "
                f"({error}); make sure that no other run uses it",
                RuntimeWarning,
                stacklevel=3,
            )
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {platform.node()}".encode())
        self._file.flush()

    def _acquire(self) -> None:
        if sys.platform == "win32":
            self._file.seek(self._FAR)
            msvcrt.locking(self._file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _owner(self) -> str:
        with suppress(OSError):
            self._file.seek(0)
            owner = self._file.read(200).decode("utf-8", "replace")
            return f" ({owner})" if owner else ""
        return ""

    def release(self) -> None:
        """Drop the lock, also for processes that inherited the file by a fork."""
        with suppress(OSError):
            self._file.truncate(0)
        with suppress(OSError):
            if sys.platform == "win32":
                self._file.seek(self._FAR)
                msvcrt.locking(self._file.fileno(), msvcrt.LK_UNLCK, 1)
            else:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()
