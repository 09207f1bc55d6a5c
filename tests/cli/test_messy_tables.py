"""The command line on tables as people have them, from the file to the predictions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from tests.cli.commands import FEW, failed, flat, pasb_run

import pasb
from pasb.cli.training_table import ColumnOptions, training_table


def messy_lines(n=240):
    """German decimals, truths of any case, gaps of all kinds, codes, an id and a constant."""
    rng = np.random.default_rng(5)
    species = rng.choice(["adelie", "gentoo", "chinstrap"], n)
    mass = np.where(species == "gentoo", 5.0, 3.7) + rng.normal(0, 0.3, n)
    towns = np.array(["Köln", "Zürich", *(f"Ort {k}" for k in range(38))])
    town = rng.choice(towns, n, p=[0.4, 0.3, *np.full(38, 0.3 / 38)])
    yield "Nr;species; mass kg ;island;town;tagged;caught;grade;zip;country"
    for k in range(n):
        gap = ["", "NA", "?"][k % 3] if k % 17 == 0 else None
        cells = [
            f"P{k:04d}",
            species[k] + " " * (k % 2),
            gap if gap is not None else f"{mass[k]:.2f}".replace(".", ","),
            "Biscoe" if species[k] == "gentoo" else ["Dream", "Torgersen"][k % 2],
            town[k],
            gap if gap is not None else ["Ja", "nein", "JA", "Nein "][rng.integers(4)],
            f"{1 + k % 28:02d}.{1 + k % 12:02d}.2021",
            str(1 + k % 5),
            f"0{k % 3}123",
            "DE",
        ]
        yield ";".join(cells)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a messy table in Latin 1, and a model fitted to it."""
    path = tmp_path_factory.mktemp("messy")
    (path / "t.csv").write_text("\n".join(messy_lines()) + "\n", encoding="latin-1")
    out = ["--out", path / "m.pasb", "--encoding", "latin-1"]
    result = pasb_run("fit", path / "t.csv", "--target", "species", *out, *FEW)
    assert result.exit_code == 0, result.output
    (path / "printed.txt").write_text(result.output)
    return path


def test_fit_says_what_it_made_of_each_column(folder):
    printed = flat((folder / "printed.txt").read_text())
    for part in (
        "numbers, scaled mass kg (decimal comma, 15 gaps), grade",
        "categories, one-hot island (3 levels), town (",
        "rare ones pooled), zip (3 levels)",
        "true or false, as 1 or 0 tagged (15 gaps)",
        "dates, as days caught (day.month.year)",
        "left out Nr (tells rows apart; 240 different texts), country (constant; always 'DE')",
        "if integers are codes --categorical 'grade'",
        "gaps filled with the median and marked by a column of their own",
        "island=Biscoe",
    ):
        assert part in printed, part


def test_the_file_holds_a_pipeline(folder):
    model = pasb.load(folder / "m.pasb")
    assert isinstance(model, Pipeline)
    table = pd.read_csv(folder / "t.csv", sep=";", encoding="latin-1", dtype=str)
    table.columns = table.columns.str.strip()
    assert model.score(table, table["species"].str.strip()) > 0.6


def test_predictions_carry_the_ids(folder, tmp_path):
    arguments = ["predict", folder / "m.pasb", folder / "t.csv", "--encoding", "latin-1"]
    result = pasb_run(*arguments, "--out", tmp_path / "p.csv", "--target", "species")
    assert result.exit_code == 0, result.output
    predictions = pd.read_csv(tmp_path / "p.csv")
    assert list(predictions.columns[:2]) == ["Nr", "prediction"]
    assert predictions["Nr"].tolist() == [f"P{k:04d}" for k in range(240)]
    assert "On 240 rows: error" in result.output
    result = pasb_run(*arguments, "--out", tmp_path / "q.parquet", "--id", "town", "--id", "zip")
    assert result.exit_code == 0, result.output
    assert list(pd.read_parquet(tmp_path / "q.parquet").columns[:3]) == [
        "town",
        "zip",
        "prediction",
    ]
    assert "P0003" in pasb_run(*arguments).output


