"""``pasb fit`` of Parquet that does not fit into memory, and ``pasb predict`` of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pasb
from pasb.cli import app

pytest.importorskip("pyarrow", reason="the extra pasb[files] is not installed")
FIT = ["--draws", "20", "--warmup", "4", "--chains", "2", "--seed", "1", "--no-progress"]


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] + rng.logistic(size=400) > 0, "up", "down")
    frame.to_parquet("table.parquet", row_group_size=150, index=False)
    frame.assign(place="here").to_parquet("words.parquet", index=False)
    return lambda *words: CliRunner().invoke(app, [*words])


def fit(run, name="table.parquet", *options):
    return run("fit", name, "--target", "kind", "--out", "model.pasb", *FIT, *options)


def test_a_file_that_does_not_fit_is_read_in_blocks(run, monkeypatch):
    monkeypatch.setenv("PASB_MEMORY", "0.000001")
    result = fit(run, "table.parquet", "--drop", "c")
    assert result.exit_code == 0, result.output
    assert "read block by block" in result.output
    model = pasb.load("model.pasb")
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.classes_.tolist() == ["down", "up"]
    result = run("predict", "model.pasb", "table.parquet", "--target", "kind", "--out", "p.parquet")
    assert result.exit_code == 0, result.output
    assert len(pd.read_parquet("p.parquet")) == 400


def test_blocks_on_request_give_the_draws_of_python(run):
    assert fit(run, "table.parquet", "--engine", "blocks", "--order", "up,down").exit_code == 0
    settings = {"n_draws": 20, "n_warmup": 4, "n_chains": 2, "random_state": 1, "progress": False}
    same = pasb.StickLogisticClassifier(engine="blocks", order=["up", "down"], **settings)
    with pytest.warns(pasb.ConvergenceWarning):
        same.fit("table.parquet", "kind")
    assert np.array_equal(
        pasb.load("model.pasb").draws_.parameters["coef"], same.draws_.parameters["coef"]
    )


def coef(name="model.pasb"):
    return pasb.load(name).draws_.parameters["coef"]


def test_folders_and_patterns(run, tmp_path):
    whole = pd.read_parquet("table.parquet")
    (tmp_path / "rows").mkdir()
    whole.iloc[:170].to_parquet("rows/0.parquet", index=False)
    whole.iloc[170:].to_parquet("rows/1.parquet", index=False)
    assert fit(run, "table.parquet", "--engine", "blocks").exit_code == 0
    expected = coef()
    for name in ("rows", "rows/*.parquet"):
        result = fit(run, name, "--force")
        assert result.exit_code == 0, result.output
        assert np.array_equal(coef(), expected)
        result = run("predict", "model.pasb", name, "--out", "p.parquet", "--force")
        assert result.exit_code == 0, result.output
        assert "400 predictions" in result.output
    run("predict", "model.pasb", "table.parquet", "--out", "whole.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("p.parquet"), pd.read_parquet("whole.parquet"))
    result = run("predict", "model.pasb", "rows", "--out", "rows/1.parquet", "--force")
    assert "is the file that is read" in " ".join(result.output.split())


def test_storage(run):
    assert fit(run, "table.parquet", "--engine", "blocks").exit_code == 0
    expected = coef()
    result = fit(run, "table.parquet", "--engine", "blocks", "--storage", "float32", "--force")
    assert result.exit_code == 0, result.output
    assert not np.array_equal(coef(), expected)
    assert np.abs(coef() - expected).max() < 0.1


def test_a_gpu_takes_what_does_not_fit_into_memory(run, monkeypatch):
    """Here there is none, which it says; a file that fits is read as a whole."""
    asked = []
    monkeypatch.setattr("pasb.cli.large_tables.engine_for", lambda *words: asked.append(words))
    monkeypatch.setenv("PASB_MEMORY", "0.000001")
    fit(run, "table.parquet", "--engine", "cuda", "--storage", "float32")
    assert asked == [("cuda", "float32")]


def test_a_cluster_by_its_address(run):
    distributed = pytest.importorskip("distributed", reason="needs the extra pasb[dask]")
    assert fit(run, "table.parquet", "--engine", "blocks").exit_code == 0
    expected = coef()
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        dashboard_address=None,
    ) as cluster:
        address = cluster.scheduler_address
        result = fit(run, "table.parquet", "--engine", address, "--force")
        assert result.exit_code == 0, result.output
    assert np.array_equal(coef(), expected)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("words.parquet", [], "column 'place' does not hold numbers"),
        ("table.parquet", ["--test", "0.3"], "--test needs the whole table"),
        ("table.parquet", ["--categorical", "a"], "--categorical and --keep-id"),
        ("table.parquet", ["--drop", "d"], "'d'"),
        ("table.parquet", ["--model", "stacked"], "must be a str among"),
        (".", ["--test", "0.3", "--engine", "cpu"], "several files are read in blocks"),
        (".", ["--model", "svm"], "must be a str among"),
        ("none/*.parquet", [], "no Parquet file"),
        ("table.parquet", ["--engine", "gpu"], "the address of a Dask scheduler"),
        ("table.parquet", ["--engine", "dask"], "DASK_SCHEDULER_ADDRESS"),
        ("table.parquet", ["--engine", "cpu", "--storage", "float32"], "--storage is for Parquet"),
    ],
)
def test_what_needs_memory_is_refused(run, name, options, words):
    result = fit(run, name, "--engine", "blocks", *options)  # the last --engine counts
    assert result.exit_code != 0
    assert words in " ".join(result.output.split())


def test_softplus_models(run):
    options = ["--model", "softplus", "--experts", "1", "--layers", "1", "--draws", "2"]
    result = fit(run, "table.parquet", "--engine", "blocks", *options)
    assert result.exit_code == 0, result.output
    assert "read block by block" in result.output
    fitted = pasb.load("model.pasb")
    assert (fitted.engine, fitted.n_experts) == ("blocks", 1)
    settings = {"n_draws": 2, "n_warmup": 4, "n_chains": 2, "random_state": 1, "progress": False}
    same = pasb.SoftplusClassifier(engine="blocks", n_experts=1, n_layers=1, **settings)
    with pytest.warns(pasb.ConvergenceWarning):
        same.fit("table.parquet", "kind")
    assert np.array_equal(coef(), same.draws_.parameters["coef"])
