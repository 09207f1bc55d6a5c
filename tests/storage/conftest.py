"""A file to read and to damage, runs that nothing disturbed, saved models."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.storage import disturbed_runs
from tests.storage.fuzzing import FILES, Models, Y, table_of
from tests.storage.small_files import META, VALUES

import pasb
import pasb.engines.threads
import pasb.sampling.run
from pasb.errors import ConvergenceWarning
from pasb.storage import store


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "file.pasb"
    store.write(path, "test", META, VALUES)
    return path


@pytest.fixture(scope="module")
def whole():
    """Runs that nothing disturbed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {name: disturbed_runs.fit(name) for name in disturbed_runs.MODELS}


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every sweep."""
    monkeypatch.setattr(pasb.engines.threads.ThreadEngine, "slice_seconds", 0.0)
    monkeypatch.setattr(pasb.sampling.run, "CHECKPOINT_SECONDS", 0.0)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Saved models: their files, and the probabilities they give."""
    folder = tmp_path_factory.mktemp("models")
    out = Models()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in FILES.items():
            model = make().fit(table_of(name), Y)
            pasb.save(model, folder / f"{name}.pasb")
            out[name] = (folder / f"{name}.pasb", model.predict_proba(table_of(name)))
    return out