def test_parts_of_a_file_are_predicted_as_the_whole(folder, tmp_path, monkeypatch):
    arguments = ["predict", folder / "m.pasb", folder / "t.csv", "--encoding", "latin-1"]
    whole = pasb_run(*arguments, "--out", tmp_path / "a.csv", "--target", "species").output
    monkeypatch.setattr("pasb.cli.predicting.ROWS_AT_ONCE", 7)
    parts = pasb_run(*arguments, "--out", tmp_path / "b.csv", "--target", "species").output
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert whole.splitlines()[-1] == parts.splitlines()[-1]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_of_predictions_does_not_grow_with_the_rows(tmp_path, monkeypatch, kind):
    """Peaks while 20 and while 200 parts of a file are predicted."""
    import tracemalloc

    small = pd.DataFrame({"x": np.linspace(0, 1, 50), "y": ["a", "b"] * 25})
    small.to_csv(tmp_path / "t.csv", index=False)
    fitted = pasb_run(
        "fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.pasb", *FEW
    )
    assert fitted.exit_code == 0, fitted.output
    monkeypatch.setattr("pasb.cli.predicting.ROWS_AT_ONCE", 100)
    peaks = []
    for n in (2_000, 2_000, 20_000):
        table = pd.DataFrame({"x": np.linspace(0, 1, n)})
        path = tmp_path / f"{n}.{kind}"
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path, index=False)
        del table
        out = ["--out", tmp_path / f"out.{kind}", "--force", "--no-proba"]
        tracemalloc.start()
        result = pasb_run("predict", tmp_path / "m.pasb", path, *out)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert result.exit_code == 0, result.output
    assert peaks[2] < peaks[1] + 2**20


def test_new_rows_that_differ(folder, tmp_path):
    lines = list(messy_lines(20))
    lines[3] = (
        lines[3].replace("Biscoe", "Mars").replace("Dream", "Mars").replace("Torgersen", "Mars")
    )
    lines[5] = lines[5].replace(";DE", ";FR")
    (tmp_path / "n.csv").write_text("\n".join(lines), encoding="latin-1")
    arguments = ["predict", folder / "m.pasb", tmp_path / "n.csv", "--encoding", "latin-1"]
    result = pasb_run(*arguments)
    assert result.exit_code == 0, result.output
    assert "Note: column 'island' has levels such as 'Mars' in 1 row" in flat(result.output)


@pytest.mark.parametrize("at_once", [5, 1000])
def test_bad_cells_of_new_rows_are_named_by_their_row_in_the_file(
    folder, tmp_path, at_once, monkeypatch
):
    monkeypatch.setattr("pasb.cli.predicting.ROWS_AT_ONCE", at_once)
    lines = list(messy_lines(20))
    cells = lines[13].split(";")
    cells[2] = "heavy"
    lines[13] = ";".join(cells)
    (tmp_path / "n.csv").write_text("\n".join(lines), encoding="latin-1")
    out = ["--out", tmp_path / "p.csv", "--encoding", "latin-1"]
    result = pasb_run("predict", folder / "m.pasb", tmp_path / "n.csv", *out)
    failed(result, "'mass kg'", "the first is 'heavy' in row 13")
    assert not (tmp_path / "p.csv").exists()


def test_options_overrule_the_rules(folder, tmp_path):
    result = pasb_run(
        *("fit", folder / "t.csv", "--target", "species", "--out", tmp_path / "m.pasb", *FEW),
        *("--encoding", "latin-1", "--decimal", ",", "--categorical", "grade", "--drop", "town"),
        *("--numeric", "zip", "--missing", "drop"),
    )
    assert result.exit_code == 0, result.output
    printed = flat(result.output)
    assert "15 rows with gaps left out, as asked." in printed
    assert "rows 225" in printed
    assert "town (as asked)" in printed
    encoder = pasb.load(tmp_path / "m.pasb")[0]
    kinds = {plan.name: plan.kind for plan in encoder.plans_}
    assert kinds["grade"] == "category"
    assert kinds["zip"] == "number"


def test_an_id_that_cannot_be_kept(folder, tmp_path):
    options = ["--target", "species", "--out", tmp_path / "m.pasb", "--encoding", "latin-1"]
    result = pasb_run("fit", folder / "t.csv", *options, "--keep-id", "Nr")
    failed(result, "column 'Nr' is to be kept, but hardly any of its 240 different texts")


