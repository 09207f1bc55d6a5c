"""Property-based fuzzing of checkpoints: runs continue, or the folder is refused by name.

Every property has a quick test and a slow one with many more examples.
"""

from __future__ import annotations

import shutil
import warnings

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.storage.fuzzing import (
    MODELS,
    X,
    Y,
    array_changes,
    byte_changes,
    changed_arrays,
    changed_bytes,
    changed_meta,
    check_message,
    json_values,
    little_memory,
    many,
    meta_changes,
    name_strategy,
    places,
    times,
)

from pasb.errors import CheckpointError
from pasb.storage import store
from pasb.storage.checkpoint import Checkpoint
from pasb.storage.run_file import CHECKPOINT_FORMAT

pytestmark = pytest.mark.filterwarnings(
    "ignore::pasb.errors.ConvergenceWarning", "ignore::RuntimeWarning"
)


# ---------------------------------------------------------------- checkpoints


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Folders of runs that were stopped on the way."""
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in MODELS.items():
            out[name] = tmp_path_factory.mktemp("checkpoints") / name
            stop = [lambda info: info.sweep >= 6]
            make(checkpoint=out[name], callbacks=stop).fit(X, Y)
    return out


def files_of(folder):
    return sorted(folder.rglob("*.pasb"))


def goes_on_or_stops(name, folder, **changes):
    """Resume a run; None when its checkpoint was refused as it should be."""
    try:
        return MODELS[name](checkpoint=folder).set_params(**changes).fit(X, Y)
    except CheckpointError as error:
        check_message(error, folder)
        return None


def check_changed_bytes_of_a_checkpoint(checkpoints, models, name, which, changes):
    folder = checkpoints[name].with_name("changed")
    shutil.copytree(checkpoints[name], folder)
    try:
        victim = files_of(folder)[int(which * len(files_of(folder)))]
        victim.write_bytes(changed_bytes(victim.read_bytes(), changes))
        model = goes_on_or_stops(name, folder)
        if model is not None:
            np.testing.assert_array_equal(model.predict_proba(X), models[name][1])
    finally:
        shutil.rmtree(folder)


def check_changed_content_of_a_checkpoint(checkpoints, name, which, meta_changes, array_changes):
    """Right checksums around wrong content: refused, set aside, or sampled on from there."""
    folder = checkpoints[name].with_name("changed")
    shutil.copytree(checkpoints[name], folder)
    try:
        victim = files_of(folder)[int(which * len(files_of(folder)))]
        kind = store.describe(victim)["kind"]
        meta, arrays = store.read(victim, kind)
        try:
            meta, arrays = changed_meta(meta, meta_changes), changed_arrays(arrays, array_changes)
            store.write(victim, kind, meta, arrays)
        except (TypeError, ValueError, RecursionError):
            return
        with little_memory(sum(path.stat().st_size for path in files_of(folder))):
            goes_on_or_stops(name, folder)
    finally:
        shutil.rmtree(folder)


CHECKPOINT_BYTES = {"name": name_strategy, "which": places, "changes": byte_changes}
CHECKPOINT = {
    "name": name_strategy,
    "which": places,
    "meta_changes": meta_changes,
    "array_changes": array_changes,
}
test_changed_bytes_of_a_checkpoint = times(
    20, CHECKPOINT_BYTES, check_changed_bytes_of_a_checkpoint
)
test_changed_bytes_of_a_checkpoint_many = many(
    50, CHECKPOINT_BYTES, check_changed_bytes_of_a_checkpoint
)
test_changed_content_of_a_checkpoint = times(15, CHECKPOINT, check_changed_content_of_a_checkpoint)
test_changed_content_of_a_checkpoint_many = many(
    40, CHECKPOINT, check_changed_content_of_a_checkpoint
)


def check_any_fingerprint(tmp_path_factory, meta):
    """A folder whose run says anything at all: peeked at, or refused."""
    folder = tmp_path_factory.mktemp("run")
    try:
        store.write(folder / "run.pasb", "checkpoint-run", meta, {})
    except (TypeError, ValueError, RecursionError):
        return
    try:
        Checkpoint.peek(folder)
        goes_on_or_stops("logistic", folder)
        goes_on_or_stops("logistic", folder, random_state=None)  # the seed is that of the file
    except CheckpointError as error:
        check_message(error, folder)


FINGERPRINTS = {
    "meta": st.fixed_dictionaries(
        {"checkpoint_format": st.just(CHECKPOINT_FORMAT) | json_values},
        optional={
            "fingerprint": json_values
            | st.dictionaries(st.just("random_state") | st.text(max_size=5), json_values)
        },
    )
}
test_any_fingerprint = times(40, FINGERPRINTS, check_any_fingerprint)
test_any_fingerprint_many = many(40, FINGERPRINTS, check_any_fingerprint)
