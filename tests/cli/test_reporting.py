"""``pasb report`` and ``pasb fit --report``."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pasb
from pasb.cli import app
from pasb.covariates.table_writing import write_table
from pasb.datasets import load_iris

FEW = ["--chains", "2", "--warmup", "30", "--draws", "30", "--seed", "1", "--no-progress"]


def pasb_run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model and the report that came with it."""
    path = tmp_path_factory.mktemp("reporting")
    iris = load_iris().frame()
    iris["colour"] = ["red", "green", "blue"] * 50
    iris["plant"] = [f"plant-{k:03d}" for k in range(1, 151)]
    write_table(iris, path / "iris.csv")
    options = ["--target", "class", "--out", path / "m.pasb", "--test", "0.3", *FEW]
    result = pasb_run("fit", path / "iris.csv", *options, "--report", path / "fit.html")
    assert result.exit_code == 0, result.output
    assert "fit.html" in result.output.replace("\n", "")
    return path


def test_fit_writes_a_report_of_the_held_out_rows(folder):
    page = (folder / "fit.html").read_text("utf-8")
    assert "class in iris.csv" in page
    assert "looked at with 45 rows" in page
    assert "fitted to 105 rows" in page
    assert "look like the rows of the fit" not in page


ROW = re.compile(r'<th scope="row" class="number">(\d+)</th><td><bdi>(plant-\d+)</bdi>')


def rows_shown(page):
    """Numbers and ids of the rows worth a look; they are the same here."""
    found = ROW.findall(page)
    assert found
    assert all(int(number) == int(plant[-3:]) for number, plant in found)
    return {int(number) for number, _ in found}


def test_rows_have_their_numbers_in_the_file(folder):
    shown = rows_shown((folder / "fit.html").read_text("utf-8"))
    assert max(shown) > 45  # of 150, of which 45 were held out


def test_rows_without_a_label_count(folder):
    iris = pd.read_csv(folder / "iris.csv")
    iris.loc[:59, "class"] = np.nan
    iris.to_csv(folder / "gaps.csv", index=False)
    out = folder / "gaps.html"
    options = ["--data", folder / "gaps.csv", "--target", "class", "--out", out]
    result = pasb_run("report", folder / "m.pasb", *options)
    assert result.exit_code == 0, result.output
    assert "60 rows of" in " ".join(result.output.split())
    assert min(rows_shown(out.read_text("utf-8"))) > 60


def test_report_finds_the_target_by_itself(folder):
    out = folder / "found.html"
    result = pasb_run("report", folder / "m.pasb", "--data", folder / "iris.csv", "--out", out)
    assert result.exit_code == 0, result.output
    assert "pasb report m.pasb --data iris.csv --target class" in out.read_text("utf-8")
    assert "error" in result.output


def test_report_without_data(folder):
    result = pasb_run("report", folder / "m.pasb", "--out", folder / "bare.html")
    assert result.exit_code == 0, result.output
    assert "Predictions beside the truth" not in (folder / "bare.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "nowhere.csv"], "no such file"),
        (["--data", "iris.csv", "--target", "klass"], "klass"),
        (["--data", "iris.csv", "--target", "colour"], "not a class of the model"),
        (["--data", "iris.csv", "--interval", "2"], "--interval"),
        (["--train", "iris.csv"], "--data"),
        (["--data", "unlabelled.csv"], "--target"),
        (["--data", "iris.csv", "--out", "fit.html"], "exists already"),
        (["--data", "iris.csv", "--out", "m.pasb", "--force"], "choose another name"),
    ],
)
def test_refused(folder, options, message, monkeypatch):
    monkeypatch.chdir(folder)
    bare = load_iris().frame().drop(columns="class").assign(colour="red")
    write_table(bare, folder / "unlabelled.csv")
    result = pasb_run("report", "m.pasb", "--out", "other.html", *options)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert not (folder / "other.html").exists()


def test_the_printed_command_makes_the_same_model(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables").mkdir()
    table = pd.read_csv(folder / "iris.csv").rename(columns={"sepal_width": "sepal width's"})
    table.to_csv("tables/my irises.csv", sep=",", index=False, encoding="utf-16")
    options = ["--target", "class", "--out", tmp_path / "first.pasb", "--encoding", "utf-16"]
    options += ["--model", "robit", "--test", "0.4", "--drop", "sepal width's", "--drop", "colour"]
    options += ["--chains", "1", "--warmup", "13", "--draws", "7", "--thin", "2"]
    options += ["--order", "setosa,virginica,versicolor", "--scale", "range", "--no-progress"]
    options += ["--report", tmp_path / "fit.html"]
    result = pasb_run("fit", "tables/my irises.csv", *options)
    assert result.exit_code == 0, result.output
    first = command_of("fit.html")
    assert first[:3] == ["pasb", "fit", "tables/my irises.csv"]
    for name in ("first.pasb", "fit.html"):
        (tmp_path / name).rename(tmp_path / f"kept {name}")
    again = pasb_run(*first[1:])
    assert again.exit_code == 0, again.output
    assert_same_models("kept first.pasb", "first.pasb")
    assert command_of("fit.html") == command_of("kept fit.html")


def test_the_printed_command_makes_the_same_report(folder, monkeypatch):
    monkeypatch.chdir(folder)
    options = ["--data", "iris.csv", "--train", "iris.csv", "--interval", "0.8"]
    result = pasb_run("report", "m.pasb", *options, "--title", "Mine & yours", "--out", "own.html")
    assert result.exit_code == 0, result.output
    (folder / "own.html").rename(folder / "kept.html")
    again = pasb_run(*command_of("kept.html")[1:])
    assert again.exit_code == 0, again.output
    assert (folder / "own.html").read_text("utf-8") == (folder / "kept.html").read_text("utf-8")


def command_of(page):
    """The words of the command that a report prints."""
    found = re.search(r'aria-label="How to reproduce">(.*?)</pre>', Path(page).read_text("utf-8"))
    return shlex.split(html.unescape(found[1]))


def assert_same_models(first, second):
    models = [pasb.load(path) for path in (first, second)]
    encoder, classifier = models[0].steps[0][1], models[0].steps[-1][1]
    rows = pd.read_csv("tables/my irises.csv", encoding="utf-16", dtype=str)
    assert encoder.ids_ == ["plant"]
    assert classifier.random_state is not None
    np.testing.assert_array_equal(models[0].predict_proba(rows), models[1].predict_proba(rows))
