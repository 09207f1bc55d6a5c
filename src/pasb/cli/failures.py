"""Errors as users see them: one or two lines and an exit code, no traceback.

0 is success, 1 a computation that failed, 2 wrong usage or bad input, 3 a run that was stopped in
its warm-up, so that there are no draws, 130 a command that a signal stopped elsewhere.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from pasb.covariates.visible import visible
from pasb.errors import PasbError
from pasb.storage.whole_file import NOT_REGULAR, is_special

FAILED, REFUSED, STOPPED, INTERRUPTED = 1, 2, 3, 130


class UsageError(PasbError, ValueError):
    """Options or files that do not fit together."""


class NoDrawsError(PasbError, RuntimeError):
    """A run that was stopped before it had draws."""


@contextmanager
def reported(traceback: bool = False) -> Iterator[None]:
    """Turn errors into a message on stderr and an exit code, and SIGTERM into an interrupt.

    Parameters
    ----------
    traceback : bool
        Let errors through, to look for a bug.
    """
    try:
        with _terminable():
            yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:  # of a run that has chains, the run itself takes care
        typer.echo("Error: stopped before the work was done", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if traceback:
            raise
        typer.echo(f"Error: {visible(_message(error))}", err=True)
        raise typer.Exit(_code(error)) from None


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM, which batch systems send when time is up, stop a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set handlers
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _code(error: Exception) -> int:
    if isinstance(error, NoDrawsError):
        return STOPPED
    return REFUSED if _is_refusal(error) else FAILED


def _is_refusal(error: Exception) -> bool:
    """Whether the cause is what the user gave, not the computation."""
    import numpy as np

    if isinstance(error, ArithmeticError | np.linalg.LinAlgError | MemoryError):
        return False
    return isinstance(error, PasbError | ValueError | OSError | ImportError)


def _message(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {(error.strerror or text).lower()}"
    elif not _is_refusal(error):
        text = (
            f"the computation failed: {type(error).__name__}: {text.splitlines()[0]}\n"
            "Run the command again with --traceback to see where."
        )
    return text


def check_output(path: Path, force: bool) -> None:
    """Refuse, before any work is done, a path that cannot be written."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, e.g. {path / 'model.pasb'}")
    if is_special(path):
        raise UsageError(f"{path} {NOT_REGULAR}")
    if path.exists() and not force:
        raise UsageError(f"{path} exists already; overwrite it with --force or choose another name")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist; create it first")
