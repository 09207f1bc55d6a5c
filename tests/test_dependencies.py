"""What the package imports is what pyproject.toml declares, and the other way round."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MODULE_OF = {"scikit-learn": "sklearn", "cupy-cuda12x": "cupy", "numba-cuda": "numba_cuda"}
OPTIONAL = ("plots", "files", "formula", "dask", "cuda")  # what users install beside the core


def modules(requirements: Iterable[str]) -> set[str]:
    """Names under which requirements are imported."""
    names = {re.match(r"[\w-]+", text).group() for text in requirements}
    return {MODULE_OF.get(name, name.replace("-", "_")) for name in names}


def imported() -> set[str]:
    """Top-level modules that some file of the package imports, at whatever place."""
    names = set()
    for path in (ROOT / "src" / "pasb").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"pasb", "__future__", "cupyx"}  # of cupy


CORE = modules(PROJECT["dependencies"])
EXTRAS = {name: modules(PROJECT["optional-dependencies"][name]) for name in OPTIONAL}


def test_every_core_dependency_is_imported():
    assert not CORE - imported()


def test_every_import_is_declared():
    assert not imported() - CORE - set().union(*EXTRAS.values())


def test_no_dependency_is_declared_twice():
    for name, optional in EXTRAS.items():
        assert not optional & CORE, name
