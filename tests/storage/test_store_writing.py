"""A write that fails leaves the old file, and says what is wrong."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from tests.storage.small_files import META, VALUES, read_or_refuse

from pasb.storage import store


def failing(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(file, monkeypatch, call):
    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError, match="No space left"):
        store.write(file, "test", {"new": 1}, {})
    monkeypatch.undo()
    assert read_or_refuse(file)
    assert os.listdir(file.parent) == [file.name]


def test_a_failure_in_the_middle_of_an_array(file, monkeypatch):
    real = zipfile.ZipFile.open

    def open_first(self, info, *args, **kwargs):
        if info.filename == "1.bin":
            raise KeyboardInterrupt
        return real(self, info, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "open", open_first)
    with pytest.raises(KeyboardInterrupt):
        store.write(file, "test", {}, {"a": np.zeros(100_000), "b": np.zeros(3)})
    monkeypatch.undo()
    assert read_or_refuse(file)
    assert os.listdir(file.parent) == [file.name]


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path, monkeypatch):
    real = os.fsync

    def files_only(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            failing()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", files_only)
    store.write(tmp_path / "f", "test", META, VALUES)
    assert read_or_refuse(tmp_path / "f")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on file sizes")
def test_no_room_for_real(file):
    """A limit on the size of files takes the place of a full disk."""
    script = (
        "import resource, sys, numpy as np\n"
        "from pasb.storage import store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    store.write(sys.argv[1], 'test', {}, {'a': np.ones(100_000)})\n"
        "except OSError as error:\n"
        "    print(type(error).__name__, error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["OSError", str(errno.EFBIG)]
    assert done.stderr == ""
    assert read_or_refuse(file)
    assert os.listdir(file.parent) == [file.name]


def test_write_says_where_it_cannot(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        store.write(tmp_path, "test", {}, {})
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        store.write(tmp_path / "none" / "f", "test", {}, {})
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and modes")
def test_links_and_modes_are_kept(file, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(file)
    file.chmod(0o600)
    store.write(link, "test", META, VALUES)
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_or_refuse(file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_not_replaced(tmp_path):
    """Nor devices, such as /dev/null for whoever may write to its folder."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="is a device, pipe or socket") as caught:
            store.write(tmp_path / name, "test", META, VALUES)
        assert caught.value.filename == str(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]
