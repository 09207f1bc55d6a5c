"""The worked examples of docs/architecture.md run as they stand, and a wrong move is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


def run(blocks) -> dict:
    names: dict = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


# the check of the move and that of the binary model, at 1e-6 each
@pytest.mark.statistical(level=2e-6)
@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
def test_the_page_runs():
    names = run(BLOCKS)
    assert names["proposed"].shape == (2, 100)


def test_a_move_without_its_prior_is_found():
    """A test of power: fixed seeds, far from the limit, so chance plays no part."""
    kept = BLOCKS[:3]
    assert kept[0].count("coefficient_log_prior(") == 2
    kept[0] = re.sub(r" +gain [+-]= coefficient_log_prior\(.*\n", "", kept[0])
    kept[2] = kept[2].split("largest, limit =")[0]
    names = run(kept)
    largest, limit = names["largest_deviation"](names["Logistic"](moves="gibbs"))
    assert largest > 1.3 * limit


def test_paths_on_the_page_exist():
    """Files that are named with their folder are there."""
    for name in set(re.findall(r"\b(?:[a-z_]+/)+[a-z_0-9]+\.py\b", TEXT)):
        assert (ROOT / "src" / "pasb" / name).exists() or (ROOT / name).exists(), name


def test_every_move_and_its_statistics_are_listed():
    for path in (ROOT / "src" / "pasb" / "moves").glob("*.py"):
        if path.stem not in ("__init__", "move", "independence"):
            assert f"`{path.stem}`" in TEXT, path.stem
        counted = r'"([a-z_]+_(?:proposed|accepted|changed|steps))"'
        for name in re.findall(counted, path.read_text(encoding="utf-8")):
            assert f"`{name}`" in TEXT, name


def test_every_layer_is_listed():
    layers = re.findall(r'^    "([a-z |]+)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    folders = {name.strip() for line in layers for name in line.split("|")}
    assert {"moves", "sticks"} < folders
    for name in folders:
        assert f"| `{name}` |" in TEXT, name
