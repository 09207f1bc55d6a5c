"""A part in a file of the worker that made it, read again by every task that needs it.

It is read, not mapped: a cluster counts mapped pages as memory that a worker has used up, although
they can be taken back at any time.
"""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pasb.covariates.parts import Part


class StoredPart:
    """A part in a file, which goes when nobody needs the part any more.

    What travels to another process is how to make the part. There it gets a file of its own: a
    link on the same machine, and otherwise it is made again.

    Parameters
    ----------
    make : callable
        Returns the part; a pure function that can be pickled.
    size : int
        Bytes that a cluster is told: the more, the less readily it moves the part, and the sooner
        it believes that its memory is used up.
    near : path, optional
        A file with the part, perhaps on another machine, perhaps gone.

    Examples
    --------
    >>> import tempfile
    >>> from functools import partial
    >>> import numpy as np
    >>> from pasb.numerics.rows import blocked
    >>> source = np.arange(3, dtype=np.int32)
    >>> make = partial(Part, blocked(np.eye(3)), None, np.array([0, 2, 3]), 3, source)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     StoredPart(make, size=1000).loaded(folder).bounds
    array([0, 2, 3])
    """

    def __init__(self, make: Callable[[], Part], size: int, near: Path | None = None):
        self.make, self.size, self.near = make, size, near
        self.path: Path | None = None

    def loaded(self, folder: str | Path) -> Part:
        """The part, in memory; kept in a file of this folder from now on."""
        if self.path is None:
            path = Path(folder) / f"pasb-{uuid4().hex}.part"
            weakref.finalize(self, _forget, path)
            if not _linked(self.near, path):
                with open(path, "wb") as file:
                    pickle.dump(self.make(), file, protocol=5)
            self.path = path
        with open(self.path, "rb") as file:
            return pickle.load(file)

    def __reduce__(self) -> tuple[type[StoredPart], tuple]:
        return StoredPart, (self.make, self.size, self.path or self.near)

    def __sizeof__(self) -> int:
        return self.size


def _linked(near: Path | None, path: Path) -> bool:
    """Give a file another name, if it is there."""
    if near is None:
        return False
    try:
        os.link(near, path)
    except OSError:
        return False
    return True


def _forget(path: Path) -> None:
    with suppress(OSError):  # the folder may be gone with its worker
        os.unlink(path)
