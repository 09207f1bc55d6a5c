"""Tables, scores and jobs of the benchmarks of convergence and accuracy."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
KEYS = {"label": "a", "model": "StickLogistic", "set": "iris", "partition": 0, "seed": 1}


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_a_stratified_partition_takes_its_share_of_each_class(benchmark):
    y = np.repeat(["a", "b", "c"], [50, 31, 5])
    chosen = benchmark("tables").stratified(y, 0.6, "any", 0)
    counts = [int(chosen[y == label].sum()) for label in "abc"]
    assert abs(sum(counts) - 0.6 * len(y)) <= 1
    assert np.all(np.abs(np.array(counts) - 0.6 * np.array([50, 31, 5])) <= 1)
    assert not np.array_equal(chosen, benchmark("tables").stratified(y, 0.6, "any", 1))


def test_text_and_gaps_become_numbers(benchmark):
    frame = pd.DataFrame(
        {
            "number": ["1", "?", "3", "5", "4"],
            "two": ["yes", "no", "yes", "no", "no"],
            "many": ["u", "v", "", "u", "v"],
            "constant": ["7"] * 5,
            "target": ["t"] * 5,
        }
    )
    X, y = benchmark("tables").encoded(frame)
    expected = [[1, 1, 0, 1, 0], [3.5, 0, 0, 0, 1], [3, 1, 1, 0, 0], [5, 0, 0, 1, 0]]
    assert X[:4].tolist() == expected
    assert set(y) == {"t"}


def test_a_table_is_read_from_a_folder(benchmark, tmp_path):
    rows = {"x0": [str(k % 7) for k in range(40)], "target": ["a", "b"] * 20}
    pd.DataFrame(rows).to_csv(tmp_path / "car.csv.gz", index=False)
    part = benchmark("tables").load("car", 0, tmp_path)
    assert len(part.y_train) == 24
    assert len(part.y_test) == 16
    assert part.n_classes == 2


def test_scores_of_known_probabilities(benchmark):
    scores = benchmark("scores")
    y = np.repeat([0, 1], [80, 20])
    p = np.tile([0.8, 0.2], (100, 1))
    assert scores.error_rate(p, y) == 0.2
    assert scores.calibration_error(p, y, n_bins=1) == pytest.approx(0)
    assert scores.calibration_error(np.tile([0.9, 0.1], (100, 1)), y, 1) == pytest.approx(0.1)
    temperature, loss = scores.best_temperature(p**2 / (p**2).sum(axis=1, keepdims=True), y)
    assert temperature == pytest.approx(2, rel=1e-3)
    assert loss == pytest.approx(scores.log_loss(p, y))


def test_agreement_takes_the_worse_direction(benchmark):
    draws = np.random.default_rng(0).uniform(size=(4, 200, 3, 2))
    draws[3] += 2  # one of the two reverse chains is elsewhere
    found = benchmark("convergence").agreement(draws, ["forward"] * 2 + ["reverse"] * 2)
    assert found["rhat_median"] > 1.5
    apart = draws[2:].mean(axis=1)
    forward = draws[:2].mean(axis=1)
    variance = (forward.var(axis=0, ddof=1) + apart.var(axis=0, ddof=1)) / 2
    assert found["standard_error_worst"] == pytest.approx(np.sqrt(variance.max()) / 2)


def test_jobs_that_are_done_are_not_run_again(benchmark, tmp_path, monkeypatch):
    job_lines = benchmark("job_lines")
    ran = []

    def measured(program, job):
        ran.append(job["set"])
        return {"status": "done" if job["set"] == "iris" else "failed: no", "loss": float("nan")}

    monkeypatch.setattr(job_lines, "in_its_own_process", measured)
    base = {**KEYS, "settings": {}, "limit": 5.0, "threads": 1, "data": "elsewhere"}
    jobs, path = [base, {**base, "set": "wine"}], tmp_path / "new" / "lines.jsonl"
    for _ in range(2):
        job_lines.run("program", jobs, path, at_once=1)
    assert ran == ["iris", "wine", "wine"]
    assert len(path.read_text().splitlines()) == 3
    lines = job_lines.read(path)
    assert len(lines) == 2
    assert lines[0]["loss"] is None
    assert "elsewhere" not in json.dumps(lines)
    with pytest.raises(SystemExit, match="a new label"):
        job_lines.run("program", [{**base, "settings": {"thin": 2}}], path, at_once=1)
