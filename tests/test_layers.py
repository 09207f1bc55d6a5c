"""The shape of the package: layers that point one way, small files, one meaning a name.

The order of the layers is in pyproject.toml, as a contract of import-linter.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pasb"
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 400
MOST_AT_THE_TOP = 12
# of Numba, CuPy and scikit-learn, which have no public name for it
OF_LIBRARIES = {"_impl_class", "_locator_classes", "_cache", "_source_stamp", "_ary"}
OF_LIBRARIES |= {"_sklearn_output_config"}
# what several layers do with one thing, each of which tests its own part
OF_EVERY_LAYER = {"test_availability", "test_rows_elsewhere", "test_stacked"}
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}  # public methods of named tuples


def test_the_contract_of_the_layers(capsys, monkeypatch):
    # the linter would disable all loggers of this process
    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)
    status = lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


def test_no_cycle_between_folders():
    """By reading the sources, imports within functions included."""
    needs: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        folder = part_of(".".join(("pasb", *path.relative_to(PACKAGE).with_suffix("").parts)))
        needs[folder] |= {part_of(name) for name in imports(ast.parse(path.read_text("utf-8")))}
        needs[folder].discard(folder)
    try:
        TopologicalSorter({folder: sorted(needs[folder]) for folder in sorted(needs)}).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_no_long_file():
    """Tests, benchmarks and tools are files that people read, too."""
    folders = ("benchmarks", "calibration", "docs", "examples", "reproduction", "src", "tests")
    sources = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(sources) > 2 * len(FILES)
    long = {
        str(path.relative_to(ROOT)): n
        for path in sources
        if (n := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    }
    assert not long, f"above {MOST_LINES} lines: {long}"


def test_few_modules_at_the_top():
    top = [path.name for path in FILES if path.parent == PACKAGE]
    assert len(top) <= MOST_AT_THE_TOP, top


def test_tests_mirror_the_package():
    """Each folder of the package has tests of its own, and no other folder has any."""
    tested = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert tested == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_a_test_file_is_beside_those_of_its_module():
    """Where one carries the name of a module, or it says what of its own folder it is about."""
    where = {path.stem: path.parent.name for path in FILES if path.parent.parent == PACKAGE}
    for path in (ROOT / "tests").glob("*/test_*.py"):
        own = where.get(path.stem.removeprefix("test_"), path.parent.name)
        assert own == path.parent.name or path.stem in OF_EVERY_LAYER, path.relative_to(ROOT)


def test_no_test_file_needs_another():
    """What several of them use is in modules beside them, or in a conftest: each runs alone."""
    for path in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "reproduction").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                assert not [part for part in parts if part.startswith("test_")], path


def test_every_module_has_a_name_of_its_own():
    counts = Counter(path.stem for path in FILES if path.name != "__init__.py")
    twice = {
        name: [str(path.relative_to(PACKAGE)) for path in FILES if path.stem == name]
        for name, count in counts.items()
        if count > 1
    }
    assert not twice, f"the same name twice: {twice}"


def test_no_private_name_is_imported():
    found = [
        f"{path.relative_to(PACKAGE)}: {alias.name} of {node.module}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pasb")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_private_attribute_of_another_object(path):
    """But for estimators, whose private methods belong to all files of `classifiers`."""
    tree = ast.parse(path.read_text("utf-8"))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    defined |= {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    found = []
    for node in ast.walk(tree):  # by their name in quotes
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr")):
            continue
        if isinstance(node.args[1], ast.Constant):
            of, name = ast.unparse(node.args[0]), ast.literal_eval(node.args[1])
            private = name.startswith("_") and not name.startswith("__")
            if private and of != "self" and name not in OF_LIBRARIES:
                found.append(f"line {node.lineno}: {of}.{name}")
    for node in attributes:
        if not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        of = ast.unparse(node.value)
        own = of in ("self", "cls", "super()") or node.attr in defined
        if not own and node.attr not in OF_TUPLES | OF_LIBRARIES:
            found.append(f"line {node.lineno}: {of}.{node.attr}")
    assert not found or path.parent.name == "classifiers"


@pytest.mark.parametrize(
    ("folder", "above"),
    [
        ("posterior", ("classifiers", "plots", "report", "cli")),
        ("covariates", ("posterior", "classifiers", "plots", "report", "cli")),
    ],
)
def test_layers(folder, above):
    for path in (PACKAGE / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            named += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for name in named:
                assert not name.startswith(tuple(f"pasb.{layer}" for layer in above)), path


def is_module(name: str) -> bool:
    """Whether the package has such a folder or file at its top."""
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()


def part_of(module: str) -> str:
    """The folder or top module that holds a module; "" for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__init__" else ""


def imports(tree: ast.AST) -> Iterator[str]:
    """Modules of pasb that a source imports, those for type checkers left out.

    Of `from pasb import ...` only folders and modules count; classes load lazily.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("pasb."))
        elif isinstance(node, ast.ImportFrom) and node.module == "pasb":
            yield from (f"pasb.{alias.name}" for alias in node.names if is_module(alias.name))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pasb."):
            yield node.module or ""
        yield from imports(node)
