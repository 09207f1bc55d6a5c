"""Options that make no sense are refused, before any work."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from pasb.cli import app


def pasb_run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--chains", 10**9], "--chains must lie between 1 and 10000; got 1000000000"),
        (["--draws", 10**12], "--draws must lie between 1 and 1000000000; got 1000000000000"),
        (["--warmup", 10**12], "--warmup must lie between 0 and 1000000000; got 1000000000000"),
        (["--thin", 10**12], "--thin must lie between 1 and 1000000000; got 1000000000000"),
        (["--seed", 2**32], "--seed must lie between 0 and 4294967295; got 4294967296"),
        (["--jobs", 10**6], "--jobs must be at most 1024 threads; got 1000000"),
        (["--model", "softplus", "--experts", 10**6], "--experts must lie between 1 and 1000"),
        (["--draws", 9 * 10**8], "even with two classes and no covariate, --draws 900000000"),
        (["--draws", 9 * 10**8, "--model", "svm"], "keep every few sweeps only (--thin)"),
    ],
)
def test_absurd_sizes_are_refused_before_a_table_is_read(monkeypatch, options, words):
    monkeypatch.setattr("pasb.sampling.draws.memory", lambda: 2**36)
    monkeypatch.setattr("pasb.cli.fitting.training_table", lambda *a: pytest.fail("read"))
    result = pasb_run("fit", "t.csv", "--target", "class", "--out", "x.pasb", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "n_draws" not in result.stderr


def test_draws_that_do_not_fit_are_refused_in_the_words_of_options(tmp_path, monkeypatch):
    """The table decides, as it has more columns and classes than the least there is."""
    rows = "".join(f"{k},{k % 7},{'abc'[k % 3]}\n" for k in range(60))
    (tmp_path / "t.csv").write_text("size,width,y\n" + rows)
    monkeypatch.setattr("pasb.sampling.draws.memory", lambda: 300 * 1000)
    arguments = ["--target", "y", "--out", tmp_path / "x.pasb", "--draws", 1000]
    result = pasb_run("fit", tmp_path / "t.csv", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --draws 1000 would take")
    assert "(--thin)" in result.stderr


def test_wrong_options_are_usage_errors():
    for options in (["--chains", "0"], ["--scheme", "wrong"], ["--nonsense"]):
        result = pasb_run("fit", "t.csv", "--target", "class", "--out", "x.pasb", *options)
        assert result.exit_code == 2
    assert pasb_run("fit", "t.csv").exit_code == 2
    assert pasb_run("nonsense").exit_code == 2
