"""Where Python of pages and docstrings runs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """Work in an empty folder, and come back."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield
