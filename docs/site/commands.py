"""The page of the command line: every command with its arguments and options, as it knows them."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

import typer

TITLE = "Command line"


def write_commands(path: Path) -> None:
    """Write the page."""
    from pasb.cli import app

    group: Any = typer.main.get_command(app)
    lines = [TITLE, "=" * len(TITLE), "", _plain(group.help), ""]
    lines += ["``pasb COMMAND --help`` says the same. :doc:`/guide` has examples.", ""]
    for name, command in group.commands.items():
        if not command.hidden:
            lines += _command(name, command)
    path.write_text("\n".join(lines), "utf-8")


def _command(name: str, command: Any) -> list[str]:
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if not one.opts[0].startswith("-")]
    usage = " ".join(
        ["pasb", name, *(_called(one) for one in arguments), *_needed(shown, arguments)]
    )
    title = f"pasb {name}"
    lines = [title, "-" * len(title), "", _plain(command.help), "", ".. code-block:: sh", ""]
    lines += [f"   {usage} ...", "", ".. list-table::", "   :widths: 34 66", ""]
    for one in shown:
        lines += [f"   * - ``{_called(one)}``", f"     - {_about(one)}"]
    return [*lines, ""]


def _needed(shown: list[Any], arguments: list[Any]) -> list[str]:
    """Options without which the command does not run."""
    return [_called(one) for one in shown if one.required and one not in arguments]


def _called(one: Any) -> str:
    """An argument in capitals; an option with a word for its value."""
    if not one.opts[0].startswith("-"):
        return (one.metavar or one.name).upper()
    names = " / ".join([*one.opts, *one.secondary_opts])
    return names if one.is_flag else f"{names} {one.metavar or one.name.upper()}"


def _about(one: Any) -> str:
    text = _plain(one.help)
    default = one.default.value if isinstance(one.default, Enum) else one.default
    if one.required:
        return f"{text} Required."
    told = "default" in text or isinstance(default, bool)
    if isinstance(default, str | int | float) and not told:
        return f"{text} By default ``{default}``."
    return text


def _plain(text: str | None) -> str:
    """Help as reStructuredText: what it quotes as code, as code."""
    return (text or "").replace("*", r"\*").replace("`", "``")
