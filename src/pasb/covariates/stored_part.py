"""A part in a file of the worker that made it, read again by every task that needs it.

It is read, not mapped: a cluster counts mapped pages as memory that a worker has used up, although
they can be taken back at any time.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from dataclasses import replace
from os import unlink
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.parts import Part


class StoredPart:
    """A part whose covariates are in a file, which goes when nobody needs the part any more.

    A copy that came from another process is in memory until it is first used here.

    Parameters
    ----------
    part : Part

    Examples
    --------
    >>> import tempfile
    >>> from pasb.numerics.rows import blocked
    >>> bounds, source = np.array([0, 2, 3]), np.arange(3, dtype=np.int32)
    >>> part = Part(blocked(np.eye(3)), None, bounds, 3, source)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = StoredPart(part)
    ...     stored.keep_in(folder)
    ...     bool(np.all(stored.loaded().blocks == part.blocks))
    True
    """

    def __init__(self, part: Part):
        self.part = part
        self.path: Path | None = None

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Those of the part."""
        return self.part.bounds

    def keep_in(self, folder: str | Path) -> None:
        """Keep the covariates in a file of this folder, unless they are in one."""
        if self.path is None:
            path = Path(folder) / f"pasb-{uuid4().hex}.npy"
            weakref.finalize(self, _forget, path)
            np.save(path, self.part.blocks)
            self.path, self.part = path, replace(self.part, blocks=self.part.blocks[:0].copy())

    def loaded(self) -> Part:
        """The part, in memory."""
        return self.part if self.path is None else replace(self.part, blocks=np.load(self.path))

    def __reduce__(self) -> tuple[type[StoredPart], tuple[Part]]:
        return StoredPart, (self.loaded(),)

    def __sizeof__(self) -> int:
        return self.part.__sizeof__()


def _forget(path: Path) -> None:
    with suppress(OSError):  # the folder may be gone with its worker
        unlink(path)
