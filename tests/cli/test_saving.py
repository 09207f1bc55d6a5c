"""Results are not lost: the place is tried before the work, and another one is found after it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pasb
from pasb.classifiers import model_file
from pasb.cli import app
from pasb.cli.failures import UsageError
from pasb.cli.saving import check_writable

FEW = ["--chains", "2", "--warmup", "30", "--draws", "30", "--seed", "1", "--no-progress"]
TABLE = "size,y\n" + "".join(f"{k % 7},{'ab'[k % 2]}\n" for k in range(60))


def pasb_run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path / "t.csv"


def no_room(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_place_is_tried_before_the_sampling(table, tmp_path, monkeypatch):
    monkeypatch.setattr("pasb.cli.saving.open", no_room, raising=False)
    monkeypatch.setattr(pasb.StickLogisticClassifier, "fit", lambda *a: pytest.fail("sampled"))
    result = pasb_run("fit", table, "--target", "y", "--out", tmp_path / "m.pasb", *FEW)
    assert result.exit_code == 2
    assert "m.pasb cannot be written: No space left on device" in result.stderr


def test_a_trial_leaves_nothing_behind(table, tmp_path):
    (tmp_path / "old.pasb").write_text("old")
    check_writable(tmp_path / "old.pasb", True, [table])
    assert (tmp_path / "old.pasb").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.pasb", "t.csv"]


def test_a_run_that_cannot_be_saved_goes_elsewhere(table, tmp_path, monkeypatch):
    """The disk fills up while the chains run."""
    out, other = tmp_path / "full" / "m.pasb", tmp_path / "elsewhere"
    out.parent.mkdir()
    other.mkdir()
    monkeypatch.chdir(other)
    real = model_file.store.write

    def write(path, *rest):
        if path.parent == out.parent:
            no_room()
        real(path, *rest)

    monkeypatch.setattr("pasb.classifiers.model_file.store.write", write)
    result = pasb_run("fit", table, "--target", "y", "--out", out, *FEW)
    assert result.exit_code == 1
    assert "Convergence" in result.output
    (saved,) = other.glob("m-*.pasb")
    assert f"so the model is in {saved} instead" in result.stderr
    assert "No space left on device" in result.stderr
    assert pasb.load(saved).draws_.n_draws == 30


def test_a_user_without_a_home_loses_no_run(table, tmp_path, monkeypatch):
    """As in a container that runs under any number: looking for the home lost the model."""
    out, working, last = (tmp_path / name for name in ("full", "working", "last"))
    for folder in (out, working, last):
        folder.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # whom no file knows
    monkeypatch.setattr("tempfile.tempdir", str(last))
    real = model_file.store.write

    def write(path, *rest):
        if path.parent in (out, working):
            no_room()
        real(path, *rest)

    monkeypatch.setattr("pasb.classifiers.model_file.store.write", write)
    with pytest.raises(RuntimeError):
        Path.home()
    result = pasb_run("fit", table, "--target", "y", "--out", out / "m.pasb", *FEW)
    (saved,) = last.glob("m-*.pasb")
    assert f"so the model is in {saved} instead" in result.stderr
    assert pasb.load(saved).draws_.n_draws == 30


@pytest.mark.parametrize("kept", [False, True], ids=["lost", "checkpoint"])
def test_where_no_place_takes_the_model_the_report_is_printed(table, tmp_path, monkeypatch, kept):
    """It ended with the bare error of the system and the code for bad input."""
    real = model_file.store.write

    def write(path, *rest):
        if "run" not in Path(path).parts:
            no_room()
        real(path, *rest)

    monkeypatch.setattr("pasb.classifiers.model_file.store.write", write)
    options = ["--checkpoint", tmp_path / "run"] if kept else []
    result = pasb_run("fit", table, "--target", "y", "--out", tmp_path / "m.pasb", *FEW, *options)
    assert result.exit_code == 1
    assert "Convergence" in result.output
    told = "takes the model from there" if kept else "so the model is lost. With --checkpoint"
    assert "m.pasb could not be written (No space left on device), nor could" in result.stderr
    assert told in result.stderr
    if kept:
        monkeypatch.undo()
        again = ["--out", tmp_path / "n.pasb", *options]
        assert pasb_run("fit", table, "--target", "y", *FEW, *again).exit_code == 0
        assert pasb.load(tmp_path / "n.pasb").draws_.n_draws == 30


def test_a_read_only_folder_is_named_by_what_was_asked_for(table, tmp_path, monkeypatch):
    """Such a file system refuses to remove files too, whether they are there or not."""

    def read_only(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("pasb.cli.saving.open", read_only, raising=False)
    monkeypatch.setattr("pathlib.Path.unlink", read_only)
    with pytest.raises(UsageError, match=r"--out .*m.pasb cannot be written: Read-only"):
        check_writable(tmp_path / "m.pasb", False, [table])


def test_what_is_read_is_not_overwritten(table, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="is the file that is read"):
        check_writable(table, True, [table])
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    with pytest.raises(UsageError, match="is the file that is read"):
        check_writable(link, True, [table])
    result = pasb_run("fit", table, "--target", "y", "--out", table, "--force", *FEW)
    assert result.exit_code == 2
    assert table.read_text() == TABLE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_refused_before_the_work(table, tmp_path):
    """A file took their place with --force, and that of /dev/null for an administrator."""
    for name in ("m.pasb", "page.html", "p.csv", "draws.nc"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "link.pasb").symlink_to(tmp_path / "m.pasb")
    model = tmp_path / "real.pasb"
    fit = ["fit", table, "--target", "y", *FEW]
    assert pasb_run(*fit, "--out", model).exit_code == 0
    for command in (
        [*fit, "--out", tmp_path / "m.pasb"],
        [*fit, "--out", tmp_path / "link.pasb"],
        [*fit, "--out", tmp_path / "new.pasb", "--report", tmp_path / "page.html"],
        ["predict", model, table, "--out", tmp_path / "p.csv"],
        ["report", model, "--out", tmp_path / "page.html"],
        ["export", model, tmp_path / "draws.nc"],
    ):
        result = pasb_run(*command, "--force")
        assert result.exit_code == 2, result.output
        assert "is a device, pipe or socket, which a file must not replace" in result.stderr
    assert (tmp_path / "m.pasb").is_fifo()


def test_model_and_report_are_two_files(table, tmp_path, monkeypatch):
    """By whatever paths: the page would be written over the model, which is lost."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.html").symlink_to(tmp_path / "q.pasb")
    for report in (tmp_path / "q.pasb", "./q.pasb", "link.html"):
        options = ["--target", "y", "--out", "q.pasb", "--report", report, *FEW]
        result = pasb_run("fit", table, *options)
        assert result.exit_code == 2, result.output
        assert "--report and --out name the same file" in result.stderr
    result = pasb_run("fit", table, *options[:4], "--report", table, "--force")
    assert f"--report {table} is the file that is read" in result.stderr
    monkeypatch.setattr("pasb.cli.saving.open", no_room, raising=False)
    with pytest.raises(UsageError, match=r"--report page.html cannot be written: No space"):
        check_writable(Path("page.html"), False, [table], "--report")


def test_a_full_disk_leaves_old_predictions_whole(table, tmp_path, monkeypatch):
    model, out = tmp_path / "m.pasb", tmp_path / "p.csv"
    assert pasb_run("fit", table, "--target", "y", "--out", model, *FEW).exit_code == 0
    assert pasb_run("predict", model, table, "--out", out).exit_code == 0
    old = out.read_bytes()
    monkeypatch.setattr("pasb.storage.whole_file.os.fsync", no_room)
    result = pasb_run("predict", model, table, "--out", out, "--force", "--interval", "0.5")
    assert result.exit_code == 2
    assert "p.csv cannot be written: No space left on device" in result.stderr
    assert out.read_bytes() == old
