"""The demo, with few draws; and what README and start page say of it."""

from __future__ import annotations

import json
import re
import struct
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pasb.cli import app, demo

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "deep" / "pictures"
    return CliRunner().invoke(app, ["demo", "--quick", "--out", str(out), "--traceback"]), out


def test_demo_prints_the_numbers(ran):
    result, _ = ran
    assert result.exit_code == 0, result.output
    for word in ("error", "log loss", "calibration", "seconds", "R-hat", "split off"):
        assert word in result.output
    for name in demo.contenders(quick=True):
        assert name.split(",")[0] in result.output
    assert "report.html" in result.output
    assert "pasb fit" in result.output


def test_demo_writes_report_and_picture(ran):
    _, out = ran
    expected = sorted([*demo.PICTURES, *demo.FILES])
    assert sorted(path.name for path in out.iterdir()) == expected
    width, height = struct.unpack(">II", (out / "demo.png").read_bytes()[16:24])
    assert (width, height) == (1200, 420)
    page = (out / "report.html").read_text("utf-8")
    assert "Which vehicle is this?" in page
    assert "pasb demo --out pictures --quick" in page


def test_demo_without_matplotlib_prints_the_numbers_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(demo, "ModelReport", NoReport)
    result = CliRunner().invoke(app, ["demo", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "log loss" in result.output
    assert "pip install 'pasb[plots]'" in " ".join(result.output.split())
    assert not (tmp_path / "demo.png").exists()


class NoReport:
    """In the place of a report that another test looks at."""

    def __init__(self, *arguments, **options):
        pass

    def write_html(self, path):
        path.write_text("")


def test_the_split_is_the_one_that_was_promised():
    task = demo.vehicle()
    assert (task.X_train.shape, task.X_test.shape) == ((592, 18), (254, 18))
    assert not set(task.X_train.index) & set(task.X_test.index)


@pytest.mark.parametrize("name", ["README.md", "docs/site/index.md"])
def test_figures_are_those_that_the_demo_made(name):
    """`make demo` writes figures.json; docs/images/demo.json is a copy of it."""
    figures = json.loads((ROOT / "docs/images/demo.json").read_text("utf-8"))
    text = (ROOT / name).read_text("utf-8")
    lines = re.findall(r"^\| (?:\*\*)?([^|*]+?)(?:\*\*)? \| ([\d.]+) % \| ([\d.]+) \|", text, re.M)
    assert {line[0] for line in lines} == set(figures)
    for label, error, loss in lines:
        assert f"{100 * figures[label]['error']:.1f}" == error, label
        assert f"{figures[label]['log_loss']:.3f}" == loss, label
    assert "make demo" in text


@pytest.mark.slow
def test_the_demo_makes_these_figures_again(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    kept = json.loads((ROOT / "docs/images/demo.json").read_text("utf-8"))
    made = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    for name, figures in kept.items():
        assert made[name] == pytest.approx(figures, abs=2e-3), name
