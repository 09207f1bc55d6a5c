"""Property-based fuzzing of all that reads files: models, checkpoints and tables.

A file is read as what it is, or refused with pasb's own error that names it. Every property
has a quick test and a slow one with many more examples.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import hashlib
import io
import json
import math
import pickle
import shutil
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

import pasb
from pasb import TableEncoder
from pasb.cli.training_table import ColumnOptions, training_table
from pasb.covariates import tables
from pasb.covariates.encoder_file import encoder_from_json, encoder_to_json
from pasb.covariates.table_writing import write_table
from pasb.covariates.tables import TableError
from pasb.errors import CheckpointError, FileFormatError
from pasb.storage import store
from pasb.storage.checkpoint import Checkpoint
from pasb.storage.run_file import CHECKPOINT_FORMAT

pytestmark = pytest.mark.filterwarnings(
    "ignore::pasb.errors.ConvergenceWarning", "ignore::RuntimeWarning"
)

SMALL = {"n_chains": 1, "n_warmup": 3, "n_draws": 6, "n_jobs": 1, "random_state": 0}
SOFT = {"n_experts": 2, "n_layers": 2}
MODELS = {
    "logistic": lambda **more: pasb.StickLogisticClassifier(**SMALL, **more),
    "softplus": lambda **more: pasb.SoftplusClassifier(**SMALL, **SOFT, **more),
    "stacked": lambda **more: pasb.StackedSoftplusClassifier(
        **SMALL, **SOFT, stack_sweeps=6, **more
    ),
    "svm": lambda **more: pasb.StickSVMClassifier(**SMALL, width=0.5, n_bases=10, **more),
}
FILES = {
    **MODELS,
    "pipeline": lambda: make_pipeline(
        pasb.TableEncoder(categorical=["level"]), pasb.StickLogisticClassifier(**SMALL)
    ),
}
N_EXAMPLES_SLOW = 20  # times as many as in the quick test


def times(n_examples, strategies, body):
    """`body` as a property; the examples follow from its name."""
    chosen = settings(
        max_examples=n_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    return chosen(given(**strategies)(body))


def many(n_examples, strategies, body):
    return pytest.mark.slow(times(N_EXAMPLES_SLOW * n_examples, strategies, body))


def check_message(error, path):
    assert str(path) in str(error)
    assert len(str(error)) < 2000


def data():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    return rng.normal(size=(45, 2)) + 1.5 * np.eye(3)[y][:, :2], y


X, Y = data()
# as text, with gaps and a column of categories
TEXT = pd.DataFrame({"size": X[:, 0].round(2), "level": np.arange(45) % 4}).astype(str)
TEXT.loc[:2, "size"] = "NA"


def table_of(name):
    """The table that a model is fitted to."""
    return TEXT if name == "pipeline" else X


# ---------------------------------------------------------------- how files are mutated

places = st.floats(0, 1, exclude_max=True)  # a place in a file or list, as a share of its length
byte_changes = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), places, st.integers(0, 7)),
        st.tuples(st.just("cut"), places, st.just(0)),
        st.tuples(st.just("behead"), places, st.just(0)),
        st.tuples(st.just("drop"), places, st.integers(1, 64)),
        st.tuples(st.just("repeat"), places, st.integers(1, 64)),
        st.tuples(st.just("insert"), places, st.binary(min_size=1, max_size=32)),
        st.tuples(st.just("set"), places, st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\xff" * 8])),
    ),
    min_size=1,
    max_size=4,
)


def changed_bytes(content, changes):
    for what, place, value in changes:
        at = int(place * len(content))
        if what == "flip" and content:
            content = content[:at] + bytes([content[at] ^ 1 << value]) + content[at + 1 :]
        elif what == "cut":
            content = content[:at]
        elif what == "behead":
            content = content[at:]
        elif what == "drop":
            content = content[:at] + content[at + value :]
        elif what == "repeat":
            content = content[: at + value] + content[at:]
        elif what == "insert":
            content = content[:at] + value + content[at:]
        elif what == "set":
            content = content[:at] + value + content[at + len(value) :]
    return content


absurd = st.sampled_from(
    [10**9, 2**31, 2**63, -(2**63), 10**400, -1, 0, 1e308, 5e-324, "", "nan", "../../x", "\0", "O"]
)
numbers_in_json = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers_in_json | st.text(max_size=8) | absurd,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
deep = st.sampled_from([50, 400, 900]).map(lambda n: json.loads("[" * n + "]" * n))
named = st.sampled_from(
    [
        {"number": "nan"},
        {"number": "inf"},
        {"number": []},
        {"binary_model": "Logistic", "parameters": {}},
        {"binary_model": "__import__", "parameters": {"name": "os"}},
        {"binary_model": ["Logistic"], "parameters": 3},
        {"kind": "object", "labels": [{}, [], None]},
        {"kind": "str", "labels": ["a" * 1000, "b", "c"]},
        {"kind": "float", "labels": ["nan", 1, 2]},
    ]
)
meta_changes = st.lists(
    st.tuples(st.sampled_from(["set", "drop", "add"]), places, json_values | deep | named),
    max_size=2,
)


def changed_meta(meta, changes):
    """Replace, remove or add something anywhere in a tree of JSON."""
    meta = copy.deepcopy(meta)
    for what, place, value in changes:
        spots = list(_spots(meta))
        if not spots:
            break
        holder, key = spots[int(place * len(spots))]
        value = copy.deepcopy(value)  # strategies hand out the same object again and again
        if what == "set":
            holder[key] = value
        elif what == "drop":
            del holder[key]
        elif isinstance(holder, dict):
            holder[str(value)[:20]] = value
        else:
            holder.insert(key, value)
    return meta


def _spots(tree, depth=0):
    if depth > 30:
        return
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _spots(tree[key], depth + 1)


numbers = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -1, 7, 2**40])
dtypes = st.sampled_from(["float64", "float32", "int64", "int8", "uint64", "bool", "float16"])
array_changes = st.lists(
    st.one_of(
        st.tuples(st.just("value"), places, st.tuples(places, numbers)),
        st.tuples(st.just("fill"), places, numbers),
        st.tuples(st.just("dtype"), places, dtypes),
        st.tuples(st.just("shorten"), places, st.tuples(st.integers(0, 5), st.integers(0, 3))),
        st.tuples(st.just("lengthen"), places, st.tuples(st.integers(0, 5), st.integers(2, 50))),
        st.tuples(st.just("flatten"), places, st.none()),
        st.tuples(st.just("turn"), places, st.none()),
        st.tuples(st.just("nest"), places, st.integers(1, 30)),
        st.tuples(st.just("drop"), places, st.none()),
        st.tuples(st.just("swap"), places, places),
        st.tuples(st.just("rename"), places, st.text(max_size=8)),
    ),
    max_size=3,
)


def changed_arrays(arrays, changes):
    arrays = {name: array.copy() for name, array in arrays.items()}
    for what, place, value in changes:
        names = list(arrays)
        if not names:
            break
        name = names[int(place * len(names))]
        array = arrays[name]
        with np.errstate(all="ignore"):
            if what == "value" and array.size:
                array.flat[int(value[0] * array.size)] = np.array(value[1]).astype(array.dtype)
            elif what == "fill":
                array[...] = np.array(value).astype(array.dtype)
            elif what == "dtype":
                arrays[name] = array.astype(value)
            elif what == "shorten" and array.ndim:
                axis = value[0] % array.ndim
                arrays[name] = np.take(array, np.arange(min(value[1], array.shape[axis])), axis)
            elif what == "lengthen" and array.ndim and array.size < 5000:
                arrays[name] = np.repeat(array, value[1], axis=value[0] % array.ndim)
            elif what == "flatten":
                arrays[name] = array.reshape(-1)
            elif what == "turn":
                arrays[name] = array.T
            elif what == "nest":
                arrays[name] = array.reshape((1,) * value + array.shape)
            elif what == "drop":
                del arrays[name]
            elif what == "swap":
                other = names[int(value * len(names))]
                arrays[name], arrays[other] = arrays[other], arrays[name]
            elif what == "rename":
                arrays[value] = arrays.pop(name)
    return arrays


@contextlib.contextmanager
def little_memory(size):
    """What reading takes is bounded by a multiple of the file, and some for the libraries."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30 * size + 2**25, f"{peak} bytes for a file of {size}"


