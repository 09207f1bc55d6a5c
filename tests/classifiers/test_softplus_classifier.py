"""The softplus classifier: its settings, its experts, files, and what it can enclose."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.classifiers.small_softplus import LABELS, NEW, SMALL, X, Y, assert_same_draws, fit

import pasb
from pasb import Softplus, SoftplusClassifier, StickBreakingClassifier, datasets
from pasb.binary import softplus_sampler
from pasb.errors import CheckpointError, FileFormatError
from pasb.storage import store

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted():
    return fit()


class TestSettings:
    def test_is_the_general_classifier_with_a_softplus_model(self):
        own = {"n_experts": 2, "n_layers": 3, "precision": 0.7, "prune": True}
        gamma = {"precision_shape": 1.5, "precision_rate": (2.0, 3.0)}
        rest = {name: value for name, value in SMALL.items() if name not in own}
        for precision in (0.7, "ard"):
            own["precision"] = precision
            binary = Softplus(**own, shape=1.5, rate=(2.0, 3.0))
            general = StickBreakingClassifier(binary=binary, direction="both", **rest).fit(X, Y)
            assert_same_draws(fit(**own, **gamma), general)

    def test_runs_both_directions_as_it_comes(self, fitted):
        assert SoftplusClassifier().direction == "both"
        assert fitted.draws_.directions == ("forward",) * 2 + ("reverse",) * 2

    def test_parameters(self):
        parameters = SoftplusClassifier(**SMALL).get_params()
        assert "binary" not in parameters
        assert parameters == parameters | SMALL
        copied = clone(SoftplusClassifier(precision_rate=(1.0, 2.0), order={"forward": ["a"]}))
        assert copied.precision_rate == (1.0, 2.0)
        assert copied.order == {"forward": ["a"]}

    def test_the_priors_of_the_paper(self):
        model = fit(precision_shape=1e-6, precision_rate=(1, 1))
        assert np.isfinite(model.draws_.log_likelihood).all()
        assert np.isfinite(model.predict_proba(NEW)).all()

    @pytest.mark.parametrize(
        "changes",
        [
            {"scheme": "paper"},
            {"sticks": "augmented"},
            {"order": "swap"},
            {"scale": None},
            {"scale": "range"},
            {"direction": "reverse"},
            {"thin": 2},
        ],
        ids=str,
    )
    def test_every_way_to_run(self, changes):
        model = fit(**changes)
        assert np.isfinite(model.draws_.log_likelihood).all()
        proba = model.predict_proba(NEW)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert (proba >= 0).all()

    def test_two_classes(self):
        model = fit(labels=np.arange(60) % 2 == 0)
        assert model.predict_proba(NEW).shape == (300, 2)
        assert model.orders_["forward"].dtype == bool

    def test_weights_of_zero_leave_rows_out(self):
        kept = np.arange(60) % 4 != 0
        weighted = fit(sample_weight=kept.astype(float))
        assert_same_draws(weighted, fit(X[kept], Y[kept]))

    def test_class_without_weight_keeps_its_column(self):
        model = fit(sample_weight=(Y != "oak").astype(float))
        assert np.isfinite(model.draws_.log_likelihood).all()
        assert model.predict_proba(NEW).shape == (300, 3)
        assert np.isfinite(model.predict_proba(NEW)).all()

    def test_a_row_does_not_depend_on_the_others(self, fitted):
        whole, samples = fitted.predict_proba(NEW), fitted.sample_proba(NEW)
        for rows in ([0], [299], [5, 3, 299], range(17, 290), range(256, 300)):
            rows = list(rows)
            np.testing.assert_array_equal(fitted.predict_proba(NEW[rows]), whole[rows])
            np.testing.assert_array_equal(fitted.sample_proba(NEW[rows]), samples[:, rows])


class TestBadInput:
    @pytest.mark.parametrize(
        "bad",
        [
            {"n_experts": 0},
            {"n_experts": 2.5},
            {"n_experts": "five"},
            {"n_experts": True},
            {"n_layers": 0},
            {"n_layers": 1.5},
            {"n_layers": None},
            {"precision": -1.0},
            {"precision": 0},
            {"precision": "none"},
            {"precision": np.nan},
            {"precision_shape": 0},
            {"precision_shape": -2.0},
            {"precision_shape": np.inf},
            {"precision_rate": -1.0},
            {"precision_rate": 0},
            {"precision_rate": (1,)},
            {"precision_rate": (1, 2, 3)},
            {"precision_rate": (1.0, -1.0)},
            {"precision_rate": ["a", "b"]},
            {"precision_rate": None},
            {"prune": "yes"},
            {"prune": 1.0},
            {"prune": None},
            {"direction": "up"},
        ],
        ids=str,
    )
    def test_settings_are_named(self, bad):
        with pytest.raises(ValueError, match=rf"\b{next(iter(bad))}\b"):
            fit(**bad)

    @pytest.mark.parametrize("weight", [0.5, 2.0])
    def test_weights_other_than_zero_and_one(self, weight):
        weights = np.ones(60)
        weights[3] = weight
        with pytest.raises(ValueError, match="sample_weight must be 0 or 1"):
            fit(sample_weight=weights)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            SoftplusClassifier().active_experts()

    @pytest.mark.parametrize("interval", [0, 1, 1.5, "most"])
    def test_interval(self, fitted, interval):
        with pytest.raises(ValueError, match="interval must lie between 0 and 1"):
            fitted.active_experts(interval)


class TestActiveExperts:
    def test_numbers(self, fitted):
        table = fitted.active_experts(interval=0.5)
        draws = fitted.draws_
        assert len(table) == 6
        for _, row in table.iterrows():
            chains = draws.of_direction(row["direction"])
            category = int(np.flatnonzero(row["class"] == LABELS)[0])
            last = draws.order[chains, :, -1].ravel() == category
            assert row["reference"] == pytest.approx(last.mean())
            counts = (draws.parameters["active"][chains, :, category] > 0).sum(axis=2).ravel()
            if last.all():
                assert row[["experts", "lower", "upper", "hyperplanes"]].isna().all()
                continue
            used = counts[~last]
            assert row["experts"] == pytest.approx(used.mean())
            assert row["hyperplanes"] == pytest.approx(2 * used.mean())
            np.testing.assert_allclose(
                [row["lower"], row["upper"]], np.quantile(used, [0.25, 0.75])
            )

    def test_the_reference_has_none(self):
        table = fit(order=LABELS).active_experts()
        last = table[table["class"] == "yew"]
        assert (last["reference"] == 1).all()
        assert last[["experts", "lower", "upper", "hyperplanes"]].isna().all(axis=None)
        rest = table[table["class"] != "yew"]
        assert (rest["reference"] == 0).all()
        assert rest["experts"].between(1, 3).all()
        hyperplanes = rest["hyperplanes"].sum()
        assert hyperplanes == pytest.approx(fit(order=LABELS).n_hyperplanes())

    @pytest.mark.parametrize("library", [pd, pl])
    @pytest.mark.parametrize("direction", ["both", "forward"])
    def test_frames(self, library, direction):
        frame = library.DataFrame({"height": X[:, 0], "width": X[:, 1]})
        table = fit(frame, direction=direction).active_experts()
        assert isinstance(table, library.DataFrame)
        names = ["class", "reference", "experts", "lower", "upper", "hyperplanes"]
        assert list(table.columns) == ["direction"] * (direction == "both") + names
        assert len(table) == (6 if direction == "both" else 3)

    def test_in_the_tree(self, fitted):
        posterior = fitted.posterior_["posterior"]
        assert posterior["weight"].dims == ("chain", "draw", "split", "expert")
        assert posterior["coef"].dims[-3:] == ("expert", "layer", "feature")
        known = posterior["weight"].notnull()[..., 0]
        assert (known.sum("split") == 2).all()  # one a stick


class TestBestDraw:
    def test_has_no_inactive_experts(self, fitted):
        best = fitted.best_draw()
        parameters = best.draws_.parameters
        np.testing.assert_array_equal(parameters["weight"] == 0, parameters["active"] == 0)
        assert best.n_hyperplanes() == 2 * sum(
            (parameters["active"][k, 0, order[0, :-1]] > 0).sum()
            for k, order in enumerate(best.draws_.order)
        )

    def test_predicts_as_the_draw_without_its_inactive_experts(self, fitted):
        best = fitted.best_draw()
        samples = best.sample_proba(NEW)
        assert samples.shape == (2, 300, 3)
        np.testing.assert_allclose(best.predict_proba(NEW), samples.mean(axis=0), rtol=1e-12)
        # an inactive expert weighs little: the draw itself says nearly the same
        draws = fitted.draws_
        for k, name in enumerate(("forward", "reverse")):
            mine = draws.of_direction(name)
            chain, draw = divmod(int(np.argmax(draws.log_likelihood[mine])), draws.n_draws)
            whole = fitted.sample_proba(X).reshape(4, draws.n_draws, 60, 3)[mine[chain], draw]
            assert np.abs(whole - best.sample_proba(X)[k]).max() < 0.2


class TestFile:
    def round_trip(self, model, path):
        model.save(path)
        again = pasb.load(path)
        assert type(again) is SoftplusClassifier
        assert_same_draws(again, model)
        np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
        assert again.posterior_.identical(model.posterior_)
        assert again.active_experts().equals(model.active_experts())
        return again

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"direction": "reverse"},
            {"prune": True},
            {"precision_rate": (1.0, 2.0)},
            {"precision": 0.5},
            {"order": LABELS},
            {"order": {"forward": LABELS, "reverse": LABELS[::-1]}},
        ],
        ids=str,
    )
    def test_round_trip(self, changes, tmp_path):
        model = fit(**changes)
        again = self.round_trip(model, tmp_path / "model.pasb")
        assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        assert_same_draws(again.fit(X, Y), model)
        self.round_trip(model.best_draw(), tmp_path / "best.pasb")

    @pytest.mark.parametrize(
        ("key", "value"), [("n_experts", 4), ("n_layers", 1), ("precision_rate", [1.0])]
    )
    def test_other_settings_than_the_arrays_are_refused(self, fitted, key, value, tmp_path):
        path = tmp_path / "model.pasb"
        fitted.save(path)
        meta, arrays = store.read(path, "model")
        meta["parameters"][key] = value
        store.write(path, "model", meta, arrays)
        with pytest.raises(FileFormatError, match="not a model"):
            pasb.load(path)


class TestCheckpoint:
    @pytest.mark.parametrize("sweep", [3, 18])
    def test_resumed(self, fitted, sweep, tmp_path):
        part = fit(checkpoint=tmp_path, callbacks=[lambda info: info.sweep == sweep])
        assert part.draws_.interrupted
        assert_same_draws(fit(checkpoint=tmp_path), fitted)

    def test_longer_run(self, fitted, tmp_path):
        fit(checkpoint=tmp_path)
        longer = fit(checkpoint=tmp_path, n_draws=25)
        np.testing.assert_array_equal(longer.draws_.order[:, :15], fitted.draws_.order)
        assert_same_draws(longer, fit(n_draws=25))

    def test_pair_of_rates(self, tmp_path):
        """JSON has no tuples."""
        settings = {"precision_rate": (1.0, 2.0), "checkpoint": tmp_path}
        part = fit(**settings, callbacks=[lambda info: info.sweep == 15])
        assert part.draws_.interrupted
        assert_same_draws(fit(**settings), fit(precision_rate=(1.0, 2.0)))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_experts", 2),
            ("n_layers", 3),
            ("precision", 1.0),
            ("precision_shape", 1.0),
            ("precision_rate", (8.0, 1.0)),
            ("prune", True),
            ("direction", "forward"),
        ],
    )
    def test_other_settings_are_refused(self, tmp_path, name, value):
        fit(checkpoint=tmp_path)
        with pytest.raises(CheckpointError, match=name.removeprefix("precision_")):
            fit(checkpoint=tmp_path, **{name: value})


def separated():
    """Three clouds far apart."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    return 20 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[y] + rng.normal(size=(90, 2)), y


@pytest.mark.parametrize("table", ["iris", "separated"])
@pytest.mark.parametrize("prune", [False, True])
def test_many_experts_and_layers_are_finite_in_every_sweep(table, prune, monkeypatch, seed):
    monkeypatch.setattr(softplus_sampler, "PRUNED_AFTER", 5)
    rows, labels = separated()
    if table == "iris":
        data = datasets.load("iris")
        rows, labels = data.X, data.y
    seen = []
    model = SoftplusClassifier(
        n_experts=20,
        n_layers=20,
        prune=prune,
        n_chains=1,
        n_warmup=15,
        n_draws=15,
        random_state=seed,
        callbacks=[lambda info: seen.append(info.log_likelihood)],
    ).fit(rows, labels)
    assert len(seen) == 60
    assert np.isfinite(seen).all()
    assert np.isfinite(model.sample_proba(rows)).all()
    assert all(np.isfinite(values).all() for values in model.draws_.parameters.values())
    far = model.predict_proba(1e6 * np.array([[1.0] * rows.shape[1], [-1.0] * rows.shape[1]]))
    np.testing.assert_allclose(far.sum(axis=1), 1)
