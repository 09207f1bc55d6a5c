"""Every section of the report can be written from the committed cells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reproduction.command import app
from reproduction.paper.cells import Cell, finished, keep, pack
from reproduction.paper.experiments import EXPERIMENTS
from reproduction.paper.outputs import results_of, write_outputs
from reproduction.paper.packed_cells import COMMITTED, read_packed, untimed_hours, write_packed

DOCS = Path(__file__).parents[2] / "docs"


def without_version(text: str) -> str:
    """The release that wrote a file is named in it."""
    return re.sub(r"pasb\s+\d+\.\d+\.\d+\S*", "pasb", text)


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "paper.md").read_text()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_section_and_its_files_come_from_committed_cells(name, page, tmp_path):
    experiment = EXPERIMENTS[name]
    assert experiment.section(results_of(experiment, COMMITTED, 0)) in page
    written = write_outputs(experiment, COMMITTED, tmp_path, large=False)
    assert {path.suffix for path in written} == {".csv", ".png"}
    for path in written:
        stored = DOCS / "paper" / path.name
        if path.suffix == ".csv":
            assert without_version(path.read_text()) == without_version(stored.read_text())
        else:
            assert stored.exists()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_budget_of_the_paper_is_complete(name):
    experiment = EXPERIMENTS[name]
    engine = "cuda" if experiment.for_gpu else "cpu"
    wanted = {
        (cell.what, cell.scheme)
        for cell in experiment.cells("paper", ("paper", "exact"), 0, engine)
    }
    results = results_of(experiment, COMMITTED, 0)
    have = {(own["what"], own["scheme"]) for own in results if own["budget"] == "paper"}
    assert wanted <= have


def test_the_whole_page_is_what_the_command_writes(page, tmp_path):
    out = tmp_path / "paper.md"
    result = CliRunner().invoke(app, ["report", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert without_version(out.read_text()) == without_version(page)


def cell_of(trial: int, budget: str = "paper") -> Cell:
    return Cell("ess", ("iris", "pasb_mlr", trial), budget, "exact", 0)


def test_packed_cells_are_those_of_the_run(tmp_path):
    run, store = tmp_path / "run", tmp_path / "store"
    for trial in (2, 10, 1):
        keep(run, cell_of(trial), {"seconds": trial / 3, "train": {"ess": [0.1, float("nan")]}})
    assert pack(run, "iris", store) is None
    path = pack(run, "ess", store)
    first = path.read_bytes()
    assert json.dumps(finished(store, "ess")) == json.dumps(finished(run, "ess"))
    assert pack(run, "ess", store).read_bytes() == first


def test_packing_replaces_the_same_cells_and_keeps_others(tmp_path):
    run, store = tmp_path / "run", tmp_path / "store"
    old = [{**cell_of(trial)._asdict(), "value": "old"} for trial in (0, 1)]
    write_packed(store, "ess", old, {"cpu": 0.5})
    keep(run, cell_of(1), {"value": "new", "seconds": 1.0})
    result = CliRunner().invoke(app, ["pack", "--folder", str(run), "--into", str(store)])
    assert result.exit_code == 0, result.output
    assert [own["value"] for own in finished(store, "ess")] == ["old", "new"]
    assert untimed_hours(store, "ess") == {"cpu": 0.5}  # one cell still has no time
    keep(run, cell_of(0), {"value": "new", "seconds": 1.0})
    pack(run, "ess", store)
    assert untimed_hours(store, "ess") == {}
    assert len(read_packed(store, "ess")) == 2


def test_cells_of_a_run_count_before_packed_ones(tmp_path):
    write_packed(tmp_path, "ess", [{**cell_of(0)._asdict(), "value": "packed"}])
    assert [own["value"] for own in finished(tmp_path, "ess")] == ["packed"]
    keep(tmp_path, cell_of(0, "quick"), {"value": "a smaller budget"})
    assert [own["value"] for own in finished(tmp_path, "ess")] == ["packed"]
    keep(tmp_path, cell_of(0), {"value": "run"})
    assert [own["value"] for own in finished(tmp_path, "ess")] == ["run"]


def test_hours_that_are_known_in_all_only_are_shown(tmp_path):
    from reproduction.paper.report_page import processor_time

    cells = [{**cell_of(trial)._asdict(), "engine": "cpu"} for trial in (0, 1)]
    write_packed(tmp_path, "ess", cells, {"cpu": 2.0})
    told = processor_time(tmp_path, seed=0)
    assert "2 of " in told
    assert "2.0 core hours, that is 1.0 hours of two cores" in told
