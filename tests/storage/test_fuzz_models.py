"""Property-based fuzzing of model files: they are read as what they are, or refused by name.

Every property has a quick test and a slow one with many more examples.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import warnings
import zipfile

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
    file_names,
    json_values,
    load_or_refuse,
    many,
    meta_changes,
    places,
    table_of,
    times,
)

import pasb
from pasb.covariates.tables import TableError
from pasb.errors import CheckpointError, FileFormatError
from pasb.storage import store
from pasb.storage.checkpoint import Checkpoint
from pasb.storage.run_file import CHECKPOINT_FORMAT

pytestmark = pytest.mark.filterwarnings(
    "ignore::pasb.errors.ConvergenceWarning", "ignore::RuntimeWarning"
)


def check_changed_bytes_of_a_model(models, name, changes):
    path, proba = models[name]
    other = path.with_name("changed.pasb")
    other.write_bytes(changed_bytes(path.read_bytes(), changes))
    model = load_or_refuse(other)
    if model is not None:  # the change hit nothing that matters
        np.testing.assert_array_equal(model.predict_proba(table_of(name)), proba)


def check_changed_content_of_a_model(models, name, meta_changes, array_changes):
    """Right checksums around wrong content: refused, or a model that predicts."""
    path, _ = models[name]
    meta, arrays = store.read(path, "model")
    other = path.with_name("changed.pasb")
    try:
        meta, arrays = changed_meta(meta, meta_changes), changed_arrays(arrays, array_changes)
        store.write(other, "model", meta, arrays)
    except (TypeError, ValueError, RecursionError):  # cannot even be written
        return
    model = load_or_refuse(other)
    if model is None or model.n_features_in_ != 2:
        return
    if name == "pipeline" and list(model.feature_names_in_) != ["size", "level"]:
        return
    try:
        proba = model.predict_proba(table_of(name))
    except TableError:  # another reading: the words are no dates, for instance
        assert name == "pipeline"
        return
    assert proba.shape == (45, len(model.classes_))
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-9)


BYTES = {"name": file_names, "changes": byte_changes}
CONTENT = {
    "name": file_names,
    "meta_changes": meta_changes,
    "array_changes": array_changes,
}
test_changed_bytes_of_a_model = times(150, BYTES, check_changed_bytes_of_a_model)
test_changed_bytes_of_a_model_many = many(150, BYTES, check_changed_bytes_of_a_model)
test_changed_content_of_a_model = times(200, CONTENT, check_changed_content_of_a_model)
test_changed_content_of_a_model_many = many(200, CONTENT, check_changed_content_of_a_model)


# ---------------------------------------------------------------- archives


member_names = st.sampled_from(
    ["../x", "/etc/passwd", "a/../../x", "0.bin", "pasb.json", "pasb.sha256", "C:\\x", "x\0y", "."]
) | st.text(min_size=1, max_size=10).filter(
    lambda name: name[0] != "\0"  # zipfile cannot write such a name
)
header_changes = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["format", "format_version", "version", "kind"]), json_values),
        st.tuples(
            st.just("dtype"), st.sampled_from(["object", "|O", "V8", "U9", "M8", ">f8", "g"])
        ),
        st.tuples(
            st.just("shape"),
            st.lists(st.integers(-1, 2**70) | st.sampled_from([0, 1, 2**40]), max_size=70),
        ),
        st.tuples(st.just("sha256"), st.text(max_size=3)),
        st.tuples(st.just("name"), json_values),
    ),
    max_size=3,
)
member_changes = st.lists(
    st.tuples(
        st.sampled_from(["rename", "repeat", "drop", "add", "deflate", "size"]),
        places,
        member_names,
    ),
    max_size=3,
)


def check_changed_archive(models, name, header_changes, member_changes, huge):
    """Other members and another header, with checksums that are right again."""
    path, proba = models[name]
    with zipfile.ZipFile(path) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    header = json.loads(dict(members)["pasb.json"])
    for what, value in header_changes:
        target = header["arrays"][0] if what in ("dtype", "shape", "sha256", "name") else header
        target[what] = value
    text = json.dumps(header).encode()
    members = [(n, text if n == "pasb.json" else content) for n, content in members]
    digest = hashlib.sha256(text).hexdigest().encode()
    members = [(n, digest if n == "pasb.sha256" else content) for n, content in members]
    deflated = set()
    for what, place, value in member_changes:
        if not members:
            break
        at = int(place * len(members))
        if what == "rename":
            members[at] = (value, members[at][1])
        elif what == "repeat":
            members.append(members[at])
        elif what == "drop":
            del members[at]
        elif what == "add":
            members.insert(at, (value, pickle.dumps(exit)))
        elif what == "deflate":
            deflated.add(members[at][0])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, content in members:
            kind = zipfile.ZIP_DEFLATED if n in deflated else zipfile.ZIP_STORED
            archive.writestr(n, content, compress_type=kind)
    content = buffer.getvalue()
    if huge is not None and (at := content.rfind(b"PK\1\2")) >= 0:  # sizes in the directory
        content = content[: at + 20] + huge * 2 + content[at + 28 :]
    other = path.with_name("changed.pasb")
    other.write_bytes(content)
    before = sorted(path.parent.iterdir())
    model = load_or_refuse(other)
    assert sorted(path.parent.iterdir()) == before
    if model is not None:
        np.testing.assert_array_equal(model.predict_proba(table_of(name)), proba)


ARCHIVE = {
    "name": file_names,
    "header_changes": header_changes,
    "member_changes": member_changes,
    "huge": st.none() | st.sampled_from([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x40"]),
}
test_changed_archive = times(150, ARCHIVE, check_changed_archive)
test_changed_archive_many = many(150, ARCHIVE, check_changed_archive)


def test_coefficients_beyond_any_chain_are_refused(models):
    path, _ = models["stacked"]
    meta, arrays = store.read(path, "model")
    arrays["draws_coef"][:] = 1e308
    other = path.with_name("changed.pasb")
    store.write(other, "model", meta, arrays)
    with pytest.raises(FileFormatError, match="coef is so large"):
        pasb.load(other)


def test_messages_quote_little_of_a_file(models, tmp_path):
    path, _ = models["logistic"]
    long = "x" * 10_000
    meta, arrays = store.read(path, "model")
    store.write(tmp_path / "kind.pasb", long, meta, arrays)
    with pytest.raises(FileFormatError) as refused:
        pasb.load(tmp_path / "kind.pasb")
    check_message(refused.value, tmp_path / "kind.pasb")
    store.write(tmp_path / "run.pasb", "checkpoint-run", {"checkpoint_format": long}, {})
    with pytest.raises(CheckpointError) as refused:
        Checkpoint.peek(tmp_path)
    check_message(refused.value, tmp_path)
    many_keys = {f"{k}{long}": long for k in range(100)}
    run = {"checkpoint_format": CHECKPOINT_FORMAT, "fingerprint": many_keys}
    store.write(tmp_path / "run.pasb", "checkpoint-run", run, {})
    (tmp_path / "kind.pasb").unlink()
    with pytest.raises(CheckpointError, match=r"and \d+ more") as refused:
        MODELS["logistic"](checkpoint=tmp_path).fit(X, Y)
    check_message(refused.value, tmp_path)


def test_nothing_in_a_file_is_executed(models, monkeypatch):
    """Neither pickle nor eval nor an import by name is within reach of a loader."""

    def never(*args, **kwargs):
        raise AssertionError("executed")

    for where in ("pickle.loads", "pickle.load", "numpy.load", "builtins.eval"):
        monkeypatch.setattr(where, never)
    for name, (path, proba) in models.items():
        np.testing.assert_array_equal(pasb.load(path).predict_proba(table_of(name)), proba)


def test_watched_rows_do_not_multiply(models):
    """Rows times draws times classes could be far more than the file has bytes."""
    path, _ = models["logistic"]
    meta, arrays = store.read(path, "model")
    for key in ("row", "inner", "category"):
        arrays[f"monitored_{key}"] = np.repeat(arrays[f"monitored_{key}"][:1], 20_000, axis=0)
    for key in ("order", "log_likelihood", "statistics_swap_accepted", "draws_coef"):
        arrays[key] = np.repeat(arrays[key], 1000, axis=1)
    other = path.with_name("changed.pasb")
    store.write(other, "model", meta, arrays)
    assert load_or_refuse(other) is None
