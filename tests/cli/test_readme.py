"""What README prints of a command is what the command prints."""

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
SCORES = re.compile(r"^held-out rows +error (\S+)%, log loss (\S+), calibration error (\S+)$", re.M)


def test_penguins(tmp_path, monkeypatch):
    """The command has a seed; on another processor numbers may round differently."""
    package = pytest.importorskip("palmerpenguins", reason="pip install '.[dev]'")
    shutil.copy(Path(package.__path__[0]) / "data/penguins-raw.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    told = CONSOLE.search((ROOT / "README.md").read_text("utf-8"))
    result = CliRunner().invoke(app, shlex.split(told["command"])[1:])
    assert result.exit_code == 0, result.output
    (promised,), (found,) = (SCORES.findall(text) for text in (told["printed"], result.output))
    assert [float(x) for x in found] == pytest.approx([float(x) for x in promised], abs=2e-3)
    words = " ".join(result.output.split())
    for line in SCORES.sub("", told["printed"]).splitlines():
        for piece in line.split("..."):  # what is left out
            assert " ".join(piece.strip(" ,;").split()) in words, (line, result.output)
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
