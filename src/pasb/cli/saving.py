"""Where results go: tried before the work, and not lost if it fails after all."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

import pasb
from pasb.cli.failures import FAILED, UsageError, check_output
from pasb.storage.whole_file import temporary_name


def check_writable(out: Path, force: bool, inputs: Iterable[Path], option: str = "--out") -> None:
    """Refuse, before any work is done, a file that cannot be written or is one that is read.

    Parameters
    ----------
    out : Path
        The file, which `option` names.
    force : bool
        Whether it may be there already.
    inputs : iterable of Path
        What is read.
    option : str
    """
    for path in inputs:
        if same_file(out, path):
            raise UsageError(f"{option} {out} is the file that is read; choose another name")
    check_output(out, force)
    trial = Path(os.path.realpath(out)).with_name(temporary_name())
    try:
        with open(trial, "xb") as file:
            file.write(bytes(4096))
    except OSError as error:
        raise UsageError(f"{option} {out} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # a folder that is read-only refuses even this
            trial.unlink()


def save_somewhere(model: Any, out: Path) -> tuple[Path | None, str]:
    """Save a model to `out`; if that fails, to some other place, so that the run is not lost.

    Returns
    -------
    path or None
        Where the model is; None if no place takes it.
    str
        Why it is not where it should be; empty if it is.
    """
    try:
        pasb.save(model, out)
        return out, ""
    except OSError as error:
        reason = error.strerror or str(error)
        name = f"{out.stem}-{secrets.token_hex(4)}.pasb"
        for place in (Path.cwd, Path.home, tempfile.gettempdir):
            try:
                other = Path(place()) / name
                pasb.save(model, other)
                return other, reason
            except (OSError, RuntimeError):  # the latter of a user without a home
                continue
        return None, reason


def refuse_elsewhere(saved: Path | None, out: Path, reason: str, checkpoint: Any) -> None:
    """End the command with an error if a model is not where it should be."""
    if not reason:
        return
    told = f"Error: {out} could not be written ({reason})"
    if saved is not None:
        told += f", so the model is in {saved} instead"
    elif checkpoint is not None:
        told += (
            f", nor could a file elsewhere. The draws are in the checkpoint {checkpoint}: the same "
            "command with another --out takes the model from there"
        )
    else:
        told += (
            ", nor could a file elsewhere, so the model is lost. With --checkpoint the draws are "
            "kept as they are made"
        )
    typer.echo(told, err=True)
    raise typer.Exit(FAILED)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not be there yet."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
