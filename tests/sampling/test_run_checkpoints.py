"""Runs with a checkpoint: stopped in many ways, continued, refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from tests.sampling.small_runs import N_DRAWS, N_WARMUP, X, Y, assert_same_draws, classifier, fit

import pasb.engines.threads
import pasb.sampling.run
from pasb.errors import CheckpointError
from pasb.storage.checkpoint import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def interrupt_at(sweep):
    """A callback that presses Ctrl-C once."""
    pressed = threading.Event()

    def callback(info):
        if info.sweep >= sweep and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.fixture
def often(monkeypatch):
    """Short slices, and a checkpoint after each."""
    monkeypatch.setattr(pasb.engines.threads.ThreadEngine, "slice_seconds", 0.001)
    monkeypatch.setattr(pasb.sampling.run, "CHECKPOINT_SECONDS", 0.0)


KILLED = """
import os, signal, sys
import numpy as np
import pasb.engines.threads
import pasb.sampling.run
from pasb import StickLogisticClassifier

# a checkpoint after every sweep, however fast they are
pasb.engines.threads.ThreadEngine.slice_seconds = 0.0
pasb.sampling.run.CHECKPOINT_SECONDS = 0.0

def kill(info):
    if info.chain == 1 and info.sweep == {sweep}:
        os.kill(os.getpid(), signal.SIGKILL)

