"""Full disks and read-only folders: runs continue, or say what is wrong with the folder."""

from __future__ import annotations

import builtins
import errno
import json
import os
import random
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from tests.storage.disturbed_runs import (
    MODELS,
    SHORT,
    X,
    Y,
    assert_readable,
    assert_same,
    fit,
    named,
    segments,
)

from pasb.errors import CheckpointError, ConvergenceWarning
from pasb.storage import whole_file
from pasb.storage.checkpoint import Checkpoint

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning"),
    pytest.mark.usefixtures("often"),
]


# ---------------------------------------------------------------- disks


def failing_sometimes(monkeypatch, seed, number, share=0.5):
    """Let writes, syncs and renames below pasb fail at random, as on a full disk."""
    rng = random.Random(seed)

    def maybe(function):
        def call(*args, **kwargs):
            if rng.random() < share:
                raise OSError(number, os.strerror(number))
            return function(*args, **kwargs)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(whole_file.os, name, maybe(getattr(os, name)))
    opened = builtins.open

    def open_file(path, mode="r", *args, **kwargs):
        file = opened(path, mode, *args, **kwargs)
        if mode == "xb":  # a file of the store
            file = Flaky(file, maybe(file.write))
        return file

    monkeypatch.setattr(whole_file, "open", open_file, raising=False)


class Flaky:
    """A file whose writes may fail."""

    def __init__(self, file, write):
        self._file, self.write = file, write

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("name", MODELS)
def test_a_disk_that_is_full_now_and_then(name, whole, tmp_path, monkeypatch, seed, number):
    """The run continues with its draws in memory, and loses none of them on disk either."""
    folder = tmp_path / "run"
    for attempt in range(4):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            failing_sometimes(patch, seed + attempt, number, 0.1)
            try:
                model = fit(name, checkpoint=folder)
            except CheckpointError as error:  # no room for the first file
                named(error, folder)
                continue
        assert_same(model, whole[name])
        assert_readable(folder, whole[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_same(fit(name, checkpoint=folder), whole[name])


def test_a_disk_that_stays_full(whole, tmp_path, monkeypatch):
    """What was saved before stays readable; one warning tells that no more is."""
    folder = tmp_path / "run"
    fit(checkpoint=folder, callbacks=[lambda info: info.sweep >= 15])
    before = {path: path.read_bytes() for path in segments(folder)}
    with monkeypatch.context() as patch:
        failing_sometimes(patch, 0, errno.ENOSPC, 1.0)
        with pytest.warns(UserWarning, match="No space left on device") as caught:
            model = fit(checkpoint=folder)
    assert sum("could not be saved" in str(w.message) for w in caught) == 1
    assert_same(model, whole["logistic"])
    assert {path: path.read_bytes() for path in segments(folder)} == before
    assert_same(fit(checkpoint=folder), whole["logistic"])


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_no_room_for_a_new_run(tmp_path, monkeypatch, seed, share):
    folder = tmp_path / "run"
    for attempt in range(10):
        with monkeypatch.context() as patch:
            failing_sometimes(patch, seed + attempt, errno.ENOSPC, share)
            try:
                Checkpoint.open(folder, {"seed": 1}).close()
            except CheckpointError as error:
                named(error, folder, "No space left on device")
        shutil.rmtree(folder, ignore_errors=True)
    Checkpoint.open(folder, {"seed": 1}).close()


FORBIDDEN = """
import json, os, sys, warnings
import numpy as np
import pasb
from pasb.errors import CheckpointError
warnings.simplefilter("ignore")
class_name, settings, data, folder = json.loads(sys.argv[1])
table = np.load(data)
model = getattr(pasb, class_name)(**settings, checkpoint=folder)
model.set_params(checkpoint=None).fit(table["X"], table["Y"])  # all is imported and compiled
model.set_params(checkpoint=folder)
if os.getuid() == 0:
    os.setuid(65534)  # permissions do not bind the superuser
try:
    model.fit(table["X"], table["Y"])
except CheckpointError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
@pytest.mark.parametrize(("there", "forbidden"), [(True, "folder"), (False, "parent")])
def test_a_read_only_folder(whole, there, forbidden):
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        Path(place, "parent").mkdir()
        read_only(Path(place), whole, there, forbidden)


def read_only(place, whole, there, forbidden):
    folder, data = place / "parent" / "run", place / "data.npz"
    np.savez(data, X=X, Y=Y)
    if there:
        fit(checkpoint=folder, callbacks=[lambda info: info.sweep >= 15])
    else:
        folder.mkdir()
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    folder.parent.chmod(0o555 if forbidden == "folder" else 0o000)
    class_name, settings = MODELS["logistic"]
    argument = json.dumps([class_name, SHORT | settings, str(data), str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, argument], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Permission denied" in done.stdout
    assert str(folder) in done.stdout
    folder.parent.chmod(0o755)
    for place in places:
        place.chmod(0o755 if place.is_dir() else 0o644)
    if there:
        assert_readable(folder, whole["logistic"])
    assert_same(fit(checkpoint=folder), whole["logistic"])
