"""The command line: what it prints and writes, its errors and its exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pasb
from pasb.cli import app
from pasb.covariates.table_reading import read_table
from pasb.covariates.table_writing import write_table
from pasb.datasets import load_iris
from pasb.errors import ConvergenceWarning

FEW = ["--chains", "2", "--warmup", "30", "--draws", "30", "--seed", "1", "--no-progress"]


def pasb_run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def iris() -> pd.DataFrame:
    return load_iris().frame()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, iris):
    """A folder with a table and a model fitted to it."""
    path = tmp_path_factory.mktemp("cli")
    write_table(iris, path / "iris.csv")
    result = pasb_run("fit", path / "iris.csv", "--target", "class", "--out", path / "m.pasb", *FEW)
    assert result.exit_code == 0, result.output
    (path / "printed.txt").write_text(result.output)
    return path


def refused(result, *parts: str, code: int = 2) -> None:
    """The command ended with a short message on stderr that holds all `parts`."""
    assert result.exit_code == code, result.output
    message = result.stderr.strip()
    assert message.startswith("Error: ")
    assert len(message.splitlines()) <= 2
    assert "Traceback" not in result.output
    for part in parts:
        assert part in message


def test_version_and_help():
    assert pasb_run("--version").output.strip() == f"pasb {pasb.__version__}"
    listed = pasb_run("--help").output
    assert all(command in listed for command in ("fit", "predict", "summary", "demo"))


def test_help_loads_nothing_heavy():
    code = (
        "import sys, pasb.cli; sys.exit(any(m in sys.modules for m in "
        "('numpy', 'pandas', 'numba', 'sklearn', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_fit_prints_a_summary(folder):
    printed = flat((folder / "printed.txt").read_text())
    for part in (
        "rows 150",
        "covariates 4",
        "setosa (50), versicolor (50), virginica (50)",
        "training error",
        "log loss",
        "R-hat",
        "effective sample size",
        "Order of the classes",
        "2 of 2",
        "petal_length",
        "90% from",
        "The model is in",
    ):
        assert part in printed
    assert "Warning" not in printed


def test_the_saved_model_is_the_fitted_one(folder, iris):
    model = pasb.load(folder / "m.pasb")
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(iris.drop(columns="class"), iris["class"]) > 0.9
    assert (model.n_chains, model.n_warmup, model.n_draws) == (2, 30, 30)


def test_a_short_table_of_coefficients_says_how_to_see_all(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("pasb.cli.printing.MOST_COEFFICIENTS", 3)
    printed = pasb_run("summary", folder / "m.pasb").output
    assert f"7 more: pasb summary {folder / 'm.pasb'} --all" in flat(printed)


def test_predict_writes_what_the_model_says(folder, iris):
    out = folder / "predicted.csv"
    result = pasb_run(
        "predict", folder / "m.pasb", folder / "iris.csv", "--out", out, "--target", "class"
    )
    assert result.exit_code == 0, result.output
    assert "150 predictions are in" in flat(result.output)
    assert "error" in result.output
    assert "log loss" in result.output
    expected = pasb.load(folder / "m.pasb").predict_frame(iris.drop(columns="class"))
    pd.testing.assert_frame_equal(pd.read_csv(out), expected, check_dtype=False)


def test_predict_without_out_prints_the_first_rows(folder):
    result = pasb_run("predict", folder / "m.pasb", folder / "iris.csv")
    assert result.exit_code == 0
    assert "10 of 150 rows" in result.output
    assert "90% interval" in result.output
    assert "runner-up" in result.output
    assert "--out predictions.csv" in flat(result.output)


def test_predict_classes_only(folder):
    out = folder / "classes.tsv"
    arguments = ("predict", folder / "m.pasb", folder / "iris.csv", "--no-proba", "--out", out)
    assert pasb_run(*arguments).exit_code == 0
    assert list(read_table(out).columns) == ["prediction"]
    scored = pasb_run(*arguments, "--force", "--target", "class").output
    full = pasb_run(*arguments[:3], "--target", "class").output
    assert scored.splitlines()[-1] == full.splitlines()[-1]


def test_summary_repeats_what_fit_said(folder):
    result = pasb_run("summary", folder / "m.pasb")
    assert result.exit_code == 0
    printed = flat((folder / "printed.txt").read_text())
    body = flat(result.output)
    start = body.index("Convergence")
    assert body[start : start + 400] in printed
    everything = pasb_run("summary", folder / "m.pasb", "--all", "--interval", "0.5").output
    assert flat(everything).split("Coefficients")[1].count("sepal_width") == 2
    assert "50% from" in everything
    assert "more: pasb summary" not in flat(everything)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "t.tsv"])
def test_round_trip_in_other_formats(tmp_path, iris, name):
    table = iris.assign(**{"class": np.repeat([1, 2, 10], 50)})
    write_table(table, tmp_path / name)
    model = tmp_path / "m.pasb"
    fitted = pasb_run("fit", tmp_path / name, "--target", "class", "--out", model, *FEW)
    assert fitted.exit_code == 0, fitted.output
    out = tmp_path / f"out-{name}"
    result = pasb_run("predict", model, tmp_path / name, "--out", out, "--target", "class")
    assert result.exit_code == 0, result.output
    predictions = read_table(out)["prediction"]
    assert set(predictions.astype(str)) == {"1", "2", "10"}
    if name.endswith("parquet"):
        assert predictions.dtype.kind == "i"
    assert (predictions.to_numpy(dtype=int) == table["class"].to_numpy()).mean() > 0.9


def test_labels_with_leading_zeros_survive(tmp_path, iris):
    table = iris.assign(**{"class": np.repeat(["01", "1", "02"], 50)})
    write_table(table, tmp_path / "t.csv")
    model, out = tmp_path / "m.pasb", tmp_path / "out.csv"
    fitted = pasb_run(
        "fit", tmp_path / "t.csv", "--target", "class", "--out", model, "--order", "02, 01, 1", *FEW
    )
    assert fitted.exit_code == 0, fitted.output
    assert "fixed: 02 > 01 > 1" in fitted.output
    assert pasb.load(model).classes_.tolist() == ["01", "02", "1"]
    assert pasb_run("predict", model, tmp_path / "t.csv", "--out", out).exit_code == 0
    assert set(read_table(out)["prediction"]) == {"01", "1", "02"}


def test_columns_may_stand_in_any_order_and_be_more(folder, iris):
    table = iris[["petal_width", "class", "sepal_width", "petal_length", "sepal_length"]]
    write_table(table.assign(name="text"), folder / "more.csv")
    plain = pasb_run("predict", folder / "m.pasb", folder / "iris.csv").output
    assert pasb_run("predict", folder / "m.pasb", folder / "more.csv").output == plain


def test_options_reach_the_classifier(folder, tmp_path):
    result = pasb_run(
        *("fit", folder / "iris.csv", "--target", "class", "--out", tmp_path / "m.pasb", *FEW),
        *("--drop", "sepal_width", "--drop", "petal_width", "--thin", "2", "--scheme", "paper"),
        *("--scale", "none", "--precision", "0.5", "--test", "0.2", "--jobs", "1"),
        *("--checkpoint", tmp_path / "saved"),
    )
    assert result.exit_code == 0, result.output
    model = pasb.load(tmp_path / "m.pasb")
    assert model.feature_names_in_.tolist() == ["sepal_length", "petal_length"]
    assert (model.thin, model.scheme, model.scale, model.precision) == (2, "paper", None, 0.5)
    assert "120 and 30 held out" in result.output
    assert "held-out rows" in result.output
    assert any((tmp_path / "saved").iterdir())


def test_poor_chains_give_a_note_in_the_words_of_the_command_line(folder):
    printed = flat((folder / "printed.txt").read_text())
    assert "Note: The draws are not good enough yet" in printed
    assert "--warmup" in printed or "--draws" in printed or "--order" in printed
    assert "n_draws" not in printed
    assert "n_warmup" not in printed
    assert "model.order_" not in printed


def fit_of(path, text, *options, target="y"):
    (path / "t.csv").write_text(text)
    return pasb_run("fit", path / "t.csv", "--target", target, "--out", path / "o.pasb", *options)


GOOD = "size,y\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        (GOOD, ["--drop", "sise"], ["t.csv", "no column 'sise'", "did you mean 'size'"]),
        (GOOD, ["--categorical", "y"], ["'y' is the target", "leave out --categorical 'y'"]),
        (GOOD, ["--drop", "y"], ["'y' is the target", "leave out --drop 'y', or name another"]),
        (GOOD, ["--class-weight", "balanced", "--model", "robit"], ["--class-weight", "robit"]),
        (GOOD, ["--order", "a,c"], ["--order", "'c' is not a class"]),
        (GOOD, ["--order", "a"], ["--order", "'b' is missing"]),
        (GOOD, ["--precision", "high"], ["--precision", "'high'"]),
        (GOOD, ["--precision", "-1"], ["--precision"]),
        (GOOD, ["--test", "7"], ["--test", "between 0 and 1"]),
        ("size,name,y\n1,u,a\n2,v,b\n", ["--numeric", "name"], ["'name' is to be numeric", "'u'"]),
        ("size,y\n1,a\n,b\n", ["--missing", "error"], ["'size' has 1 gap, the first in row 2"]),
        ("size,y\n1,a\n2,\n3,b\n", [], ["column 'y' has 1 missing label", "row 2"]),
        ("size,y\n" + "".join(f"1,{k / 7}\n" for k in range(40)), [], ["'y' looks continuous"]),
        (",size,y\n1,2,a\n1,3,b\n2,2,b\n", [], ["column 1 has no name", "--drop 'Unnamed: 0'"]),
        ("y,b,y\na,1,a\nb,2,b\n", [], ["two columns are named 'y'"]),
        ("size,y\n1,a\n2,a\n", [], ["one class only"]),
        ("size,y\ninf,a\n2,b\n", [], ["infinity", "'size'"]),
    ],
)
def test_bad_input_is_refused(tmp_path, text, options, parts):
    refused(fit_of(tmp_path, text, *options, *FEW), *parts)
    assert not (tmp_path / "o.pasb").exists()


def test_unknown_target_suggests_the_nearest(tmp_path):
    refused(fit_of(tmp_path, "size,species\n1,a\n", target="Specis"), "did you mean 'species'")


def test_files_that_are_not_there_or_not_right(folder, tmp_path):
    table, model, out = folder / "iris.csv", folder / "m.pasb", tmp_path / "o.pasb"
    target = ["--target", "class", "--out"]
    refused(pasb_run("fit", tmp_path / "no.csv", *target, out), "no.csv", "no such file")
    refused(pasb_run("fit", tmp_path, *target, out), f"Error: {str(tmp_path)!r} is a folder")
    refused(pasb_run("predict", model, tmp_path), f"Error: {str(tmp_path)!r} is a folder")
    refused(pasb_run("fit", table, *target, tmp_path), "is a folder")
    refused(pasb_run("fit", table, *target, tmp_path / "no" / "o.pasb"), "does not exist")
    refused(pasb_run("fit", table, *target, model), "exists already", "--force")
    refused(pasb_run("summary", tmp_path / "no.pasb"), "no.pasb", "no such file")
    refused(pasb_run("summary", table), "iris.csv")
    refused(pasb_run("predict", tmp_path / "no.pasb", table), "no such file")
    refused(pasb_run("predict", model, table, "--out", tmp_path / "o.txt"), "must end in")
    refused(pasb_run("predict", model, table, "--out", table, "--force"), "the file that is read")
    refused(pasb_run("predict", model, table, "--out", model, "--force"), "must end in")
    refused(pasb_run("fit", table, *target, table, "--force"), "the file that is read")
    refused(pasb_run("predict", model, table, "--interval", "2"), "--interval")
    refused(pasb_run("summary", model, "--interval", "0"), "--interval")


def test_predict_names_missing_columns_and_unknown_labels(folder, iris, tmp_path):
    write_table(iris.drop(columns=["petal_width", "sepal_width"]), tmp_path / "less.csv")
    refused(
        pasb_run("predict", folder / "m.pasb", tmp_path / "less.csv"),
        "less.csv: columns 'sepal_width', 'petal_width' are missing",
    )
    labels = iris["class"].astype(str).where(np.arange(len(iris)) != 120, "rose")
    write_table(iris.assign(**{"class": labels}), tmp_path / "rose.csv")
    arguments = ("predict", folder / "m.pasb", tmp_path / "rose.csv", "--target")
    found = "column 'class' holds 'rose' in row 121, which is not a class of the model"
    refused(pasb_run(*arguments, "class"), found)
    data = ("--data", *arguments[2:], "class", "--out", tmp_path / "r.html")
    refused(pasb_run("report", folder / "m.pasb", *data), found)
    refused(pasb_run(*arguments, "clas"), "did you mean 'class'")


def test_models_of_arrays_have_no_columns_to_choose(folder, iris, tmp_path):
    model = pasb.StickLogisticClassifier(n_chains=1, n_warmup=1, n_draws=4)
    with pytest.warns(ConvergenceWarning):
        model.fit(iris.drop(columns="class").to_numpy(), iris["class"])
    model.save(tmp_path / "a.pasb")
    refused(pasb_run("predict", tmp_path / "a.pasb", folder / "iris.csv"), "without column names")


def test_a_computation_that_fails_ends_with_1(folder, tmp_path, monkeypatch):
    def broken(self, X, y):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(pasb.StickLogisticClassifier, "fit", broken)
    arguments = ("fit", folder / "iris.csv", "--target", "class", "--out", tmp_path / "o.pasb")
    refused(pasb_run(*arguments), "computation failed", "not positive definite", code=1)
    assert isinstance(pasb_run(*arguments, "--traceback").exception, np.linalg.LinAlgError)


def test_parquet_without_pyarrow(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_text("x")
    refused(
        pasb_run("fit", tmp_path / "t.parquet", "--target", "y", "--out", tmp_path / "o.pasb"),
        "pip install 'pasb[files]'",
    )


def test_force_overwrites(folder, tmp_path):
    out = tmp_path / "o.pasb"
    out.write_text("old")
    result = pasb_run(
        "fit", folder / "iris.csv", "--target", "class", "--out", out, "--force", *FEW
    )
    assert result.exit_code == 0, result.output
    assert pasb.load(out).n_draws == 30


def test_the_installed_command(folder):
    code = "from pasb.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", folder / "m.pasb", folder / "no.csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize("command", ["predict", "export"])
def test_a_command_that_is_stopped_says_so(folder, tmp_path, monkeypatch, command):
    """It ended without a word, and so did a fit that was stopped before its chains."""

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pasb.load", stop)
    out = {"predict": [folder / "iris.csv"], "export": [tmp_path / "d.nc"]}[command]
    result = CliRunner().invoke(app, [command, *map(str, [folder / "m.pasb", *out])])
    assert result.exit_code == 130
    assert result.stderr == "Error: stopped before the work was done\n"


def stopped(stop, folder, tmp_path, *lengths):
    """A fit that gets a signal two seconds after it began to sample; its end and its model."""
    out, saved = tmp_path / "m.pasb", tmp_path / "saved"
    code = "from pasb.cli import main; main()"
    command = [
        *(sys.executable, "-c", code, "fit", folder / "iris.csv", "--target", "class"),
        *("--out", out, *lengths, "--chains", "2"),
        *("--drop", "sepal_width", "--checkpoint", saved),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not saved.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(2)
        process.send_signal(stop)
        printed, complaints = process.communicate(timeout=60)
    return process.returncode, flat(printed.decode()), flat(complaints.decode()), out


signals = pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@signals
def test_an_interrupt_saves_what_was_drawn(folder, tmp_path, stop):
    lengths = "--warmup", "0", "--draws", "5000000"
    code, printed, complaints, out = stopped(stop, folder, tmp_path, *lengths)
    assert code == 0, complaints
    model = pasb.load(out)
    assert model.draws_.interrupted
    assert 1 <= model.draws_.n_draws < 5_000_000
    assert "The run was stopped after" in printed
    assert f"The same fit continues from the checkpoint in '{tmp_path / 'saved'}'" in printed


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@signals
def test_an_interrupt_in_the_warmup_has_a_code_of_its_own(folder, tmp_path, stop):
    lengths = "--warmup", "5000000", "--draws", "10"
    code, printed, complaints, out = stopped(stop, folder, tmp_path, *lengths)
    assert code == 3
    assert printed.split()[-2:] == ["covariates", "3"]  # what the columns are, and no report
    assert "STOPPED IN THE WARM-UP" in complaints
    with pytest.warns(ConvergenceWarning, match="STOPPED IN THE WARM-UP"):
        assert pasb.load(out).draws_.ended == "warm-up"
