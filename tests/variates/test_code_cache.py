"""Compiled code on disk: damage, races, kills, and folders that cannot be written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

SOURCE = """
from pasb.variates.code_cache import compiled, unsaved

@compiled(error_model="numpy")
def inner(x):
    return x * 2.0

@compiled(error_model="numpy")
def outer(x):
    return inner(x) + 1.0
"""


@pytest.fixture
def package(tmp_path):
    """A module with two kernels, in a folder of its own."""
    (tmp_path / "home").mkdir()
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "kernels.py").write_text(SOURCE)
    return tmp_path / "place"


def environment(package, **changes):
    home = str(package.parent / "home")
    paths = os.pathsep.join([str(package), *sys.path])
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    return {**kept, "HOME": home, "PYTHONPATH": paths, **changes}


CALL = """
import kernels
from kernels import inner, outer, unsaved
print(outer(3.0), sum(outer.stats.cache_hits.values()), len(unsaved))
"""


def run(package, code=CALL, **changes):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(package, **changes),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def files(folder):
    return sorted(path for path in Path(folder).rglob("*.nb[ic]"))


def test_code_is_kept(package):
    assert run(package) == ["7.0", "0", "0"]
    assert len(files(package)) == 4  # an index and code of each function
    assert run(package) == ["7.0", "1", "0"]


def test_every_damaged_file_is_replaced(package):
    run(package)
    for path in files(package):
        if "outer" not in path.name:
            continue  # not read, for its code is part of the other function
        sound = path.read_bytes()
        flipped = bytearray(sound)
        flipped[len(sound) // 2] ^= 16
        for broken in (bytes(flipped), sound[:-1], b""):
            path.write_bytes(broken)
            assert run(package) == ["7.0", "0", "0"]
            assert path.read_bytes() != broken
            assert run(package) == ["7.0", "1", "0"]


def test_code_of_another_signature_is_not_run(package):
    """Two processes may choose the same number for different signatures."""
    run(package)
    run(package, CALL.replace("outer(3.0)", "outer(3)"))
    first, second = [path for path in files(package) if path.match("*outer*.nbc")]
    shutil.copyfile(second, first)
    assert run(package) == ["7.0", "0", "0"]
    assert run(package) == ["7.0", "1", "0"]


def test_another_source_is_compiled_again(package):
    run(package)
    source = package / "kernels.py"
    source.write_text(SOURCE.replace("+ 1.0", "+ 2.0"))
    assert run(package) == ["8.0", "0", "0"]


def forbid(package):
    """Let nothing be written beside the source, not even by root."""
    (package / "__pycache__").write_text("")


def test_nothing_is_writable(package):
    forbid(package)
    assert run(package, HOME="/dev/null") == ["7.0", "0", "2"]


def test_no_home(package, monkeypatch):
    """The working folder got a folder called "~", of whoever has no home and no name."""
    forbid(package)
    monkeypatch.chdir(package.parent)
    before = sorted(package.parent.iterdir())
    assert run(package, HOME="~") == ["7.0", "0", "2"]
    assert sorted(package.parent.iterdir()) == before


def test_a_folder_of_ones_own(package):
    forbid(package)
    own = {"HOME": "/dev/null", "NUMBA_CACHE_DIR": str(package.parent / "cache")}
    assert run(package, **own) == ["7.0", "0", "0"]
    assert run(package, **own) == ["7.0", "1", "0"]


def test_code_of_the_installation_is_read_where_it_cannot_be_written(package):
    """As in a container whose image was built by another user."""
    run(package)
    code = f"""
    import tempfile
    real = tempfile.TemporaryFile
    def forbidden(*args, dir=None, **kwargs):
        if dir and str(dir).startswith({str(package)!r}):
            raise PermissionError(13, "read-only", dir)
        return real(*args, dir=dir, **kwargs)
    tempfile.TemporaryFile = forbidden
    """
    assert run(package, textwrap.dedent(code) + CALL) == ["7.0", "1", "0"]
    assert run(package, textwrap.dedent(code) + CALL, HOME="/dev/null") == ["7.0", "1", "0"]


def test_a_disk_that_is_full(package):
    code = """
    import builtins, errno
    real = builtins.open
    def full(path, *args, **kwargs):
        if ".tmp." in str(path):
            raise OSError(errno.ENOSPC, "no room", path)
        return real(path, *args, **kwargs)
    import numba.core.caching
    numba.core.caching.open = full
    """
    assert run(package, textwrap.dedent(code) + CALL) == ["7.0", "0", "2"]


def test_processes_at_the_same_time(package):
    both = [
        subprocess.Popen(
            [sys.executable, "-c", CALL], stdout=subprocess.PIPE, env=environment(package)
        )
        for _ in range(3)
    ]
    assert [process.communicate()[0].split()[0] for process in both] == [b"7.0"] * 3
    assert run(package) == ["7.0", "1", "0"]


def test_a_killed_process(package):
    """Killed at several moments; what it left is used or replaced."""
    for seconds in (0.5, 1.0, 2.0):
        process = subprocess.Popen([sys.executable, "-c", CALL], env=environment(package))
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert run(package)[0] == "7.0"
        for path in files(package)[::2]:
            path.unlink()
    (package / "__pycache__" / "kernels.outer-8.py311.nbi.tmp.0123").write_bytes(b"half")
    assert run(package)[0] == "7.0"
