"""Saved stacks: the same model after a round trip, an error for anything else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classifiers.small_stacks import (
    X,
    Y,
    assert_same_model,
    fit,
)

import pasb
from pasb import StackedSoftplusClassifier
from pasb.errors import FileFormatError
from pasb.storage import store

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture(scope="module", params=[1, 2, 3])
def stacked(request):
    return fit(n_stacks=request.param)


class TestFile:
    def test_round_trip(self, stacked, tmp_path):
        for model in (stacked, stacked.best_draw()):
            model.save(tmp_path / "model.pasb")
            again = pasb.load(tmp_path / "model.pasb")
            assert type(again) is StackedSoftplusClassifier
            assert_same_model(again, model)
            assert again.n_hyperplanes() == model.n_hyperplanes()
            assert again.posterior_.identical(model.posterior_)
            assert again.active_experts().equals(model.active_experts())
            assert list(again.orders_) == list(model.orders_)
            assert_same_model(again.best_draw(), model.best_draw())

    def test_can_be_fitted_again(self, stacked, tmp_path):
        stacked.save(tmp_path / "model.pasb")
        assert_same_model(pasb.load(tmp_path / "model.pasb").fit(X, Y), stacked)

    def test_without_a_hyperplane(self, tmp_path):
        """No row of the first class: nothing to find, and nothing to put behind."""
        labels = np.where(np.arange(60) % 2, "a", "b")
        model = fit(
            labels=labels,
            sample_weight=(labels == "b").astype(float),
            direction="forward",
            order=["a", "b"],
            n_stacks=3,
        )
        assert model.n_hyperplanes() == 0
        model.save(tmp_path / "model.pasb")
        assert_same_model(pasb.load(tmp_path / "model.pasb"), model)

    @pytest.mark.parametrize(
        "change",
        [
            lambda a: a.pop("level_1_vectors"),
            lambda a: a.pop("level_2_tags"),
            lambda a: a.update(level_1_vectors=a["level_1_vectors"][:-1]),
            lambda a: a.update(level_1_vectors=a["level_1_vectors"][:, :-1]),
            lambda a: a.update(level_1_vectors=a["level_1_vectors"][0]),
            lambda a: a.update(level_1_vectors=a["level_1_vectors"].astype(np.float32)),
            lambda a: a.update(level_1_vectors=a["level_1_vectors"] * np.nan),
            lambda a: a.update(
                level_2_vectors=a["level_1_vectors"], level_2_tags=a["level_1_tags"]
            ),
            lambda a: a.update(level_1_tags=a["level_1_tags"][:, :3]),
            lambda a: a.update(level_1_tags=a["level_1_tags"].astype(float)),
            lambda a: a.update(level_1_tags=a["level_1_tags"] + 3),
            lambda a: a.update(level_1_tags=a["level_1_tags"] - 1),
            lambda a: a.update(level_1_centre=a["level_1_centre"][:-1]),
            lambda a: a.update(level_1_spread=0 * a["level_1_spread"]),
            lambda a: a.update(level_2_centre=a["level_1_centre"]),
            lambda a: a.update(centre=a["centre"][:-1], spread=a["spread"][:-1]),
            lambda a: a.update(
                level_1_vectors=a["level_1_vectors"][:-1], level_1_tags=a["level_1_tags"][:-1]
            ),
        ],
    )
    def test_tampered(self, change, tmp_path):
        path = tmp_path / "model.pasb"
        fit(n_stacks=3).save(path)
        meta, arrays = store.read(path, "model")
        store.write(path, "model", meta, arrays)
        pasb.load(path)  # as it was, it is a model
        change(arrays)
        store.write(path, "model", meta, arrays)
        with pytest.raises(FileFormatError, match="not a model"):
            pasb.load(path)

    @pytest.mark.parametrize(
        ("key", "value"), [("n_stacks", 2), ("n_stacks", 4), ("last_layers", 2)]
    )
    def test_other_settings_than_the_arrays_are_refused(self, key, value, tmp_path):
        path = tmp_path / "model.pasb"
        fit(n_stacks=3).save(path)
        meta, arrays = store.read(path, "model")
        meta["parameters"][key] = value
        store.write(path, "model", meta, arrays)
        with pytest.raises(FileFormatError, match="not a model"):
            pasb.load(path)
