"""Examples of docstrings, which the reference shows, run as they stand."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import warnings

from empty_folder import empty_folder

import pasb

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def failures(names: list[str]) -> list[str]:
    """What examples of these modules say that they should not, each module in an empty folder."""
    found = []
    for name in names:
        said = io.StringIO()
        with (
            empty_folder(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(io.StringIO()),  # progress
        ):
            warnings.simplefilter("ignore")
            doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
        if said.getvalue():
            found.append(said.getvalue())
    return found


def modules_with_examples() -> list[str]:
    """Modules of the package that hold an example."""
    found = []
    for module in pkgutil.walk_packages(pasb.__path__, "pasb."):
        spec = importlib.util.find_spec(module.name)
        if spec is not None and spec.origin is not None:
            with open(spec.origin, encoding="utf-8") as file:
                if ">>> " in file.read():
                    found.append(module.name)
    return found
