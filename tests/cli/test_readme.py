"""The figures that README prints of a command are those of the command."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pasb.cli import app

ROOT = Path(__file__).parents[2]
CONSOLE = re.compile(
    r"^\$ (?P<command>pasb fit penguins-raw\.csv [^\n]*)$(?P<printed>.*?)^\$", re.M | re.S
)
FIGURES = re.compile(r"^held-out rows +error .*$", re.M)


@pytest.mark.slow
def test_penguins(tmp_path, monkeypatch):
    """Deterministic: the command has a seed."""
    package = pytest.importorskip("palmerpenguins", reason="pip install '.[bench]'")
    shutil.copy(Path(package.__path__[0]) / "data/penguins-raw.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    told = CONSOLE.search((ROOT / "README.md").read_text("utf-8"))
    result = CliRunner().invoke(app, shlex.split(told["command"])[1:])
    assert result.exit_code == 0, result.output
    promised = FIGURES.findall(told["printed"])
    assert len(promised) == 1
    assert FIGURES.findall(result.output) == promised, result.output