def test_a_class_that_dropped_rows_would_leave_without_rows(tmp_path):
    rows = [f"{'' if k % 3 == 2 else k / 7},{'abc'[k % 3]}" for k in range(60)]
    (tmp_path / "t.csv").write_text("size,y\n" + "\n".join(rows))
    out = ["--target", "y", "--out", tmp_path / "m.pasb", "--missing", "drop"]
    result = pasb_run("fit", tmp_path / "t.csv", *out)
    failed(result, "--missing drop leaves no row of class 'c': each of its 20 rows has a gap")


def test_all_problems_of_a_table_at_once(tmp_path):
    rows = [f"{k},{k % 7},{'inf' if k == 3 else k / 7},{'a' if k % 2 else ''}" for k in range(30)]
    rows[9] = "oops,1,2,a"
    (tmp_path / "t.csv").write_text("size,n,ratio,y\n" + "\n".join(rows))
    result = pasb_run("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.pasb")
    failed(
        result,
        "t.csv has 4 problems:",
        "column 'y' has 15 missing labels, the first in row 1",
        "column 'y' holds one class only ('a')",
        "column 'size' holds numbers, but for 1 value: the first is 'oops' in row 10",
        "column 'ratio' contains infinity in 1 row, the first is row 4",
    )


def test_a_label_is_never_among_the_covariates(tmp_path):
    """A header y,b,y would put the label among them, as y.1: training error 0 %."""
    rows = "".join(f"{'ab'[k % 2]},{k % 5},{'ab'[k % 2]}\n" for k in range(40))
    (tmp_path / "t.csv").write_text("y,b,y\n" + rows)
    result = pasb_run("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.pasb")
    failed(result, "two columns are named 'y'; rename one of them")


def test_labels_of_64_bits_come_back(tmp_path):
    top = 2**64 - 1
    labels = np.array([top, 7], dtype=np.uint64)[np.arange(40) % 2]
    pd.DataFrame({"x": np.linspace(0, 1, 40), "y": labels}).to_parquet(tmp_path / "t.parquet")
    out = ["--out", tmp_path / "m.pasb"]
    assert pasb_run("fit", tmp_path / "t.parquet", "--target", "y", *out, *FEW).exit_code == 0
    assert pasb.load(tmp_path / "m.pasb").classes_.tolist() == [7, top]
    out = ["--out", tmp_path / "p.parquet", "--target", "y"]
    result = pasb_run("predict", tmp_path / "m.pasb", tmp_path / "t.parquet", *out)
    assert result.exit_code == 0, result.output
    assert set(pd.read_parquet(tmp_path / "p.parquet")["prediction"]) <= {7, top}