table = np.load(sys.argv[1])
StickLogisticClassifier(
    n_chains=2, n_warmup={n_warmup}, n_draws={n_draws}, n_swaps=10, n_jobs=2, random_state=5,
    checkpoint=sys.argv[2], callbacks=[kill],
).fit(table["X"], table["Y"])
"""


@pytest.mark.usefixtures("often")
class TestCheckpoints:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("sweep", [3, N_WARMUP, N_WARMUP + 1, N_WARMUP + 11])
    def test_stopped_by_a_callback_and_resumed(self, whole, tmp_path, n_jobs, sweep):
        stop = [lambda info: info.sweep >= sweep]
        part = fit(checkpoint=tmp_path, n_jobs=n_jobs, callbacks=stop)
        assert part.draws_.interrupted
        resumed = fit(checkpoint=tmp_path, n_jobs=n_jobs)
        assert not resumed.draws_.interrupted
        assert_same_draws(resumed, whole)
        accepted = [model.draws_.statistics["swap_accepted"] for model in (resumed, whole)]
        np.testing.assert_array_equal(*accepted)

    def test_stopped_many_times(self, whole, tmp_path):
        for sweep in range(5, N_WARMUP + N_DRAWS, 9):
            fit(checkpoint=tmp_path, callbacks=[lambda info, sweep=sweep: info.sweep >= sweep])
        assert_same_draws(fit(checkpoint=tmp_path), whole)

    @pytest.mark.parametrize("sweep", [5, N_WARMUP + 5])
    def test_interrupted_and_resumed(self, whole, tmp_path, sweep):
        # the sweeps are held back, so that the run cannot end before the interrupt is seen
        wait = [interrupt_at(sweep), lambda info: info.sweep >= sweep and time.sleep(0.05)]
        part = fit(checkpoint=tmp_path, callbacks=wait, n_jobs=2)
        assert part.draws_.interrupted
        assert_same_draws(fit(checkpoint=tmp_path), whole)

    def test_killed_and_resumed(self, whole, tmp_path):
        np.savez(tmp_path / "data.npz", X=X, Y=Y)
        script = KILLED.format(sweep=N_WARMUP + 13, n_warmup=N_WARMUP, n_draws=N_DRAWS)
        command = [sys.executable, "-c", script, tmp_path / "data.npz", tmp_path / "run"]
        killed = subprocess.run(command, check=False, timeout=120)
        assert killed.returncode == -signal.SIGKILL
        swept = []
        model = fit(
            checkpoint=tmp_path / "run",
            callbacks=[lambda info: swept.append((info.chain, info.sweep)) or False],
        )
        assert_same_draws(model, whole)
        assert min(sweep for chain, sweep in swept if chain == 1) > N_WARMUP  # it did resume

    def test_a_finished_run_returns_at_once(self, whole, tmp_path):
        fit(checkpoint=tmp_path)
        swept = []
        again = fit(checkpoint=tmp_path, callbacks=[swept.append])
        assert swept == []
        assert_same_draws(again, whole)

    def test_more_draws_go_on_beyond_the_end(self, tmp_path):
        fit(checkpoint=tmp_path)
        longer = fit(checkpoint=tmp_path, n_draws=N_DRAWS + 15)
        assert_same_draws(longer, fit(n_draws=N_DRAWS + 15))

    def test_fewer_draws_are_the_first_ones(self, whole, tmp_path):
        fit(checkpoint=tmp_path)
        shorter = fit(checkpoint=tmp_path, n_draws=N_DRAWS - 10)
        assert shorter.draws_.n_draws == N_DRAWS - 10
        assert_same_draws(shorter, whole, n=N_DRAWS - 10)
        assert_same_draws(fit(checkpoint=tmp_path), whole)

    @pytest.mark.parametrize("thin", [2, 3])
    def test_with_thinning(self, tmp_path, thin):
        settings = {"thin": thin, "n_draws": 10}
        fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == N_WARMUP + 7], **settings)
        assert_same_draws(fit(checkpoint=tmp_path, **settings), fit(**settings))

    @pytest.mark.parametrize(
        "changes",
        [{"scheme": "paper"}, {"sticks": "augmented"}, {"order": [2, 0, 1]}, {"order": "swap"}],
    )
    def test_every_scheme(self, tmp_path, changes):
        fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == 25], **changes)
        assert_same_draws(fit(checkpoint=tmp_path, **changes), fit(**changes))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("random_state", 6),
            ("n_warmup", N_WARMUP + 1),
            ("thin", 2),
            ("n_chains", 3),
            ("precision", 2.0),
            ("precision_rate", 3.0),
            ("scheme", "paper"),
            ("sticks", "augmented"),
            ("order", [0, 1, 2]),
            ("order", "swap"),
            ("n_swaps", 11),
        ],
    )
    def test_other_settings_are_refused(self, tmp_path, name, value):
        fit(checkpoint=tmp_path)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(CheckpointError, match=name.removeprefix("precision_")):
            fit(checkpoint=tmp_path, **{name: value})
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("what", ["X", "y", "weights", "scale"])
    def test_other_data_is_refused(self, tmp_path, what):
        fit(checkpoint=tmp_path)
        table, labels, weights, changes = X.copy(), Y.copy(), None, {}
        if what == "X":
            table[0, 0] += 1e-9
        elif what == "y":
            labels[0] = 1
        elif what == "weights":
            weights = np.where(np.arange(60) == 3, 2.0, 1.0)
        else:
            changes["scale"] = None
        with pytest.raises(CheckpointError, match="data"):
            classifier(checkpoint=tmp_path, **changes).fit(table, labels, sample_weight=weights)

    def test_threads_progress_and_callbacks_do_not_matter(self, whole, tmp_path):
        fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == 30])
        model = fit(checkpoint=tmp_path, n_jobs=2, progress=False)
        assert_same_draws(model, whole)

    def test_without_a_random_state_the_stored_seed_is_used(self, tmp_path):
        stop = [lambda info: info.sweep == N_WARMUP + 10]
        part = fit(checkpoint=tmp_path, random_state=None, callbacks=stop)
        resumed = fit(checkpoint=tmp_path, random_state=None)
        assert_same_draws(part, resumed, n=part.draws_.n_draws)
        assert_same_draws(resumed, fit(checkpoint=tmp_path, random_state=None))

    def test_the_folder_may_be_given_as_text(self, whole, tmp_path):
        assert_same_draws(fit(checkpoint=str(tmp_path / "new" / "run")), whole)
        assert (tmp_path / "new" / "run" / "run.pasb").exists()

    def test_failing_writes_warn_once(self, whole, tmp_path, monkeypatch):
        def append(*args):
            raise CheckpointError("the disk is full.")

        monkeypatch.setattr(Checkpoint, "append", append)
        with pytest.warns(UserWarning, match="disk is full") as caught:
            model = fit(checkpoint=tmp_path)
        told = [str(w.message) for w in caught if "disk is full" in str(w.message)]
        assert len(told) == 1
        assert "Sampling continues" in told[0]
        assert_same_draws(model, whole)

    def test_no_draw_is_lost_when_some_writes_fail(self, whole, tmp_path, monkeypatch):
        append, calls = Checkpoint.append, []

        def sometimes(*args):
            calls.append(1)
            if len(calls) % 3:
                raise CheckpointError("no room.")
            append(*args)

        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            patch.setattr(Checkpoint, "append", sometimes)
            fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == N_WARMUP + 20])
        assert_same_draws(fit(checkpoint=tmp_path), whole)
