"""The website without building it: the reference is complete, pages and gallery are sound."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import pasb
from pasb import cli

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "site"
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


def module(name):
    """A module of docs/site, which is no package."""
    sys.path.insert(0, str(SITE))
    try:
        spec = importlib.util.spec_from_file_location(name, SITE / f"{name}.py")
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded
    finally:
        sys.path.remove(str(SITE))


@pytest.fixture(scope="module")
def reference():
    return module("reference")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The sources of the site, put together."""
    folder = tmp_path_factory.mktemp("site") / "source"
    module("build").assemble(folder)
    return folder


def test_every_public_name_is_in_the_reference(reference, source):
    listed = {name for _, names in reference.GROUPS.values() for name in names}
    assert listed == set(reference.public_names()["pasb"])
    assert set(reference.MODULES) == set(pasb.__all__) - listed
    index = (source / "reference" / "index.rst").read_text("utf-8")
    for path, names in reference.public_names().items():
        for name in names:
            shared = path != "pasb" and name in listed
            page = f"pasb.{name}" if shared else f"{path}.{name}"
            assert f"<{page}>`" in index, page
            assert (source / "reference" / f"{page}.rst").exists()


def test_what_users_get_back_has_a_page(reference, source):
    """Classes that public functions and methods return, or that attributes hold."""
    pages = {page.rpartition(".")[2] for page in reference.RETURNED}
    public = {name for names in reference.public_names().values() for name in names}
    assert not pages & public
    index = (source / "reference" / "index.rst").read_text("utf-8")
    for page, origin in reference.RETURNED.items():
        assert f"<{page}>`" in index
        assert f"{origin}." in index
        assert "autoclass" in (source / "reference" / f"{page}.rst").read_text("utf-8")
    own = classes_of_the_package()
    for path, names in reference.public_names().items():
        if path in FOR_AUTHORS:
            continue
        for name in names:
            value = getattr(importlib.import_module(path), name)
            for what in received(reference, value):
                assert what not in own - pages - public - PARTS, (name, what)


FOR_AUTHORS = ("pasb.binary", "pasb.orders", "pasb.sticks")  # of binary models and engines
# engines and samplers hand these to each other
PARTS = {
    *("BinarySampler", "Choices", "CoefficientPrior", "ColumnPriors", "PenalisedFits"),
    "Workshop",
}


def classes_of_the_package():
    """Names of all classes of the package, but for those of the command line."""
    found = set()
    home = ROOT / "src" / "pasb"
    for path in set(home.rglob("*.py")) - set((home / "cli").rglob("*.py")):
        found |= set(re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE))
    return found


def received(reference, value):
    """Names in what a function returns; of a class, in its methods' and its attributes too."""
    if not inspect.isclass(value):
        return re.findall(r"\w+", str(getattr(value, "__annotations__", {}).get("return")))
    if issubclass(value, pasb.binary.BinaryModel):
        return []
    kept = inspect.getdoc(value).partition("Attributes\n")[2].partition("\n\n")[0]
    found = re.findall(r"\w+", " ".join(re.findall(r"^\w.* : (.*)$", kept, re.MULTILINE)))
    for name in reference.own_members(value):
        member = getattr(value, name)
        inner = inspect.unwrap(member.fget if isinstance(member, property) else member)
        found += re.findall(r"\w+", str(getattr(inner, "__annotations__", {}).get("return")))
    return found


def test_every_public_name_has_an_example(reference):
    """That doctests run. Of errors the root has one; the others are caught in the same way."""
    for path, names in reference.public_names().items():
        for name in names:
            value = getattr(importlib.import_module(path), name)
            if path != "pasb.errors" or name in ("PasbError", "ConvergenceWarning"):
                assert ">>>" in (inspect.getdoc(value) or ""), f"{path}.{name}"


def test_every_command_has_its_options_in_the_reference(source):
    page = (source / "reference" / "command_line.rst").read_text("utf-8")
    app = get_command(cli.app)
    assert {"fit", "predict", "report"} <= set(app.commands)
    for name, command in app.commands.items():
        text = page.split(f"\npasb {name}\n---")[1].split("\n---")[0]
        for option in command.params:
            if not option.hidden and option.opts[0].startswith("-"):
                assert option.opts[0] in text, (name, option.opts)
    assert "--traceback" not in page  # hidden


def test_classifiers_show_their_methods(reference):
    members = reference.own_members(pasb.StickLogisticClassifier)
    assert {"fit", "predict_frame", "report", "order_in_words", "posterior_"} <= set(members)
    assert "set_fit_request" not in members  # scikit-learn's own


def test_pages_lead_to_pages(source):
    """Links of pages to pages; those into the gallery and reference are checked by the build."""
    pages = {path.relative_to(source).as_posix() for path in source.rglob("*.md")}
    for page in pages:
        text = (source / page).read_text("utf-8")
        for target in re.findall(r"(?<!!)\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", text):
            there = (Path(page).parent / target).as_posix()
            parts: list[str] = []
            for part in there.split("/"):
                if part == "..":
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            assert "/".join(parts) in pages, (page, target)


