"""The demo, with few draws."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from pasb.cli import app, demo


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "deep" / "pictures"
    return CliRunner().invoke(app, ["demo", "--quick", "--out", str(out), "--traceback"]), out


def test_demo_prints_the_numbers(ran):
    result, _ = ran
    assert result.exit_code == 0, result.output
    for word in ("error", "log loss", "calibration", "R-hat", "effective sample size", "In words:"):
        assert word in result.output
    assert "LogisticRegression" in result.output
    assert "pasb fit" in result.output


def test_demo_draws_the_pictures(ran):
    import struct

    _, out = ran
    assert sorted(path.name for path in out.iterdir()) == sorted(demo.PICTURES)
    width, height = struct.unpack(">II", (out / "demo.png").read_bytes()[16:24])
    assert (width, height) == (1200, 420)


def test_demo_without_matplotlib_prints_the_numbers_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = CliRunner().invoke(app, ["demo", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "log loss" in result.output
    assert "pip install 'pasb[plots]'" in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())


def test_the_split_is_the_one_that_was_promised():
    task = demo.vehicle()
    assert (task.X_train.shape, task.X_test.shape) == ((592, 18), (254, 18))
    assert not set(task.X_train.index) & set(task.X_test.index)
