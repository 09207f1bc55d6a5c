"""The limit of memory for a table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pasb.covariates.free_memory import GIB, free_bytes, memory_limit


def test_half_of_what_is_free():
    assert 0 < memory_limit() <= free_bytes()


def test_the_variable_sets_another(monkeypatch):
    monkeypatch.setenv("PASB_MEMORY", "0.25")
    assert memory_limit() == GIB // 4


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", ""])
def test_impossible_values(monkeypatch, text):
    monkeypatch.setenv("PASB_MEMORY", text)
    with pytest.raises(ValueError, match="PASB_MEMORY must be a number of GiB"):
        memory_limit()


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of the address space")
def test_the_limit_of_the_process_counts():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29)); "
        "from pasb.covariates.free_memory import free_bytes; print(free_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2**29