def test_dead_links_are_found(tmp_path):
    """In the built site: pages, anchors, pictures, and scripts that need a network."""
    pages = {
        "index.html": '<a class="x" href="a/b.html#there">1</a><img alt="" src="a/p.png?v=2">',
        "a/b.html": '<p id="there"></p><a href="../index.html">1</a><a href="#gone">2</a>'
        '<a href="no.html">3</a><img src="no.png"><a href="https://x.org/">4</a>'
        '<script src="https://x.org/y.js"></script><link rel="icon" href="no.ico">',
    }
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "p.png").touch()
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    dead, elsewhere = module("build").dead_links(tmp_path)
    lost = {"#gone", "no.html", "no.png", "no.ico", "https://x.org/y.js"}
    assert set(dead) == {f"a/b.html -> {target}" for target in lost}
    assert elsewhere == 2


def test_every_page_is_in_a_table_of_contents(source):
    named = set()
    for path in source.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
            here = path.parent.relative_to(source)
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    named.add((source / here / line).resolve())
    for path in source.glob("**/*.md"):
        if path.name != "index.md":
            assert path.with_suffix("").resolve() in named, path.name


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_scripts_are_sound(path):
    tree = ast.parse(path.read_text("utf-8"))
    title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    for node in ast.walk(tree):  # what they import from the package is there
        if isinstance(node, ast.ImportFrom) and node.module == "pasb":
            for alias in node.names:
                assert hasattr(pasb, alias.name), alias.name


def test_pages_show_what_their_python_says():
    page = (
        "Before.\n\n```python\nn = 2\nprint('now')\n```\nBetween.\n\n```python\nn + 1\nNone\n```\n"
    )
    page += "```python\nimport os\nos.listdir()\n```\n```sh\nls\n```\n```python\nm = 1\n```\n"
    shown = module("page_outputs").with_outputs(page, "a page")
    assert "```\n\n```text\nnow\n```\nBetween." in shown
    assert "None\n```\n\n```text\n3\n```\n" in shown
    assert shown.count("```text\n[]\n```") == 1  # of an empty folder
    assert shown.count("```text") == 3
    with pytest.raises(NameError, match="gone"):
        module("page_outputs").with_outputs("```python\ngone\n```\n", "a page")


def test_outputs_are_short_and_of_text():
    page = "```python\nfrom sklearn.linear_model import LogisticRegression\nLogisticRegression()\n"
    page += "for k in range(99):\n    print(k)\nprint('a word and ' * 20)\n```\n"
    shown = module("page_outputs").with_outputs(page, "a page").split("```text\n")[1]
    assert shown.startswith("0\n1\n")
    assert shown.endswith("19\n...\n```\n")
    page = "```python\nprint('a word and ' * 20)\n```\n"
    shown = module("page_outputs").with_outputs(page, "a page")
    assert max(map(len, shown.splitlines())) <= 88


def test_examples_of_docstrings_are_run_by_the_build(tmp_path, monkeypatch):
    doctests = module("doctests")
    assert {"pasb.plots.maps", "pasb.sticks"} <= set(doctests.modules_with_examples())
    (tmp_path / "right_example.py").write_text('"""Sum.\n\n>>> 1 + 1\n2\n"""\n')
    (tmp_path / "wrong_example.py").write_text('"""Sum.\n\n>>> 1 + 1\n3\n"""\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert doctests.failures(["right_example"]) == []
    assert "Expected:\n    3" in doctests.failures(["wrong_example", "right_example"])[0]


TOPICS = (  # what visitors look for, each an example of its own
    *("calibration", "checkpoint", "choice", "compare", "dask", "effects", "gpu", "intervals"),
    *("kernel_machine", "messy_table", "nonlinear", "order", "own_model", "robit", "serving"),
    "stacked",
)


def test_the_gallery_is_large_enough():
    assert {f"plot_{topic}" for topic in TOPICS} <= {path.stem for path in GALLERY}
    assert f"gallery of {len(GALLERY)} examples" in (ROOT / "README.md").read_text("utf-8")


def test_footnotes_are_defined_once(source):
    """Twice is an error of the build."""
    for path in source.rglob("*.md"):
        labels = re.findall(r"^\[\^([^\]]+)\]:", path.read_text("utf-8"), re.MULTILINE)
        assert len(labels) == len(set(labels)), path.name


@pytest.mark.parametrize(
    "path", sorted([SITE / "first_fit.md", *(SITE / "howto").glob("*.md")]), ids=lambda p: p.stem
)
def test_python_of_pages_compiles(path):
    for block in re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL):
        compile(block, str(path), "exec")


def test_citation():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version: {pasb.__version__}" in text
    assert "Zhou" in text
