"""The progress display: when it is shown, and what."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pasb import StickLogisticClassifier

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
N_WARMUP, N_DRAWS = 20, 30


def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    return rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2], y


X, Y = data()


def classifier(**changes):
    settings = {
        "n_chains": 2,
        "n_warmup": N_WARMUP,
        "n_draws": N_DRAWS,
        "n_swaps": 10,
        "n_jobs": 1,
        "random_state": 5,
    }
    return StickLogisticClassifier(**(settings | changes))


def fit(**changes):
    return classifier(**changes).fit(X, Y)


class TestProgress:
    def test_shown(self, capsys):
        fit(progress=True)
        shown = capsys.readouterr()
        assert "chain 1" in shown.err
        assert "chain 2" in shown.err
        assert f"{N_WARMUP + N_DRAWS}/{N_WARMUP + N_DRAWS}" in shown.err
        assert shown.out == ""

    @pytest.mark.parametrize("progress", [False, "auto"])
    def test_not_shown(self, capsys, progress):
        fit(progress=progress)
        shown = capsys.readouterr()
        assert shown.err == shown.out == ""

    def test_auto_looks_at_the_terminal(self, monkeypatch, capsys):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        fit(progress="auto")
        assert "chain 1" in capsys.readouterr().err

    def test_without_a_stderr(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", None)
        fit(progress="auto")

    def test_stopped_run(self, capsys):
        fit(progress=True, callbacks=[lambda info: info.sweep == 5])
        assert "warm-up" in capsys.readouterr().err
