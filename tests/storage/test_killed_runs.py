"""Runs that are killed, dead workers, and two runs in one folder.

The same call of `fit` continues and ends with the draws of a run that was never disturbed, bit for
bit, or it stops with an error that names the folder.
"""

from __future__ import annotations

import random
import shutil
import signal
import time

import joblib
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from tests.storage.disturbed_runs import (
    MODELS,
    X,
    Y,
    assert_readable,
    assert_same,
    classifier,
    fit,
    needs_signals,
    saved,
    segments,
    start,
)

from pasb.errors import CheckpointError
from pasb.storage import store

pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning"),
    pytest.mark.usefixtures("often"),
]


LONGER = {"n_draws": 150}  # so that most of the time goes into sweeps


def kill_many(name, tmp_path, seed, n_kills, longest=None):
    """Kill a run after random delays, again and again, and resume it after each.

    The delays last up to `longest` seconds, or up to the length of an undisturbed run. A run
    that ends before its kill is started again in another folder. Returns how many kills came
    before the first draw was on disk, and how many after.
    """
    rng = random.Random(seed)
    data = tmp_path / "data.npz"
    np.savez(data, X=X, Y=Y)
    whole = fit(name, **LONGER)
    if longest is None:
        process, begun = start(name, tmp_path / "undisturbed", data, **LONGER), time.monotonic()
        process.communicate()
        longest = time.monotonic() - begun
    folder, n_folders = tmp_path / "run-0", 0
    early = late = 0
    while early + late < n_kills:
        process = start(name, folder, data, **LONGER)
        time.sleep(rng.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        if "done" in out:
            assert_same(fit(name, checkpoint=folder, **LONGER), whole)
            n_folders += 1
            folder = tmp_path / f"run-{n_folders}"
            continue
        assert process.returncode == -signal.SIGKILL
        copy = tmp_path / "copy"
        if folder.exists():  # a kill may come before the folder is there
            assert_readable(folder, whole)
            shutil.copytree(folder, copy)
        draws = any(store.describe(path)["meta"]["n_draws"] for path in segments(folder))
        early, late = early + (not draws), late + draws
        assert_same(fit(name, checkpoint=copy, **LONGER), whole)
        shutil.rmtree(copy)
    assert_same(fit(name, checkpoint=folder, **LONGER), whole)
    return early, late


@needs_signals
@pytest.mark.parametrize(("name", "n_kills"), [("logistic", 2), ("softplus", 1)])
def test_killed_at_random_moments(name, n_kills, tmp_path, seed):
    assert sum(kill_many(name, tmp_path, seed, n_kills, longest=1.5)) == n_kills


@needs_signals
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_killed_at_fifty_random_moments(name, tmp_path, seed):
    early, late = kill_many(name, tmp_path, seed, 50)
    print(f"{name}: {early} kills before the first draw, {late} after it")
    assert late > 5  # the delays reached into the sampling


def test_killed_before_the_run_was_named(whole, tmp_path):
    """Its folder and lock are there, and nothing else."""
    folder = tmp_path / "run"
    fit(checkpoint=folder)
    for path in folder.glob("chain-*"):
        shutil.rmtree(path)
    (folder / "run.pasb").unlink()
    assert_readable(folder, whole["logistic"])
    assert_same(fit(checkpoint=folder), whole["logistic"])


DYING = """
import os, signal
import pasb, pasb.engines.threads, pasb.sampling.run
pasb.engines.threads.ThreadEngine.slice_seconds = pasb.sampling.run.CHECKPOINT_SECONDS = 0.0

def die(info):
    if info.chain == 0 and info.sweep == 25:
        os.kill(os.getpid(), signal.SIGKILL)

model.set_params(callbacks=[die]).fit(X, Y)
"""


@needs_signals
def test_a_killed_joblib_worker(whole, tmp_path):
    """The worker that fits dies; joblib says so, and the run continues from its checkpoint."""

    folder = tmp_path / "run"
    names = {"model": classifier(checkpoint=folder), "X": X, "Y": Y}
    with pytest.raises(TerminatedWorkerError):
        joblib.Parallel(n_jobs=2)([joblib.delayed(exec)(DYING, names)])
    assert_readable(folder, whole["logistic"])
    assert len(saved(folder).draws["order"]) > 5  # of chain 0
    assert_same(fit(checkpoint=folder), whole["logistic"])


@pytest.mark.parametrize("death", [MemoryError, SystemExit, RuntimeError])
def test_a_dead_worker_thread(whole, tmp_path, death):
    """The thread of one chain dies; the error comes out, and the run can be continued."""

    def die(info):
        if info.chain == 1 and info.sweep == 20:
            raise death("worker")

    with pytest.raises(death, match="worker"):
        fit(checkpoint=tmp_path / "run", callbacks=[die])
    assert_readable(tmp_path / "run", whole["logistic"])
    assert_same(fit(checkpoint=tmp_path / "run"), whole["logistic"])


# ---------------------------------------------------------------- two runs, one folder


@needs_signals
def test_two_runs_in_one_folder(whole, tmp_path):
    """The second is refused, and the first comes to its end all the same."""
    np.savez(tmp_path / "data.npz", X=X, Y=Y)
    process = start("logistic", tmp_path / "run", tmp_path / "data.npz", n_draws=100_000)
    try:
        deadline = time.monotonic() + 60
        while not segments(tmp_path / "run") and time.monotonic() < deadline:
            time.sleep(0.02)
        with pytest.raises(CheckpointError, match=f"another run is using.*process {process.pid}"):
            fit(checkpoint=tmp_path / "run", n_draws=100_000)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert_same(fit(checkpoint=tmp_path / "run"), whole["logistic"])