# ---------------------------------------------------------------- models


class Models(dict):
    def __repr__(self):
        return "models"


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


def load_or_refuse(path):
    """The model; or None when it was refused as it should be."""
    with little_memory(path.stat().st_size):
        try:
            return pasb.load(path)
        except FileFormatError as error:
            check_message(error, path)
            return None


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


name_strategy = st.sampled_from(sorted(MODELS))
file_names = st.sampled_from(sorted(FILES))
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
    50, CHECKPOINT_BYTES, check_changed_bytes_of_a_checkpoint
)
test_changed_bytes_of_a_checkpoint_many = many(
    50, CHECKPOINT_BYTES, check_changed_bytes_of_a_checkpoint
)
test_changed_content_of_a_checkpoint = times(40, CHECKPOINT, check_changed_content_of_a_checkpoint)
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


# ---------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def use(path, target="y"):
    """Read a table and take it apart, as the command line does."""
    try:
        table, labels, *_ = training_table(path, target, ColumnOptions())
        assert len(table) == len(labels) > 0
        encoder = TableEncoder().fit(table)
        assert np.isfinite(encoder.transform(table)).all()
        assert encoder_to_json(encoder_from_json(encoder_to_json(encoder)))
    except TableError as error:
        check_message(error, path)


def check_random_bytes_as_a_table(place, content, ending, zipped):
    path = place / f"random{ending}"
    path.write_bytes(gzip.compress(content) if zipped else content)
    use(path)


