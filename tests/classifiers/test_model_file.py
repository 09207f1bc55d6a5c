"""Saved models: the same predictions after a round trip, an error for anything else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.classifiers.small_models import SMALL, X, Y, fit

import pasb
from pasb import (
    Logistic,
    Robit,
    Softplus,
    StickBreakingClassifier,
    StickLogisticClassifier,
)
from pasb.errors import FileFormatError
from pasb.storage import store

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pasb"


def round_trip(model, path, table=X):
    """Save and load, and compare all that can be asked of the two."""
    model.save(path)
    again = pasb.load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.order_, model.order_)
    assert again.n_features_in_ == model.n_features_in_
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.posterior_.identical(model.posterior_)
    for ask in ("summary", "order_posterior"):
        one, two = getattr(model, ask)(), getattr(again, ask)()
        assert type(one) is type(two)
        assert one.equals(two)
    assert again.predict_frame(table).equals(model.predict_frame(table))
    assert again.diagnostics_.worst_rhat == model.diagnostics_.worst_rhat
    return again


class TestRoundTrip:
    @pytest.mark.parametrize(
        "labels",
        [
            ["ash", "oak", "Eibe, größer"],
            np.array(["ash", "oak", "yew"], dtype=object),
            [3, -5, 9],
            np.array([1, 2, 3], dtype=np.int8),
            np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64),
            [0.0, 1.0, 2.0],
            [False, True, True],
        ],
        ids=["str", "object", "int", "int8", "uint64", "float", "bool"],
    )
    def test_labels(self, path, labels):
        again = round_trip(fit(labels), path)
        assert again.classes_.dtype.kind == np.asarray(labels).dtype.kind

    @pytest.mark.parametrize("library", [pd, pl])
    def test_frames_and_names(self, path, library):
        frame = library.DataFrame({"height": X[:, 0], "Breite": X[:, 1]})
        again = round_trip(fit(table=frame), path, frame)
        assert list(again.feature_names_in_) == ["height", "Breite"]
        with pytest.raises(ValueError, match="feature names"):
            again.predict(pd.DataFrame(X, columns=["a", "b"]))

    @pytest.mark.parametrize(
        "changes",
        [
            {"order": [2, 0, 1]},
            {"order": np.array([2, 0, 1])},
            {"order": (2, 0, 1)},
            {"scale": None},
            {"scale": "range"},
            {"scheme": "paper"},
            {"precision": np.float64(0.5)},
            {"random_state": None},
            {"random_state": np.random.RandomState(3)},
            {"callbacks": [lambda info: None]},
        ],
        ids=[
            "order list",
            "order array",
            "order tuple",
            "no scale",
            "range",
            "paper",
            "precision",
            "no seed",
            "random state",
            "callbacks",
        ],
    )
    def test_settings(self, path, changes):
        again = round_trip(fit(**changes), path)
        for name, value in changes.items():
            if name not in ("callbacks", "random_state", "order"):
                assert getattr(again, name) == value
        assert again.callbacks is None

    def test_labels_in_a_fixed_order(self, path):
        again = round_trip(fit(["ash", "oak", "yew"], order=["yew", "ash", "oak"]), path)
        assert again.order == ["yew", "ash", "oak"]

    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    @pytest.mark.parametrize("binary", [None, Logistic(precision=0.3)])
    def test_general_classifier(self, path, direction, binary):
        model = fit(classifier=StickBreakingClassifier, binary=binary, direction=direction)
        again = round_trip(model, path)
        assert again.direction == direction
        assert str(again.binary) == str(binary)

    def test_interrupted(self, path):
        model = fit(callbacks=[lambda info: info.sweep == 15])
        again = round_trip(model, path)
        assert again.draws_.interrupted

    def test_loading_is_silent(self, path, recwarn):
        fit().save(path)
        recwarn.clear()
        pasb.load(path)
        assert not recwarn.list

    def test_can_be_fitted_again(self, path):
        model = fit()
        again = round_trip(model, path)
        np.testing.assert_array_equal(again.fit(X, Y).predict_proba(X), model.predict_proba(X))

    def test_saved_twice_is_the_same_file(self, path):
        model = fit()
        model.save(path)
        first = path.read_bytes()
        pasb.load(path).save(path)
        assert path.read_bytes() == first

    def test_path_as_text(self, path):
        fit().save(str(path))
        assert pasb.load(str(path)).n_features_in_ == 2


class TestRefusal:
    def test_own_binary_models(self, path):
        class Mine(Logistic):
            pass

        model = fit(classifier=StickBreakingClassifier, binary=Mine())
        with pytest.raises(TypeError, match="binary=Mine cannot be saved"):
            model.save(path)
        assert not path.exists()

    def test_own_classifiers(self, path):
        class Mine(StickLogisticClassifier):
            pass

        with pytest.raises(TypeError, match="only pasb's own classifiers can be saved, not Mine"):
            fit(classifier=Mine).save(path)

    def test_what_is_no_model(self, path):
        for other, name in ((3, "int"), (None, "NoneType"), (StickLogisticClassifier, "")):
            with pytest.raises(TypeError, match=f"own classifiers can be saved, not {name}"):
                pasb.save(other, path)

    def test_missing_file(self, path):
        with pytest.raises(FileNotFoundError):
            pasb.load(path)

    @pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x00" * 1000])
    def test_foreign_files(self, path, content):
        path.write_bytes(content)
        with pytest.raises(FileFormatError):
            pasb.load(path)

    def test_files_of_another_kind(self, path):
        store.write(path, "checkpoint", {}, {"order": np.zeros(3)})
        with pytest.raises(FileFormatError):
            pasb.load(path)

    def test_damaged_at_any_place(self, path):
        fit().save(path)
        whole = path.read_bytes()
        rng = np.random.default_rng(0)
        for place in rng.integers(len(whole), size=60):
            broken = bytearray(whole)
            broken[place] ^= 0x55
            path.write_bytes(bytes(broken))
            try:
                model = pasb.load(path)
            except FileFormatError:
                continue
            # a few bytes of the container (dates, flags) carry no content
            assert model.predict_proba(X).shape == (60, 3)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
    def test_cut_short(self, path, share):
        fit().save(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileFormatError):
            pasb.load(path)


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "binary",
    [Robit(df=np.inf), Robit(df=3.5), Softplus(n_experts=2, n_layers=2, shape=1.0, rate=(1, 2))],
    ids=["probit", "robit", "softplus"],
)
def test_every_binary_model_comes_back(binary, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    model = StickBreakingClassifier(
        binary=binary, n_chains=2, n_warmup=5, n_draws=6, random_state=0, progress=False
    ).fit(X, y)
    model.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    settings = again.binary.get_params()
    assert settings == {**binary.get_params(), **{"rate": settings["rate"]}}
    assert np.all(np.asarray(settings["rate"]) == np.asarray(binary.rate))
    assert set(again.posterior_["posterior"].data_vars) >= {"coef", "intercept", "probability"}


@pytest.mark.parametrize("kind", [pasb.SoftplusClassifier, pasb.StackedSoftplusClassifier])
def test_a_model_of_a_gpu_is_read_and_predicts_without_one(kind, tmp_path, monkeypatch):
    """The file is written here with engine="cuda", as on a machine that has a GPU."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    own = {"stack_sweeps": 6} if kind is pasb.StackedSoftplusClassifier else {}
    model = kind(n_experts=1, n_layers=1, **own, **{**SMALL, "n_swaps": "auto"}).fit(X, y)
    expected = model.predict_proba(X)
    model.set_params(engine="cuda").save(tmp_path / "model.pasb")

    def no_gpu():
        raise pasb.errors.EngineError("there is no GPU")

    monkeypatch.setattr("pasb.engines.device.array_module", no_gpu)
    monkeypatch.setattr("pasb.classifiers.parted_softplus_fit.array_module", no_gpu)
    again = pasb.load(tmp_path / "model.pasb")
    assert again.engine == "cuda"
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert again.best_draw().n_hyperplanes() > 0
    with pytest.raises(pasb.errors.EngineError):
        again.fit(X, y)
