"""The report of the benchmarks: what fails must not take the other figures with it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def report():
    spec = importlib.util.spec_from_file_location("report", FOLDER / "report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fails():
    raise RuntimeError("no such luck")


def test_a_failed_part_does_not_lose_the_others(report, tmp_path, capsys):
    parts = {
        "before": lambda: {"a": 1.0},
        "broken": fails,
        "after": lambda: {"case 1": {"ms": 2.0, "ratio": 3.0}, "case 2": {"ms": 4.0, "ratio": 5.0}},
    }
    path = tmp_path / "new" / "figures.json"
    with pytest.raises(SystemExit, match="broken"):
        report.write(parts, list(parts), to=path, expected=dict.fromkeys(parts, 80.0))
    written = json.loads(path.read_text())
    assert written["before"] == {"a": 1.0}
    assert written["after"]["case 2"] == {"ms": 4.0, "ratio": 5.0}
    assert "no such luck" in written["broken"]["status"]
    table, progress = capsys.readouterr()
    assert table.count("ratio") == 1  # one heading for both cases
    assert "3 parts, about 4 min in all" in progress
    assert "[3/3] after" in progress


def test_an_interruption_keeps_what_was_measured(report, tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    path = tmp_path / "figures.json"
    with pytest.raises(KeyboardInterrupt):
        report.write({"one": lambda: {"a": 1.0}, "two": interrupted}, ["one", "two"], to=path)
    assert json.loads(path.read_text())["one"] == {"a": 1.0}


def test_compare_takes_the_figures_that_both_have(report):
    old = {"commit": "abc", "part": {"case": {"ms": 4.0, "gone": 1.0}, "none": 0.0}}
    new = {"commit": "def", "part": {"case": {"ms": 2.0, "added": 1.0}, "none": 1.0}}
    compared = report.compare(old, new)
    assert set(compared) == {("part", "case", "ms"), ("part", "none")}
    assert compared["part", "case", "ms"] == (4.0, 2.0, 0.5)
    assert compared["part", "none"][2] != compared["part", "none"][2]


def test_unknown_part_is_named(report, tmp_path):
    with pytest.raises(SystemExit, match="unknown: other; there are one"):
        report.write({"one": dict}, ["other"], to=tmp_path / "figures.json")
