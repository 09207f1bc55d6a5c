"""Pipelines in files: an encoder and a classifier come back; others are refused with the reason."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb import StickLogisticClassifier, TableEncoder
from pasb.errors import FileFormatError
from pasb.storage import store

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SMALL = {"n_chains": 1, "n_warmup": 5, "n_draws": 8, "n_jobs": 1, "random_state": 0}
Y = np.arange(40) % 2
TABLE = pd.DataFrame(
    {
        "size": [f"{k},5" if k % 9 else "" for k in range(40)],
        "colour": ["red", "blue", "green", "red"] * 10,
        "since": [f"2020-01-{1 + k % 28:02d}" for k in range(40)],
        "key": [f"K{k}" for k in range(40)],
    }
)


def fitted(output="default"):
    encoder = TableEncoder().set_output(transform=output)
    return make_pipeline(encoder, StickLogisticClassifier(**SMALL)).fit(TABLE, Y)


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_round_trip(tmp_path, output):
    pipe = fitted(output)
    pasb.save(pipe, tmp_path / "m.pasb")
    again = pasb.load(tmp_path / "m.pasb")
    assert [name for name, _ in again.steps] == [name for name, _ in pipe.steps]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(again.predict_proba(TABLE), pipe.predict_proba(TABLE))
    assert again[-1].summary().equals(pipe[-1].summary())
    assert again[0].report() == pipe[0].report()
    pasb.save(again, tmp_path / "n.pasb")
    assert (tmp_path / "n.pasb").read_bytes() == (tmp_path / "m.pasb").read_bytes()


def test_a_classifier_alone(tmp_path):
    model = fitted()[-1]
    pasb.save(model, str(tmp_path / "m.pasb"))
    assert isinstance(pasb.load(tmp_path / "m.pasb"), StickLogisticClassifier)


@pytest.mark.parametrize(
    ("pipe", "what"),
    [
        (make_pipeline(StandardScaler(), StickLogisticClassifier(**SMALL)), "StandardScaler"),
        (make_pipeline(TableEncoder(), LogisticRegression()), "LogisticRegression"),
        (
            make_pipeline(TableEncoder(), StandardScaler(), StickLogisticClassifier(**SMALL)),
            "StandardScaler",
        ),
        (make_pipeline(StickLogisticClassifier(**SMALL)), "the steps are others"),
    ],
)
def test_other_pipelines_are_refused_with_the_reason(tmp_path, pipe, what):
    pipe.fit(np.arange(80.0).reshape(40, 2) ** 1.5, Y)
    with pytest.raises(TypeError, match=rf"numbers and JSON.*{what}.*pipe\[-1\]\.save"):
        pasb.save(pipe, tmp_path / "m.pasb")
    assert not list(tmp_path.iterdir())


def test_before_fit(tmp_path):
    pipe = make_pipeline(TableEncoder(), StickLogisticClassifier())
    with pytest.raises(NotFittedError):
        pasb.save(pipe, tmp_path / "m.pasb")


def stored(change):
    """A change of what a file holds of the pipeline."""

    def changed(meta):
        change(meta["encoder"])

    changed.__name__ = change.__name__
    return changed


def no_names(encoder):
    encoder["names"] = ["a"]


def names_are_numbers(encoder):
    encoder["names"] = [1, 2]


def another_output(encoder):
    encoder["output"] = "os.system"


def a_column_less(encoder):
    del encoder["encoder"]["plans"][0], encoder["encoder"]["remarks"][0]


def a_level_more(encoder):
    encoder["encoder"]["plans"][1]["levels"].append("x")


def another_level(encoder):
    encoder["encoder"]["plans"][1]["levels"][0] = "x"


def a_name_twice(encoder):
    encoder["encoder"]["plans"][1]["name"] = "size"


def format_with_code(encoder):
    encoder["encoder"]["plans"][2]["reading"] = "%Y" * 1000


def kind_unknown(encoder):
    encoder["encoder"]["plans"][0]["kind"] = "__import__"


def parameter_unknown(encoder):
    encoder["encoder"]["parameters"]["speed"] = 3


def parameter_impossible(encoder):
    encoder["encoder"]["parameters"]["max_levels"] = -1


def remarks_too_many(encoder):
    encoder["encoder"]["remarks"].append("x")


def no_columns(encoder):
    encoder["encoder"]["plans"] = 7


def encoder_a_list(meta):
    meta["encoder"] = [1, 2]


def encoder_missing(meta):
    del meta["encoder"]


@pytest.mark.parametrize(
    "change",
    [
        *map(
            stored,
            [
                no_names,
                names_are_numbers,
                another_output,
                a_column_less,
                a_level_more,
                another_level,
                a_name_twice,
                format_with_code,
                kind_unknown,
                parameter_unknown,
                parameter_impossible,
                remarks_too_many,
                no_columns,
            ],
        ),
        encoder_a_list,
        encoder_missing,
    ],
    ids=lambda change: change.__name__,
)
def test_hostile_files_are_refused(tmp_path, change):
    path = tmp_path / "m.pasb"
    pasb.save(fitted("pandas"), path)
    meta, arrays = store.read(path, "model")
    assert isinstance(pasb.load(path), Pipeline)
    change(meta)
    store.write(path, "model", meta, arrays)
    with pytest.raises(FileFormatError, match="not a model"):
        pasb.load(path)
