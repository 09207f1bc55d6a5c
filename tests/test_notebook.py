"""In a kernel of Jupyter: pictures appear, and so does what a fit says of itself."""

from __future__ import annotations

from base64 import b64decode

import pytest

SETUP = """
import warnings
import matplotlib.pyplot as plt
import numpy as np
from numba import njit
import pasb
from pasb import plots
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = rng.normal(size=(60, 2)) + np.eye(3)[y][:, :2]
def kernel(x):
    return x + 1.5
kernel.__module__ = "pasb.made_up"  # compiled as one of pasb, in no time
kernel = njit(kernel)
def fit(**settings):
    short = dict(n_chains=2, n_warmup=20, n_draws=30, n_jobs=1, random_state=5)
    return pasb.StickLogisticClassifier(**short, **settings).fit(X, y)
"""
CELLS = {
    "setup": SETUP,
    "fit": "model = fit(progress=True)",
    "compile": "with pasb.sampling.progress.Progress('auto'):\n    kernel(1.0)",
    "figure": "plots.trace(model)",
    "axes": "plots.order_posterior(model)",
    "shown": "plots.trace(model)\nplt.show()\nnothing = None",
    "model": "model",
}


@pytest.fixture(scope="module")
def outputs():
    """What each cell shows."""
    reason = "pip install '.[dev]'"
    pytest.importorskip("ipykernel", reason=reason)
    nbformat = pytest.importorskip("nbformat", reason=reason)
    client = pytest.importorskip("nbclient", reason=reason)
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    client.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def texts(some):
    return "".join(one["text"] for one in some if one["output_type"] == "stream")


def pictures(some):
    shown = [one["data"] for one in some if "data" in one]
    return [b64decode(data["image/png"]) for data in shown if "image/png" in data]


@pytest.mark.parametrize("cell", ["figure", "axes", "shown"])
def test_pictures_appear(outputs, cell):
    found = pictures(outputs[cell])
    assert len(found) == 1, outputs[cell]
    assert found[0].startswith(b"\x89PNG")


def test_progress_appears(outputs):
    said = texts(outputs["fit"])
    assert "pasb: choosing the prior" in said
    assert "pasb: draws: 100 of 100 sweeps (100%)" in said
    assert "\r" not in said
    assert "nan" not in said


def test_compiling_appears(outputs):
    assert "pasb: compiling kernels, once after installation" in texts(outputs["compile"])


def test_models_show_themselves(outputs):
    assert any("text/html" in one.get("data", {}) for one in outputs["model"])
