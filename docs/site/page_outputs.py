"""Python of a page is run as it stands, and what it says is shown below it."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import textwrap
import warnings
from typing import Any

import numpy as np
import pandas as pd
from empty_folder import empty_folder
from sklearn.base import BaseEstimator

BLOCK = re.compile(r"```python\n(.*?)```\n", re.DOTALL)
MOST_LINES = 20  # of what a block says
WIDTH = 88
TABLES = ("display.width", WIDTH, "display.max_columns", 20, "display.max_rows", 10)
NUMBERS = ("display.float_format", "{:.3f}".format)


def with_outputs(text: str, name: str) -> str:
    """A page with the output of its Python blocks, which share names and an empty folder.

    What is printed is shown, and the values of expressions as an interpreter shows them, but for
    models and pictures. A page whose code fails raises its error.
    """
    names: dict[str, Any] = {"__name__": "page"}

    def one(found: re.Match) -> str:
        said = _run(found.group(1), names, name)
        return found.group(0) + (f"\n```text\n{said}\n```\n" if said else "")

    with (
        empty_folder(),
        warnings.catch_warnings(),
        pd.option_context(*TABLES, *NUMBERS),
        np.printoptions(precision=3, suppress=True),
    ):
        warnings.simplefilter("ignore")
        return BLOCK.sub(one, text)


def _run(code: str, names: dict[str, Any], name: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for node in ast.parse(code, name).body:
            if not isinstance(node, ast.Expr):
                exec(compile(ast.Module([node], []), name, "exec"), names)
                continue
            value = eval(compile(ast.Expression(node.value), name, "eval"), names)
            if value is not None and not _is_no_text(value):
                print(value if isinstance(value, pd.DataFrame) else repr(value))
    lines = [part for line in said.getvalue().rstrip().splitlines() for part in _wrapped(line)]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = ["..."]
    return "\n".join(lines)


def _wrapped(line: str) -> list[str]:
    """Sentences in lines that a page has room for; lines of tables, with gaps, as they are."""
    return [line] if "  " in line else textwrap.wrap(line, WIDTH) or [""]


def _is_no_text(value: Any) -> bool:
    """Models, whose text is their settings, and pictures."""
    kind = type(value)
    drawn = any(base.__module__.startswith("matplotlib.") for base in kind.__mro__)
    return isinstance(value, BaseEstimator) or drawn
