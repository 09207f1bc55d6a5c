"""``pasb report`` and ``pasb fit --report``."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

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
