"""The Python in README and guide runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pasb.covariates.encoder_report import CATEGORIES, DAYS, LEFT_OUT, NUMBERS, TRUTHS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "name", ["README.md", "docs/guide.md", "docs/choice.md", "docs/ensembles.md"]
)
def test_python_blocks_run(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    import long_pages

    text = (ROOT / name).read_text("utf-8")
    assert long_pages.blocks(text)
    long_pages.run(text, name)


def test_the_two_commands_are_there():
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def test_the_first_screen_is_for_someone_with_a_messy_table():
    """What, why, a picture, the two commands, and what becomes of a CSV; benchmarks come after."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    first = "\n".join(lines[:40])
    parts = (
        "behind the scikit-learn interface",
        *("\n- **Intervals", "\n- **Boundaries", "\n- **It says when not to trust it"),
        "](docs/images/demo.png)",
        "make demo",
        "make test",
        "$ pip install '.[plots,files]'",
        "$ pasb fit penguins-raw.csv --target Species",
        "--report report.html",
        *(f"\n{kind}" for kind in (NUMBERS, CATEGORIES, TRUTHS, DAYS, LEFT_OUT, "gaps")),
        "held-out rows",
        "report.html: open it in a browser",
        "$ pasb predict model.pasb",
    )
    at = [first.find(part) for part in parts]
    assert min(at) >= 0, parts[at.index(-1)]
    assert at == sorted(at)
    assert "random forest" not in first


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/architecture.md",
        "docs/binary_models.md",
        "docs/guide.md",
        "docs/method.md",
        "docs/trust.md",
        "docs/paper.md",
        "docs/scale.md",
        "docs/serving.md",
        "docs/speed.md",
        "docs/calibration.md",
        "docs/figures.md",
        "docs/ensembles.md",
        "docs/choice_tables.md",
        "docs/choice.md",
    ],
)
def test_links_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_files_of_tests_that_pages_name_exist(path):
    for name in re.findall(r"\btests/[\w/]+\.py\b", path.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name
