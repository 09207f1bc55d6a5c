"""Models, and changes of files in which hypothesis looks for trouble."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

import pasb
from pasb.errors import FileFormatError

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


def load_or_refuse(path):
    """The model; or None when it was refused as it should be."""
    with little_memory(path.stat().st_size):
        try:
            return pasb.load(path)
        except FileFormatError as error:
            check_message(error, path)
            return None


name_strategy = st.sampled_from(sorted(MODELS))
file_names = st.sampled_from(sorted(FILES))
