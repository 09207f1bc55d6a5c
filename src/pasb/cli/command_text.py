"""Commands as a report prints them, so that they make it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

RUN_ONLY = ("jobs", "progress")  # they change no draw


def command_text(command: str, file: Path | None, options: Mapping[str, Any]) -> str:
    """A line for the shell.

    Parameters
    ----------
    command : str
        Such as "fit".
    file : Path, optional
        Its argument.
    options : dict
        By their names in Python. None and False are options that were not given; True, one without
        a value; a list, one given again and again.
    """
    parts = ["pasb", command, *([] if file is None else [_seen(file)])]
    for name, given in options.items():
        for value in given if isinstance(given, list) else [given]:
            if value is None or value is False:
                continue
            parts.append(f"--{name.replace('_', '-')}")
            if value is not True:
                parts.append(_seen(value) if isinstance(value, Path) else str(value))
    return shlex.join(parts)


def options_of(settings: Any) -> dict[str, Any]:
    """Fields of a dataclass of options that differ from their defaults."""
    chosen = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name not in RUN_ONLY and value != field.default and value != []:
            chosen[field.name] = value
    return chosen


def _seen(path: Path) -> str:
    """A path as seen from the folder where the command runs; only its name, if it is elsewhere."""
    if not path.is_absolute():
        return str(path)
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return path.name
