"""Of two runs in one checkpoint folder the second is refused, whatever becomes of the first."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading

import pytest
from tests.storage.checkpoint_folders import (
    FINGERPRINT,
    draws_of,
    state_of,
)

from pasb.errors import CheckpointError
from pasb.storage.checkpoint import Checkpoint

HOLDER = (
    "import sys, time\n"
    "from pasb.storage.checkpoint import Checkpoint\n"
    "checkpoint = Checkpoint.open(sys.argv[1], {'seed': 7})\n"
    "print('open', flush=True)\n"
    "sys.stdin.read()\n"
    "checkpoint.close()\n"
)


@pytest.fixture
def holder(tmp_path):
    """Start another process that has the folder open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "open\n"
    yield process
    process.kill()
    process.communicate()


def test_two_runs_in_one_process(tmp_path):
    with Checkpoint.open(tmp_path, FINGERPRINT):
        with pytest.raises(CheckpointError, match=f"another run is using .*process {os.getpid()}"):
            Checkpoint.open(tmp_path, FINGERPRINT)
        # The refusal must not have released the lock of the first.
        with pytest.raises(CheckpointError, match="another run is using"):
            Checkpoint.open(tmp_path, FINGERPRINT)
    Checkpoint.open(tmp_path, FINGERPRINT).close()


def test_two_processes(tmp_path, holder):
    with pytest.raises(CheckpointError, match=f"another run is using .*process {holder.pid} on"):
        Checkpoint.open(tmp_path, {"seed": 7})
    assert Checkpoint.peek(tmp_path) == {"seed": 7}  # looking is allowed
    holder.communicate("")
    assert holder.returncode == 0
    Checkpoint.open(tmp_path, {"seed": 7}).close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_the_lock_ends_with_its_process(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    Checkpoint.open(tmp_path, {"seed": 7}).close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(tmp_path, monkeypatch, number):
    def unsupported(*args):
        raise OSError(number, os.strerror(number))

    import fcntl

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.warns(RuntimeWarning, match="cannot be locked on this file system") as caught:
        checkpoint = Checkpoint.open(tmp_path, FINGERPRINT)
    assert caught[0].filename == __file__
    checkpoint.append(0, 10, state_of(10), draws_of(0, 5))
    checkpoint.close()


def test_the_lock_may_be_released_in_another_thread(tmp_path):
    checkpoint = Checkpoint.open(tmp_path, FINGERPRINT)
    thread = threading.Thread(target=checkpoint.close)
    thread.start()
    thread.join()
    Checkpoint.open(tmp_path, FINGERPRINT).close()


FORKING = """
import os, signal, sys, time
from pasb.storage.checkpoint import Checkpoint
checkpoint = Checkpoint.open(sys.argv[1], {"seed": 7})
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
if sys.argv[2] == "closed":
    checkpoint.close()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_forked_process_does_not_keep_the_lock(tmp_path, end):
    command = [sys.executable, "-c", FORKING, str(tmp_path), end]
    child = int(subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout)
    try:
        os.kill(child, 0)  # it is alive
        Checkpoint.open(tmp_path, {"seed": 7}).close()
    finally:
        os.kill(child, signal.SIGKILL)


def test_an_exception_releases_the_lock(tmp_path):
    with pytest.raises(KeyboardInterrupt), Checkpoint.open(tmp_path, FINGERPRINT):
        raise KeyboardInterrupt
    Checkpoint.open(tmp_path, FINGERPRINT).close()
