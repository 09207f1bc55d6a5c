"""What the report says of finished cells, which are made by hand here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.paper import published
from reproduction.paper.cells import Cell, keep
from reproduction.paper.compare import (
    EXPLAINED,
    EXPLAINED_AS_PRINTED,
    against_published,
    detail,
    explanations,
    overview,
    row_verdicts,
)
from reproduction.paper.experiments import EXPERIMENTS
from reproduction.paper.experiments.error_rates import tidy
from reproduction.paper.report_page import processor_time
from reproduction.paper.table_models import MODELS
from reproduction.paper.updates import (
    OURS,
    PRINTED,
    engine_for,
    is_softplus,
    told,
    update_in,
    update_of,
)


def finished_cells(errors):
    rows = [
        {
            "dataset": "vehicle",
            "model": model,
            "scheme": "exact",
            "partition": partition,
            "budget": "quick",
            "n_test": 254,
            "worst_rhat": 1.5,
            "prior": "ours",
            "update": None,
            "error": error,
        }
        for model, values in errors.items()
        for partition, error in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_verdicts_follow_the_noise():
    frame = finished_cells({"pasb_mlr": [10.0, 12.0], "dt_msr": [17.0], "svm": [30.0]})
    printed = {("vehicle", name): published.error_rates().at["vehicle", name] for name in MODELS
               if name != "bayes_mlr"}  # fmt: skip
    cells = against_published(frame, "error", printed)
    z = cells.set_index("model")["exact_z"]
    paper, ours = 14.96, 17.0
    noise = [np.sqrt(p * (100 - p) / 254) for p in (paper, ours)]
    assert z["dt_msr"] == pytest.approx((ours - paper) / np.hypot(*noise))
    assert z["pasb_mlr"] < -2
    assert z["svm"] > 2
    assert z.isna().sum() == 8
    assert "| our defaults | 3 of 11 cells | 1 | 1 | 1 |" in overview(cells, "cells")
    text = explanations(cells, frame, "error")
    assert "our partitions range from 10.00 to 12.00, the paper's number is outside" in text
    assert "DT-MSR" not in text
    assert "as good or better; 2 of 3 cells hold" in row_verdicts(cells)


def test_the_spread_of_partitions_counts():
    """Two partitions of 4500 rows that differ by more than binomial noise."""
    values = {"dataset": "waveform", "model": "amm", "scheme": "any", "budget": "paper"}
    values |= {"n_test": 4500, "prior": "ours", "update": None}
    rows = [{**values, "error": e} for e in (15.0, 19.0)]
    (cell,) = against_published(pd.DataFrame(rows), "error", {("waveform", "amm"): 18.5}).to_dict(
        "records"
    )
    binomial = 100 * np.sqrt(0.17 * 0.83 / 9000)
    assert cell["spread"] == pytest.approx(np.sqrt(8 - 4 * binomial**2 / 2), rel=0.01)
    assert cell["exact_se"] == pytest.approx(np.hypot(binomial, cell["spread"] / np.sqrt(2)))
    assert abs(cell["exact_z"]) < 1 < 2 < abs(cell["exact_strict"])


def test_cells_that_two_tables_show_cost_once(tmp_path):
    """Table 1 and the best draws share cells; a GPU's time is no core's."""
    for partition, engine in enumerate(("cpu", "cpu", "cuda")):
        cell = Cell("error-rates", ("iris", "pasb_mlr", partition), "paper", "exact", 0)
        spent = {"engine": engine, "version": "0", "seconds": 9e9, "processor_seconds": 3 * 3600.0}
        keep(tmp_path, cell, spent)
    told = processor_time(tmp_path, seed=0)
    assert "2 of " in told
    assert "6.0 core hours, that is 3.0 hours of two cores" in told


def softplus_cells(*updates):
    """Partitions of vehicle as printed, each by an update; None was not recorded."""
    for partition, update in enumerate(updates):
        yield {
            **Cell(
                "error-rates", ("vehicle", "msr_k5_t3", partition), "paper", "paper", 0
            )._asdict(),
            **{"n_test": 254, "prior": "paper", "error": 15.0, "version": "0", "engine": "cpu"},
            **({"update": update} if update else {}),
        }


@pytest.mark.parametrize(
    ("updates", "says", "marked"),
    [
        (("printed", "printed"), "All softplus cells as printed are by the printed update", False),
        (("printed", None), "as printed 1 of 2 are by our own update", True),
        (("first arrivals", None), "as printed all are by our own update", True),
    ],
)
def test_the_report_tells_which_update_made_a_number(updates, says, marked):
    results = list(softplus_cells(*updates))
    assert says in told(results)
    cells = against_published(tidy(results), "error", {("vehicle", "msr_k5_t3"): 14.96})
    assert ("15.00 ± 1.58 ‡" in detail(cells)) == marked
    assert ("‡ By our own update" in detail(cells)) == marked


def test_other_models_have_no_update_to_tell():
    cell = Cell("error-rates", ("iris", "pasb_mlr", 0), "paper", "paper", 0)._asdict()
    assert update_in(cell) is None
    assert told([cell]) == told([]) == ""


def test_the_printed_update_runs_on_a_cpu():
    experiment = EXPERIMENTS["error-rates"]
    cells = [
        cell for cell in experiment.cells("paper", ("paper", "exact")) if cell.what[0] == "iris"
    ]
    sizes = {
        scheme: {
            len(batch)
            for batch in experiment.batches(cells)
            if batch[0].scheme == scheme and is_softplus(batch[0].what[1])
        }
        for scheme in ("paper", "exact")
    }
    assert sizes == {"paper": {1}, "exact": {5}}
    assert engine_for("paper", "cuda") == "cpu"
    assert [update_of("paper", engine) for engine in ("cpu", "cuda")] == [PRINTED, OURS]


def square101_cell(kind, first=0, scheme="exact", **values):
    """Four chains on a GPU."""
    return {
        **Cell("square101", (kind, first, 4), "paper", scheme, 0)._asdict(),
        **{"engine": "cuda", "version": "0", "sweeps": 20_000, "n_rows": 8000, "seconds": 8.0},
        **{"log_likelihood": [-2300.0] * 4, "stick_of_frame": [1] * 4},
        **values,
    }


def test_square101_says_what_its_chains_took():
    results = [
        square101_cell("fixed", seconds=4 * 40.0),  # 200 seconds a pair
        square101_cell("inferred", seconds=4 * 160.0),
        square101_cell("inferred", first=4, seconds=np.nan),  # counts as long as the others
    ]
    told = EXPERIMENTS["square101"].section(results)
    assert "4 and 8 of the paper's 3600 and 3600 chains in 24 minutes (our defaults" in told
    assert "(our defaults; 4 of them were not timed and count as the others)" in told
    assert "all of them in 200 hours" in told
    assert "not timed" not in EXPERIMENTS["square101"].section(results[:2])
    assert "One H200" not in EXPERIMENTS["square101"].section(results[:1])


def test_satimage_shows_each_chain_with_an_inferred_order():
    common = {"engine": "cuda", "version": "0"}
    values = {("all",): [-1000.0, -1200.0, -1400.0]}
    values |= {("inferred", 0): [-1300.0], ("inferred", 1): [-1100.0]}
    results = [
        {
            **Cell("satimage-orders", ("forward", *what), "paper", "exact", 0)._asdict(),
            **common,
            "orders": ["012345", "102345", "201345"] if len(own) > 1 else ["inferred"],
            "log_likelihood": own,
        }
        for what, own in values.items()
    ]
    experiment = EXPERIMENTS["satimage-orders"]
    assert "| -1100, -1300 | 1, 2 of 3 | -1400 / -1200 / -1000 |" in experiment.section(results)
    assert experiment.figure(results) is not None
    assert experiment.figure(results[:1]) is not None


def test_square101_counts_chains_that_diverged():
    logs = {"fixed": [-2300.0, np.nan, -2500.0, np.nan], "inferred": [np.nan] * 4}
    results = [
        square101_cell(kind, scheme="paper", log_likelihood=values, stick_of_frame=[1, 9, 3, 9])
        for kind, values in logs.items()
    ]
    experiment = EXPERIMENTS["square101"]
    fixed, inferred = experiment.section(results).splitlines()[4:6]
    assert "| 2 | -2400 | -2500 to -2300 | 1, 2 |" in fixed
    assert "| 4 | - | - to - | 0, 0 |" in inferred
    assert experiment.figure(results) is not None


def test_cells_that_were_looked_into_say_where():
    frame = finished_cells({"svm": [60.0]}).assign(dataset="glass")
    cells = against_published(frame, "error", {("glass", "svm"): 28.84})
    assert "see [Glass](method.md#glass)." in explanations(cells, frame, "error")
    method = (Path(__file__).parents[2] / "docs" / "method.md").read_text()
    for section in (*EXPLAINED.values(), *EXPLAINED_AS_PRINTED.values()):
        assert f"### {section}\n" in method
