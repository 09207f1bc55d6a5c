"""Compact models: smaller, and as near to all draws as they say."""

from __future__ import annotations

import os

import numpy as np
import pytest

import pasb
from pasb import SoftplusClassifier, StickLogisticClassifier
from pasb.errors import FileFormatError
from pasb.posterior.compact import Compactness
from pasb.storage import store

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 100, "random_state": 1, "progress": False}


def clouds(n=90, n_features=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return rng.normal(size=(n, n_features)) + 2 * np.eye(3, n_features)[y], y


X, Y = clouds()


@pytest.fixture(scope="module", params=["logistic", "softplus"])
def model(request):
    if request.param == "logistic":
        return StickLogisticClassifier(**SHORT).fit(X, Y)
    return SoftplusClassifier(n_experts=6, n_layers=2, moves="gibbs", **SHORT).fit(X, Y)


def test_the_distance_is_what_it_says(model):
    small = model.compact(40, X)
    gap = np.abs(small.predict_proba(X) - model.predict_proba(X))
    told = small.compactness_
    assert told.largest == pytest.approx(gap.max())
    assert told.average == pytest.approx(gap.mean())
    n = model.draws_.n_chains * model.draws_.n_draws
    assert (told.n_draws, told.n_draws_before, told.n_rows) == (40, n, 90)
    assert 0 < told.largest < 0.2
    assert f"at most {told.largest:.2g}" in str(told)
    assert model.compact(40).compactness_.n_rows == len(model.fitted_.watched.row)


def test_draws_are_evenly_spaced(model):
    small = model.compact(20)
    step = small.draws_.n_draws
    assert step * small.draws_.n_chains == 20
    places = ((np.arange(step) + 0.5) * 100 / step).astype(int)
    np.testing.assert_array_equal(
        small.draws_.log_likelihood, model.draws_.log_likelihood[:, places]
    )


def test_all_draws_differ_by_rounding_alone():
    model = StickLogisticClassifier(**SHORT).fit(X, Y)
    assert model.compact(200, X).compactness_.largest < 1e-6


def test_experts_that_hardly_matter_are_left_out():
    model = SoftplusClassifier(n_experts=6, n_layers=2, moves="gibbs", **SHORT).fit(X, Y)
    told = model.compact(400, X).compactness_  # all draws
    assert 0.1 < told.left_out < 1
    assert "experts left out" in str(told)
    assert told.largest < 6 * 2 * 1e-4


def test_the_model_itself_stays(model):
    before, draws = model.predict_proba(X), model.draws_
    weight = {name: values.copy() for name, values in draws.parameters.items()}
    small = model.compact(10)
    assert model.draws_ is draws
    assert not hasattr(model, "compactness_")
    assert all((draws.parameters[name] == weight[name]).all() for name in weight)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert small.diagnostics_ is model.diagnostics_


def test_everything_can_be_asked_of_it(model):
    small = model.compact(20)
    assert small.predict_frame(X).shape == (90, 10)
    assert small.order_posterior()["probability"].sum() > 0.99
    assert small.posterior_["posterior"].sizes["draw"] == small.draws_.n_draws
    assert small.best_draw().score(X, Y) > 0.5
    assert "compactness_" not in vars(small.fit(X, Y))


def test_the_command_line_shows_it(model):
    from pasb.cli.printing import convergence_rows

    small = model.compact(20)
    assert convergence_rows(small)[-1] == ("compact form", str(small.compactness_))
    assert "compact form" not in dict(convergence_rows(model))


@pytest.mark.parametrize("n", [0, -1, 1000, 2.5, "10", True, None])
def test_number_of_draws(model, n):
    with pytest.raises(ValueError, match=r"n must be a positive integer up to [24]00"):
        model.compact(n)


class TestFiles:
    def test_round_trip(self, model, tmp_path):
        small = model.compact(40, X)
        small.save(tmp_path / "small.pasb")
        again = pasb.load(tmp_path / "small.pasb")
        np.testing.assert_array_equal(again.predict_proba(X), small.predict_proba(X))
        for name, values in small.draws_.parameters.items():
            np.testing.assert_array_equal(again.draws_.parameters[name], values)
        assert again.compactness_ == small.compactness_
        assert again.diagnostics_.worst_rhat == model.diagnostics_.worst_rhat
        np.testing.assert_array_equal(again.order_, small.order_)
        again.save(tmp_path / "again.pasb")
        assert (tmp_path / "again.pasb").read_bytes() == (tmp_path / "small.pasb").read_bytes()

    def test_diagnostics_are_stored(self, model, tmp_path, monkeypatch):
        from pasb.posterior.fitted import Fitted

        model.save(tmp_path / "model.pasb")
        monkeypatch.setattr(Fitted, "diagnostics", lambda self: pytest.fail("computed again"))
        again = pasb.load(tmp_path / "model.pasb").diagnostics_
        for name, values in model.diagnostics_.arrays().items():
            np.testing.assert_array_equal(again.arrays()[name], values)
        assert again.by_direction.keys() == model.diagnostics_.by_direction.keys()

    def test_a_file_without_diagnostics_can_be_read(self, model, tmp_path):
        """As older versions wrote it."""
        model.save(tmp_path / "model.pasb")
        meta, arrays = store.read(tmp_path / "model.pasb", "model")
        arrays = {k: v for k, v in arrays.items() if not k.startswith("diagnostics_")}
        store.write(tmp_path / "old.pasb", "model", meta, arrays)
        again = pasb.load(tmp_path / "old.pasb")
        assert again.diagnostics_.worst_rhat == model.diagnostics_.worst_rhat

    def test_size(self, tmp_path):
        """26 classes and 100 covariates, 4 x 250 draws of the logistic model: 10 MB at most."""
        rng = np.random.default_rng(0)
        lengths = {"n_warmup": 1, "n_draws": 2, "order": list(range(26))}
        model = StickLogisticClassifier(**(SHORT | lengths))
        model.fit(rng.normal(size=(260, 100)), np.arange(260) % 26)
        small = model.compact(4)
        small.save(tmp_path / "small.pasb")
        model.save(tmp_path / "model.pasb")
        of_draws = 4 * 26 * 101
        sizes = [os.path.getsize(tmp_path / f"{name}.pasb") for name in ("small", "model")]
        assert sizes[1] - sizes[0] > 0.9 * 4 * of_draws
        assert 900 * 26 * 101 * 4 + sizes[0] < 10e6

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("draws_coef_in_use", lambda a: a[1:]),
            ("draws_coef_in_use", lambda a: a.reshape(len(a), -1)),
            ("draws_coef_in_use", lambda a: a.astype(np.int64)),
            ("draws_weight", lambda a: np.zeros_like(a)),
            ("draws_weight", lambda a: a[:, :, :, :-1]),
            ("diagnostics_rhat", lambda a: a[1:]),
            ("diagnostics_log_likelihood", lambda a: a[:1]),
            ("diagnostics_se", lambda a: a.astype(np.float32)),
        ],
    )
    def test_arrays_that_do_not_fit(self, tmp_path, name, change):
        model = SoftplusClassifier(n_experts=6, n_layers=2, moves="gibbs", **SHORT).fit(X, Y)
        model.compact(8).save(tmp_path / "small.pasb")
        meta, arrays = store.read(tmp_path / "small.pasb", "model")
        arrays[name] = change(arrays[name])
        store.write(tmp_path / "small.pasb", "model", meta, arrays)
        with pytest.raises(FileFormatError):
            pasb.load(tmp_path / "small.pasb")

    @pytest.mark.parametrize(
        "wrong", [None, {}, {"largest": 2.0}, {"n_draws": "many"}, {"n_rows": 0}, {"more": 1}]
    )
    def test_compactness_that_makes_no_sense(self, wrong):
        good = Compactness(4, 40, 24, 0.1, 0.01, 0.0)
        assert Compactness.from_json(good.as_json()) == good
        with pytest.raises(ValueError, match="compactness"):
            Compactness.from_json(good.as_json() | wrong if wrong else wrong)
