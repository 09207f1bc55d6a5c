"""Benchmarks and calibration import names of the package that exist; nothing else runs them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path for folder in ("benchmarks", "calibration") for path in (ROOT / folder).glob("*.py")
)


def source_of(module: str) -> Path | None:
    path = ROOT.joinpath("src", *module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def names_in(module: Path) -> set[str]:
    """What a module defines or imports, also under a condition; its text where it loads lazily."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(own.asname or own.name).split(".")[0] for own in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # of public names that are loaded on first use
    return names


@pytest.mark.parametrize("path", SCRIPTS, ids=[f"{p.parent.name}.{p.stem}" for p in SCRIPTS])
def test_imported_names_exist(path):
    missing = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("pasb"):
            continue
        module = source_of(node.module)
        if module is None:
            missing.append(node.module)
            continue
        known = names_in(module)
        missing += [
            f"{node.module}.{own.name}"
            for own in node.names
            if own.name not in known and source_of(f"{node.module}.{own.name}") is None
        ]
    assert not missing
