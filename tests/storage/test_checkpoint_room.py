"""A checkpoint on a full disk, or in a folder that cannot be written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
from tests.storage.checkpoint_folders import (
    FINGERPRINT,
    check,
    draws_of,
    fill,
    names,
    quiet_load,
    state_of,
)

from pasb.errors import CheckpointError
from pasb.storage import whole_file
from pasb.storage.checkpoint import Checkpoint


@pytest.mark.parametrize("call", ["replace", "fsync", "mkdir"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_failed_append_can_be_repeated(tmp_path, monkeypatch, call, number):
    def failing(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
        chain = 1 if call == "mkdir" else 0  # chain 1 has no folder yet
        monkeypatch.setattr(os, call, failing)
        with pytest.raises(CheckpointError, match="could not be saved at sweep 20") as caught:
            checkpoint.append(chain, 20, state_of(20), draws_of(5 - 5 * chain, 10))
        monkeypatch.undo()
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.__cause__.errno == number
        assert names(tmp_path) == ["00000000.pasb"]
        check(checkpoint.load(0), 10, 5)
        checkpoint.append(chain, 30, state_of(30), draws_of(5 - 5 * chain, 15))
    check(quiet_load(tmp_path, chain), 30, 15)


def test_an_interrupt_just_after_the_file_is_there(tmp_path, monkeypatch):
    """The caller cannot know that the draws are safe, and passes them again: none is doubled."""

    def interrupt(folder):
        raise KeyboardInterrupt

    fill(tmp_path, segments=1)
    with Checkpoint.open(tmp_path, FINGERPRINT) as checkpoint:
        checkpoint.load(0)
        monkeypatch.setattr(whole_file, "sync_folder", interrupt)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.append(0, 40, state_of(40), draws_of(5, 10))
        monkeypatch.undo()
        checkpoint.append(0, 50, state_of(50), draws_of(5, 15))
    check(quiet_load(tmp_path), 50, 15)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on file sizes")
def test_no_room_for_real(tmp_path):
    """A limit on the size of files takes the place of a full disk."""
    script = (
        "import resource, sys, numpy as np\n"
        "from pasb.storage.checkpoint import Checkpoint\n"
        "from pasb.errors import CheckpointError\n"
        "with Checkpoint.open(sys.argv[1], {'seed': 1}) as checkpoint:\n"
        "    checkpoint.append(0, 1, {}, {'a': np.ones((10, 10))})\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        checkpoint.append(0, 2, {}, {'a': np.ones((1000, 10))})\n"
        "    except CheckpointError as error:\n"
        "        print(error.__cause__.errno)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))\n"
        "    checkpoint.append(0, 3, {}, {'a': np.ones((1500, 10))})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(errno.EFBIG)]
    with Checkpoint.open(tmp_path, {"seed": 1}) as checkpoint:
        saved = checkpoint.load(0)
    assert (saved.sweep, saved.draws["a"].shape) == (3, (1510, 10))


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def failing(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(CheckpointError, match=r"cannot be written: .*Read-only file system"):
        Checkpoint.open(tmp_path / "f", FINGERPRINT)
    monkeypatch.undo()
    fill(tmp_path / "f")  # the failure left neither a lock nor a half-made folder