def test_types_of_parquet_are_understood(tmp_path):
    import decimal

    n = 40
    table = pd.DataFrame(
        {
            "price": [decimal.Decimal(k) / 4 for k in range(n)],
            "when": pd.date_range("2020", periods=n, tz="UTC"),
            "ok": [True, False] * (n // 2),
            "y": ["a", "b"] * (n // 2),
        }
    )
    table.to_parquet(tmp_path / "t.parquet")
    arguments = ["fit", tmp_path / "t.parquet", "--target", "y", "--out", tmp_path / "m.pasb", *FEW]
    printed = flat(pasb_run(*arguments).output)
    assert "numbers, scaled price" in printed
    assert "dates, as days when" in printed
    assert "true or false, as 1 or 0 ok" in printed
    table.assign(tags=[[1]] * n).to_parquet(tmp_path / "t.parquet")
    failed(pasb_run(*arguments, "--force"), "column 'tags' holds nested values")
    table.assign(y=[[1], [2]] * (n // 2)).to_parquet(tmp_path / "t.parquet")
    told = "column 'y' holds nested values (list<"
    failed(pasb_run(*arguments, "--force"), told, "which are no classes")


def test_an_unknown_truth_is_told(folder, tmp_path):
    lines = list(messy_lines())
    line = next(line for line in lines[1:] if ";nein;" in line)
    (tmp_path / "new.csv").write_text(f"{lines[0]}\n{line.replace(';nein;', ';perhaps;')}\n")
    out = tmp_path / "p.csv"
    result = pasb_run("predict", folder / "m.pasb", tmp_path / "new.csv", "--out", out)
    assert result.exit_code == 0, result.output
    assert "1 prediction is in" in flat(result.output)
    told = "column 'tagged' has values such as 'perhaps' in 1 row, and the training rows had none"
    assert told in flat(result.output)


def test_no_covariates_give_the_intercept_model(tmp_path):
    (tmp_path / "t.csv").write_text(
        "size,y\n" + "".join(f"{k},{'aab'[k % 3]}\n" for k in range(60))
    )
    out = ["--out", tmp_path / "m.pasb", "--drop", "size"]
    result = pasb_run("fit", tmp_path / "t.csv", "--target", "y", *out, *FEW)
    assert result.exit_code == 0, result.output
    assert "none: the model has an intercept only" in flat(result.output)
    result = pasb_run(
        "predict", tmp_path / "m.pasb", tmp_path / "t.csv", "--out", tmp_path / "p.csv"
    )
    assert result.exit_code == 0, result.output
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert (predicted["prediction"] == "a").all()
    assert predicted["p_a"].nunique() == 1
    assert pasb_run("summary", tmp_path / "m.pasb").exit_code == 0


def test_class_weight(tmp_path):
    rows = "".join(f"{k},{'b' if k % 10 == 0 else 'a'}\n" for k in range(100))
    (tmp_path / "t.csv").write_text("size,y\n" + rows)
    arguments = ["fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.pasb", *FEW]
    arguments += ["--keep-id", "size"]
    result = pasb_run(*arguments, "--class-weight", "balanced")
    assert result.exit_code == 0, result.output
    assert pasb.load(tmp_path / "m.pasb").class_weight == "balanced"


class TestRowNumbers:
    """They classify rows that come in blocks of a class, and predict nothing."""

    def test_those_of_some_rows_are_left_out_as_those_of_all(self, tmp_path):
        lines = [f"{k + 1},{k * 7919 % 101 / 3:.2f},{'abc'[k // 15]}" for k in range(45)]
        (tmp_path / "t.csv").write_text("serial,weight,y\n" + "\n".join(lines))
        options = ["--target", "y", "--out", tmp_path / "m.pasb", "--test", "0.8", *FEW]
        result = pasb_run("fit", tmp_path / "t.csv", *options)
        assert result.exit_code == 0, result.output
        assert "left out serial (tells rows apart" in flat(result.output)
        assert pasb.load(tmp_path / "m.pasb")[0].ids_ == ["serial"]

    @pytest.mark.parametrize("gaps", ["weight", "label"])
    def test_nor_do_rows_that_are_dropped_change_that(self, tmp_path, gaps):
        lines = []
        for k in range(60):
            weight, label = f"{k * 7919 % 101 / 3:.2f}", "abc"[k % 3]
            cells = (
                (weight, label) if k >= 48 else ("", label) if gaps == "weight" else (weight, "")
            )
            lines.append(f"{k + 1},{','.join(cells)}")
        (tmp_path / "t.csv").write_text("serial,weight,y\n" + "\n".join(lines))
        options = ColumnOptions(missing="drop")
        table = training_table(tmp_path / "t.csv", "y", options)
        assert len(table.X) == 12
        assert table.encoder.ids_ == ["serial"]
        assert options.encoder(table.encoder.ids_).fit(table.X).ids_ == ["serial"]


class TestOtherCommands:
    def test_summary_as_json(self, folder):
        result = pasb_run("summary", folder / "m.pasb", "--json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.output)
        assert found["model"] == "StickLogisticClassifier"
        assert found["classes"] == ["adelie", "chinstrap", "gentoo"]
        assert found["convergence"]["chains"] == 2
        assert sum(one["probability"] for one in found["orders"]["forward"]) == pytest.approx(1)
        assert {"stick", "class", "feature", "mean", "lower"} <= found["coefficients"][0].keys()
        assert "left out" in found["columns"]

    def test_summary_of_columns(self, folder):
        assert "decimal comma" in pasb_run("summary", folder / "m.pasb").output

    def test_export(self, folder, tmp_path):
        pytest.importorskip("h5netcdf")
        import xarray

        result = pasb_run("export", folder / "m.pasb", tmp_path / "draws.nc")
        assert result.exit_code == 0, result.output
        with xarray.open_datatree(tmp_path / "draws.nc", engine="h5netcdf") as tree:
            assert tree["posterior"].sizes["chain"] == 2
        failed(pasb_run("export", folder / "m.pasb", tmp_path / "draws.nc"), "exists already")
        failed(pasb_run("export", folder / "m.pasb", tmp_path / "d.csv"), "must end in .nc")
        failed(pasb_run("export", tmp_path / "no.pasb", tmp_path / "e.nc"), "no such file")
