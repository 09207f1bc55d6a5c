"""One run a folder: a lock that the system drops when the process ends, however it ends."""

from __future__ import annotations

import errno
import os
import platform
import stat
import warnings
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pasb.errors import CheckpointError

LOCK_FILE = "run.lock"

# what a file system answers that cannot lock
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


def lock_folder(folder: Path) -> FileLock:
    """Lock a folder, and write the name of this process into its lock file.

    Returns
    -------
    FileLock
        Its `release` lets others use the folder. It is not locked where the file system cannot
        lock, of which a warning tells.

    Raises
    ------
    CheckpointError
        If another run has locked the folder, or the lock file is a link to another file.
    OSError
        If the lock file cannot be written.
    """
    _refuse_links(folder / LOCK_FILE)
    lock = FileLock(
        folder / LOCK_FILE,
        blocking=False,
        thread_local=False,  # any thread may release it
        preserve_lock_file=True,
        on_acquired=_sign,
    )
    try:
        lock.acquire()
    except Timeout:
        raise CheckpointError(
            f"another run is using the checkpoint folder '{folder}'{_owner(folder)}; wait until "
            "it ends, or use another folder"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        warnings.warn(
            f"the checkpoint folder '{folder}' cannot be locked on this file system "
            f"({error}); make sure that no other run uses it",
            RuntimeWarning,
            stacklevel=3,
        )
    return lock


def _refuse_links(path: Path) -> None:
    """A lock file is written, and what a link leads to is not ours to write."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise CheckpointError(
            f"'{path}' is a link to another file, or no file: remove it, or use another folder"
        )


def _sign(descriptor: int) -> None:
    """Write the owner behind the first byte, which on Windows nobody else can read."""
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"\nprocess {os.getpid()} on {platform.node()}".encode())


def _owner(folder: Path) -> str:
    with suppress(OSError), open(folder / LOCK_FILE, "rb", buffering=0) as file:
        file.seek(1)
        owner = file.read(200).decode("utf-8", "replace")
        return f" ({owner})" if owner else ""
    return ""
