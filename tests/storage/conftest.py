"""A file to read and to damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.storage.small_files import META, VALUES

from pasb.storage import store


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "file.pasb"
    store.write(path, "test", META, VALUES)
    return path
