"""The worked examples of docs/architecture.md run as they stand, and a wrong move is found."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pasb.binary import Logistic, Softplus
from pasb.binary.choice_logistic import ChoiceLogistic
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import FULL_EVERY, Sweeper

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
        counted = r'"([a-z_]+_(?:proposed|accepted|changed|steps|paths|gradients|divergences))"'
        for name in re.findall(counted, path.read_text(encoding="utf-8")):
            assert f"`{name}`" in TEXT, name


def test_every_layer_is_listed():
    layers = re.findall(r'^    "([a-z |]+)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    folders = {name.strip() for line in layers for name in line.split("|")}
    assert {"moves", "sticks"} < folders
    for name in folders:
        assert f"| `{name}` |" in TEXT, name


CHOICE = ChoiceLogistic(n_alternatives=3)
SWAPS, FIXED = {"swaps_only": True}, {"fixed_order": np.arange(3)}
SMALL = Softplus(n_experts=1, n_layers=1, moves="mixed", rate="shared")

# the beginning of a row of the page's table, what its problem is, the number of a sweep
LISTS = [
    ("softplus [^6]", {"model": Softplus(moves="mixed", rate="shared")}, 40),
    ("softplus, small tables [^8]", {"model": SMALL, "annealed": True}, 40),
    ("logistic or robit, order inferred", {}, FULL_EVERY + 1),
    ("logistic or robit, order inferred", {"n_categories": 9}, FULL_EVERY + 1),
    ("the same, all other sweeps", {}, FULL_EVERY),
    ("the same, one other sweep in 4", {}, FULL_EVERY + 2),
    ("the same, one other sweep in 4", {"n_categories": 9}, FULL_EVERY + 2),
    ("logistic or robit, more than 57 classes", {"n_categories": 58}, 40),
    ('logistic or robit, `order="swap"`', {"swaps_only": True}, 40),
    ("logistic or robit, fixed order", {"fixed_order": np.arange(3)}, FULL_EVERY + 1),
    ("the same, all other sweeps", {"fixed_order": np.arange(3)}, FULL_EVERY),
    ('`Logistic(moves="gibbs")`, order inferred', {"model": Logistic(moves="gibbs")}, 40),
    (
        "logistic or robit with a horseshoe prior",
        {"model": Logistic(priors=[("normal", 0.0, 1.0), *[("horseshoe", 1.0)] * 2])},
        40,
    ),
    ('softplus with `moves="gibbs"`, support vector machine', {"model": Softplus()}, 40),
    ('`moves="gibbs"`, softplus', {"model": Softplus(), "fixed_order": np.arange(3)}, 40),
    ("sticks with covariates of alternatives, order inferred", {"model": CHOICE}, 40),
    ('sticks with covariates of alternatives, `order="swap"`', {**SWAPS, "model": CHOICE}, 40),
    ("sticks with covariates of alternatives, fixed order", {**FIXED, "model": CHOICE}, 40),
    ('`scheme="paper"`', {"scheme": "paper"}, 40),
    ("*settling*", {"swaps_only": True}, 10),
]


@pytest.mark.parametrize(("row", "setting", "sweep"), LISTS)
def test_the_lists_of_moves_are_those_that_run(row, setting, sweep):
    setting = {"n_categories": 3, "model": Logistic(), **setting}
    n_categories, annealed = setting.pop("n_categories"), setting.pop("annealed", False)
    rng = np.random.default_rng(0)
    table = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    rows = Rows.of(table, np.arange(60) % n_categories, n_categories)
    problem = Problem(rows, **setting)
    plans = problem.annealed() if annealed else None
    runs = Sweeper(problem, settling=20, annealed=plans).moves_at(sweep)
    listed = re.findall(rf"^\| {re.escape(row)}[^|]*\| (.*) \|$", TEXT, flags=re.MULTILINE)
    found = [re.sub(r" \([^)]*\)", "", cell).split(", ") for cell in listed]
    assert [type(move).__name__ for move in runs] in found
