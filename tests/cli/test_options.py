"""Options that make no sense are refused, before any work."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from pasb.cli import app


def pasb_run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--chains", 10**9], ("--chains", "10000", "Got 1000000000")),
        (["--draws", 10**12], ("--draws", "1000000000", "Got 1000000000000")),
        (["--jobs", 10**6], ("--jobs must be at most 1024 threads; got 1000000",)),
        (["--model", "softplus", "--experts", 10**6], ("--experts", "1000", "Got 1000000")),
    ],
)
def test_absurd_sizes_are_refused_before_a_table_is_read(monkeypatch, options, parts):
    monkeypatch.setattr("pasb.cli.fitting.training_table", lambda *a: pytest.fail("read"))
    result = pasb_run("fit", "t.csv", "--target", "class", "--out", "x.pasb", *options)
    assert result.exit_code == 2
    for part in parts:
        assert part in result.stderr


def test_wrong_options_are_usage_errors():
    for options in (["--chains", "0"], ["--scheme", "wrong"], ["--nonsense"]):
        result = pasb_run("fit", "t.csv", "--target", "class", "--out", "x.pasb", *options)
        assert result.exit_code == 2
    assert pasb_run("fit", "t.csv").exit_code == 2
    assert pasb_run("nonsense").exit_code == 2
