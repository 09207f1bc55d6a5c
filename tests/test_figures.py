"""Every figure in README and on the start page is in docs/figures.md, with its command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from calibration.mistakes import WRONG

import pasb

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/site/index.md")
WORDS = (
    "three four five six seven eight nine ten eleven twelve fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty hundreds? thousands? millions? "
    "seconds? minutes? hours? days?"
)
NUMBER = re.compile(rf"\d|\b(?:{'|'.join(WORDS.split())})\b", re.IGNORECASE)
LINES = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*) ?\|$", re.MULTILINE)


def listed():
    """Lines of the table: figures, command, test."""
    found = LINES.findall((ROOT / "docs/figures.md").read_text("utf-8"))
    return [[cell.strip() for cell in line] for line in found[2:]]


def comments(block):
    return "\n".join(re.findall(r"# (.*)", block.group()))


def prose(page):
    """A page without code, pictures, addresses, and the two tables that other tests compare."""
    text = (ROOT / page).read_text("utf-8")
    text = re.sub(r"^```(?:python|sh)\n.*?^```$", comments, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^:.*$|^\| .* \d.* % \|.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|<[^>]*>|`[^`]*`", " ", text)
    return " ".join(re.sub(r"[*\[\]]", "", text).split())


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_is_listed(page):
    left = prose(page)
    assert len(left) > 500
    for figures, _, _ in listed():
        for phrase in figures.split("; "):
            left = left.replace(phrase, "")
    found = [left[max(0, m.start() - 40) : m.end() + 40] for m in NUMBER.finditer(left)]
    assert not found


def test_every_line_is_of_a_figure():
    pages = " ".join(prose(page) for page in PAGES)
    for figures, command, test in listed():
        for phrase in figures.split("; "):
            if NUMBER.search(phrase):
                assert phrase in pages, phrase
        assert command
        for name in re.findall(r"\b[\w/]+\.(?:py|json)\b", f"{command} {test}"):
            assert "/" not in name or (ROOT / name).exists(), name
        for name in re.findall(r"^`(\w+/[\w/]+\.py)`$", test):
            assert (ROOT / name).exists()


def test_figures_of_the_package():
    """Those that can be looked up at once."""
    words = prose("README.md")
    part = pasb.datasets.load("vehicle").partition(0)
    rows, tests, n = len(part.y_train), len(part.y_test), part.X_train.shape[1]
    said = f"{rows} rows to learn from, {tests} to test on, {n} covariates, four classes"
    assert said in words
    assert len(set(part.y_train)) == 4
    assert f"{tests} vehicle silhouettes after learning from {rows}" in prose(PAGES[1])
    assert len(WRONG) == 18
    assert "eighteen deliberate mistakes" in words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or later" in words
    assert f"{pasb.StickLogisticClassifier().n_chains} chains" in words
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    volume, issue, year = re.search(
        r"volume: (\d+)\s+issue: (\d+).*year: (\d+)", cited, re.DOTALL
    ).groups()
    assert f"Research {volume}({issue}), {year}" in words
