"""Commands as a user types them, with few sweeps, and what they say."""

from __future__ import annotations

from typer.testing import CliRunner

from pasb.cli import app

FEW = ["--chains", "2", "--warmup", "30", "--draws", "30", "--seed", "1", "--no-progress"]


def pasb_run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flat(text: str) -> str:
    return " ".join(text.split())


def failed(result, *parts: str, code: int = 2) -> None:
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    for part in parts:
        assert part in result.stderr, result.stderr
