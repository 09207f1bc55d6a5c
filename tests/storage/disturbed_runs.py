"""Runs to disturb, and what is compared afterwards."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pasb
import pasb.engines.threads
import pasb.sampling.run
from pasb.storage.checkpoint import Checkpoint

SHORT = {"n_warmup": 10, "n_draws": 20, "n_jobs": 2, "random_state": 7, "progress": False}
MODELS = {
    "logistic": ("StickLogisticClassifier", {"n_chains": 2, "n_swaps": 10}),
    "softplus": (
        "SoftplusClassifier",
        {"n_experts": 2, "n_layers": 2, "direction": "both", "n_chains": 1, "n_swaps": 10},
    ),
}


def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + 1.5 * np.eye(3)[y][:, :2], y


X, Y = data()


def classifier(name="logistic", **changes):
    class_name, settings = MODELS[name]
    return getattr(pasb, class_name)(**(SHORT | settings | changes))


def fit(name="logistic", **changes):
    return classifier(name, **changes).fit(X, Y)


def assert_same(model, other, n=None):
    """Bit for bit, all draws or the first n."""
    a, b = model.draws_, other.draws_
    assert a.directions == b.directions
    np.testing.assert_array_equal(a.order[:, :n], b.order[:, :n])
    np.testing.assert_array_equal(a.log_likelihood[:, :n], b.log_likelihood[:, :n])
    for name, counts in a.statistics.items():
        np.testing.assert_array_equal(counts[:, :n], b.statistics[name][:, :n])
    assert a.parameters.keys() == b.parameters.keys()
    for key in a.parameters:
        np.testing.assert_array_equal(a.parameters[key][:, :n], b.parameters[key][:, :n])


def segments(folder):
    return sorted(Path(folder).glob("**/chain-*/*.pasb"))


def saved(folder, chain=0):
    """What a folder holds of a chain, read from a copy: looking must not need the folder.

    A run that was killed early may have made its folder and not yet said in it what it is.
    """
    copy = Path(folder).with_name(f"copy-of-{Path(folder).name}")
    shutil.copytree(folder, copy)
    try:
        fingerprint = Checkpoint.peek(copy)
        if fingerprint is None:
            return None
        with Checkpoint.open(copy, fingerprint) as checkpoint:
            return checkpoint.load(chain)
    finally:
        shutil.rmtree(copy)


def assert_readable(folder, whole):
    """Every draw on disk is one of the undisturbed run."""
    for chain in range(whole.draws_.n_chains):
        here = saved(folder, chain)
        if here is None or not here.draws:
            continue
        n = len(here.draws["order"])
        expected = whole.draws_.log_likelihood[chain, :n]
        np.testing.assert_array_equal(here.draws["log_likelihood"], expected)
        # a symmetric model's draws are sorted once all of them are there
        same = (here.draws["order"] == whole.draws_.order[chain, :n]).all(axis=1)
        for key, values in whole.draws_.parameters.items():
            np.testing.assert_array_equal(here.draws[key][same], values[chain, :n][same])


def named(error, *words):
    """Whether a message says what it is about."""
    for word in words:
        assert str(word) in str(error)


# ---------------------------------------------------------------- kills

RUN = """
import json, sys, warnings
import numpy as np
import pasb, pasb.engines.threads, pasb.sampling.run
warnings.simplefilter("ignore")
pasb.engines.threads.ThreadEngine.slice_seconds = 0.0
pasb.sampling.run.CHECKPOINT_SECONDS = 0.0
class_name, settings, data, folder = json.loads(sys.argv[1])
table = np.load(data)
print("go", flush=True)
getattr(pasb, class_name)(**settings, checkpoint=folder).fit(table["X"], table["Y"])
print("done", flush=True)
"""


def start(name, folder, data, **changes):
    """A process that has imported pasb and is about to fit."""
    class_name, settings = MODELS[name]
    argument = json.dumps([class_name, SHORT | settings | changes, str(data), str(folder)])
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, argument], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "go\n"
    return process


needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