cells = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(str),
    st.sampled_from(
        ["", "nan", "NA", "a", "b", '"', '""', "\0", "1e999", "True", " ", "-", "\ufeff"]
    ),
    st.text(max_size=5),
)
headers = st.lists(
    st.sampled_from(["y", " y", "y ", "a", "a", "", "Unnamed: 0", "1", "a.1"])
    | st.text(max_size=4),
    min_size=1,
    max_size=4,
)


def check_random_text_as_a_table(place, header, rows, separator, ending):
    lines = [separator.join(cells) for cells in (header, *rows)]
    path = place / f"text{ending}"
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    use(path)


columns = st.one_of(
    st.lists(st.floats(), min_size=4, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=4, max_size=4),
    st.lists(st.booleans() | st.none(), min_size=4, max_size=4),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=3) | st.none(), min_size=4, max_size=4),
    st.lists(st.dates().map(pd.Timestamp), min_size=4, max_size=4),
    st.lists(st.binary(max_size=3), min_size=4, max_size=4),
    st.lists(st.lists(st.integers(0, 9), max_size=2), min_size=4, max_size=4),
)


def check_random_parquet(place, frame, category, changes):
    pytest.importorskip("pyarrow")
    path = place / "random.parquet"
    table = pd.DataFrame({name: pd.Series(values) for name, values in frame.items()})
    if category:
        table["y"] = pd.Categorical(["b", "a", "b", "a"])
    try:
        table.to_parquet(path)
    except Exception:  # pyarrow cannot store it
        return
    path.write_bytes(changed_bytes(path.read_bytes(), changes))
    use(path)


RANDOM_BYTES = {
    "content": st.binary(max_size=200) | st.text("ay,;\n\t\"'01.\0", max_size=80).map(str.encode),
    "ending": st.sampled_from(tables.ENDINGS),
    "zipped": st.booleans(),
}
RANDOM_TEXT = {
    "header": headers,
    "rows": st.lists(st.lists(cells, min_size=1, max_size=5), max_size=6),
    "separator": st.sampled_from([",", ";", "\t"]),
    "ending": st.sampled_from(tables.SEPARATED),
}
PARQUET = {
    "frame": st.dictionaries(
        st.sampled_from(["y", " y", "a", "b", ""]), columns, min_size=1, max_size=3
    ),
    "category": st.booleans(),
    "changes": st.just([]) | byte_changes,
}
test_random_bytes_as_a_table = times(200, RANDOM_BYTES, check_random_bytes_as_a_table)
test_random_bytes_as_a_table_many = many(200, RANDOM_BYTES, check_random_bytes_as_a_table)
test_random_text_as_a_table = times(300, RANDOM_TEXT, check_random_text_as_a_table)
test_random_text_as_a_table_many = many(300, RANDOM_TEXT, check_random_text_as_a_table)
test_random_parquet = times(150, PARQUET, check_random_parquet)
test_random_parquet_many = many(150, PARQUET, check_random_parquet)


def test_a_table_reads_back(place):
    """The properties above do not pass by refusing everything."""
    path = place / "sound.parquet"
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": ["u", "v", "u", "v"]})
    write_table(table, path)
    X, labels, *_ = training_table(path, "y", ColumnOptions())
    assert TableEncoder().fit_transform(X).ravel().tolist() == [1.0, 2.0, 3.0, 4.0]
    assert labels.tolist() == ["u", "v", "u", "v"]
    use(Path(path))
