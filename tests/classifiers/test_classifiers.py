"""The classifiers as users meet them: labels, frames, scikit-learn's tools, predictions."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.classifiers.clouds import SMALL, X, Y, classifier

from pasb import Logistic, StickBreakingClassifier, StickLogisticClassifier
from pasb.sticks import simulate_categories

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


class TestLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["cat", "dog", "owl"]),
            np.array(["cat", "dog", "owl"], dtype=object),
            np.array([3, 7, -1]),
            np.array([1, 2, 3], dtype=np.int8),
            np.array([2**63, 2**63 + 1, 2**63 + 2], dtype=np.uint64),
            np.array([0.0, 1.0, 2.0]),
            np.array([True, False, True]),
        ],
        ids=["str", "object", "int", "int8", "uint64", "float", "bool"],
    )
    def test_kinds(self, fitted, labels):
        y = labels[Y]
        model = classifier().fit(X, y)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        prediction = model.predict(X)
        assert prediction.dtype == labels.dtype
        assert set(prediction) <= set(labels)
        assert model.score(X, y) > 0.7
        assert set(model.order_) == set(labels)
        if len(model.classes_) == 3:  # the draws do not see the labels, only their ranks
            ranks = np.argsort(np.argsort(labels))
            again = classifier().fit(X, ranks[Y])
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize(
        "kind",
        [
            list,
            pd.Series,
            lambda y: pd.Series(y).astype("category"),
            lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
            lambda y: pl.Series(list(y)),
            lambda y: pl.Series(list(y), dtype=pl.Categorical),
        ],
        ids=["list", "pandas", "pandas category", "pandas index", "polars", "polars category"],
    )
    def test_containers(self, kind):
        labels = np.array(["cat", "dog", "owl"])[Y]
        plain = classifier().fit(X, labels)
        model = classifier().fit(X, kind(labels.tolist()))
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))

    def test_predict_takes_the_largest_probability(self, fitted):
        np.testing.assert_array_equal(fitted.predict(X), fitted.predict_proba(X).argmax(axis=1))

    def test_log_probabilities(self, fitted):
        np.testing.assert_array_equal(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))


class TestFrames:
    names = ("height", "width")

    @pytest.mark.parametrize("library", [pd, pl])
    def test_out_comes_what_went_in(self, fitted, library):
        frame = library.DataFrame(dict(zip(self.names, X.T, strict=True)))
        model = classifier().fit(frame, Y)
        assert list(model.feature_names_in_) == list(self.names)
        np.testing.assert_array_equal(model.predict_proba(frame), fitted.predict_proba(X))
        for out in (model.predict_frame(frame), model.summary(), model.order_posterior()):
            assert isinstance(out, library.DataFrame)
        assert list(model.summary()["feature"])[:3] == ["(intercept)", *self.names]

    def test_arrays_give_pandas(self, fitted):
        for out in (fitted.predict_frame(X), fitted.summary(), fitted.order_posterior()):
            assert isinstance(out, pd.DataFrame)
        assert list(fitted.summary()["feature"])[:3] == ["(intercept)", "x0", "x1"]
        assert not hasattr(fitted, "feature_names_in_")

    def test_one_library_in_fit_another_in_prediction(self):
        model = classifier().fit(pd.DataFrame(X, columns=self.names), Y)
        assert isinstance(model.predict_frame(pl.DataFrame(X, schema=self.names)), pl.DataFrame)
        assert isinstance(model.summary(), pd.DataFrame)

    def test_predictions_keep_the_index(self):
        frame = pd.DataFrame(X, columns=self.names, index=[f"row {i}" for i in range(len(X))])
        model = classifier().fit(frame, Y)
        part = frame.iloc[::7]
        assert list(model.predict_frame(part).index) == list(part.index)

    def test_numbers_as_column_names(self, fitted):
        model = classifier().fit(pd.DataFrame(X), Y)
        assert not hasattr(model, "feature_names_in_")
        np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))

    def test_names_are_forgotten_by_a_fit_without(self):
        model = classifier().fit(pd.DataFrame(X, columns=self.names), Y).fit(X, Y)
        assert not hasattr(model, "feature_names_in_")

    def test_array_after_a_frame_warns(self):
        model = classifier().fit(pd.DataFrame(X, columns=self.names), Y)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)


class TestTools:
    def test_pipeline(self, fitted):
        pipe = make_pipeline(StandardScaler(), classifier()).fit(X, Y)
        np.testing.assert_allclose(pipe.predict_proba(X), fitted.predict_proba(X), atol=1e-6)

    def test_grid_search(self):
        search = GridSearchCV(classifier(), {"precision": [0.1, 1000.0]}, cv=2).fit(X, Y)
        assert search.best_params_ == {"precision": 0.1}
        assert search.predict(X).shape == Y.shape

    def test_grid_search_inside_the_binary_model(self):
        model = StickBreakingClassifier(binary=Logistic(), random_state=0, **SMALL)
        search = GridSearchCV(model, {"binary__precision": [0.1, 1000.0]}, cv=2).fit(X, Y)
        assert search.best_params_ == {"binary__precision": 0.1}

    def test_cross_validation(self):
        scores = cross_val_score(classifier(), X, Y, cv=3, scoring="neg_log_loss")
        assert (scores > -np.log(3)).all()

    @pytest.mark.parametrize(
        "model",
        [
            classifier(order=["b", "a"], callbacks=[print], scale=None),
            StickBreakingClassifier(binary=Logistic(precision=2.0), direction="reverse"),
        ],
    )
    def test_parameters(self, model):
        copy = clone(model)
        assert str(copy.get_params()) == str(model.get_params())
        assert copy.set_params(n_draws=7, scheme="paper") is copy
        assert copy.get_params()["n_draws"] == 7
        assert "n_draws=7" in repr(copy)
        assert model.get_params()["n_draws"] != 7

    def test_parameters_of_the_binary_model(self):
        model = StickBreakingClassifier(binary=Logistic())
        assert model.set_params(binary__precision=3.0).binary.precision == 3.0
        assert clone(model).binary is not model.binary
        assert "Logistic(precision=3.0)" in repr(model)

    def test_constructor_only_stores(self):
        for cls in (StickLogisticClassifier, StickBreakingClassifier):
            values = {name: object() for name in cls().get_params()}
            model = cls(**values)
            assert all(getattr(model, name) is value for name, value in values.items())

    def test_fit_leaves_the_parameters_alone(self):
        model = StickBreakingClassifier(random_state=0, **SMALL)
        before = model.get_params()
        assert model.fit(X, Y).get_params() == before
        assert model.binary is None

    def test_pickle(self, fitted):
        for model in (fitted, classifier().fit(X, Y)):
            _ = model.posterior_
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
            assert again.posterior_.equals(model.posterior_)

    def test_input_is_left_alone(self):
        table, labels, weights = X.copy(), Y.copy(), np.ones(len(X))
        for array in (table, labels, weights):
            array.setflags(write=False)
        classifier().fit(table, labels, sample_weight=weights).predict_frame(table)
        np.testing.assert_array_equal(table, X)

    def test_metadata_routing(self):
        weights = np.where(Y == 0, 5.0, 1.0)
        plain = classifier().fit(X, Y, sample_weight=weights)
        with sklearn.config_context(enable_metadata_routing=True):
            model = classifier().set_fit_request(sample_weight=True)
            pipe = make_pipeline(model).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(pipe.predict_proba(X), plain.predict_proba(X))
        assert not np.array_equal(plain.predict_proba(X), classifier().fit(X, Y).predict_proba(X))

    def test_two_names_for_the_same_model(self, fitted):
        model = Logistic(rate=fitted.precision_rate_)
        general = StickBreakingClassifier(binary=model, random_state=0, **SMALL).fit(X, Y)
        np.testing.assert_array_equal(general.predict_proba(X), fitted.predict_proba(X))


def by_hand(model, X):
    """Class probabilities under every draw, from `posterior_` and the raw table."""
    posterior = model.posterior_["posterior"]
    split_class = model.posterior_["constant_data"]["split_class"].values
    intercepts = posterior["intercept"].values.reshape(-1, len(split_class))
    coefs = posterior["coef"].values.reshape(*intercepts.shape, -1)
    order = posterior["order"].values.reshape(len(intercepts), -1)
    intercept = np.full((len(order), len(model.classes_)), np.nan)
    coef = np.full((*intercept.shape, coefs.shape[-1]), np.nan)
    for d, k in np.argwhere(~np.isnan(intercepts)):
        category = np.searchsorted(model.classes_, split_class[k])
        intercept[d, category], coef[d, category] = intercepts[d, k], coefs[d, k]
    out = np.empty((len(intercept), len(X), len(model.classes_)))
    for d in range(len(intercept)):
        left = np.ones(len(X))
        for category in order[d, :-1]:
            eta = intercept[d, category] + X @ coef[d, category]
            success = 1 / (1 + np.exp(-eta))
            out[d, :, category] = left * success
            left = left * (1 - success)
        out[d, :, order[d, -1]] = left
    return out


class TestScale:
    @pytest.mark.parametrize("scale", ["standard", "range", None])
    def test_coefficients_are_on_the_scale_of_the_table(self, scale):
        table = X * [3.0, 0.01] + [5.0, -0.2]
        model = classifier(scale=scale).fit(table, Y)
        np.testing.assert_allclose(by_hand(model, table), model.sample_proba(table), atol=1e-9)

    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    @pytest.mark.parametrize(
        "changes",
        [{}, {"scheme": "paper"}, {"order": "swap"}, {"order": [2, 1, 0]}],
        ids=["exact", "paper", "swap", "fixed"],
    )
    def test_likelihood_of_the_draws_is_that_of_the_probabilities(self, direction, changes):
        settings = SMALL | {"random_state": 0, "direction": direction} | changes
        weights = 0.5 + np.arange(len(X)) % 3
        model = StickBreakingClassifier(**settings).fit(X, Y, sample_weight=weights)
        chosen = np.log(model.sample_proba(X)[:, np.arange(len(X)), Y])
        np.testing.assert_allclose(chosen @ weights, model.draws_.log_likelihood.ravel())

    def test_reverse_sticks(self):
        model = StickBreakingClassifier(direction="reverse", random_state=0, **SMALL).fit(X, Y)
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert model.score(X, Y) > 0.7

    @pytest.mark.parametrize("scale", ["standard", "range"])
    @pytest.mark.parametrize(("factor", "rtol"), [(1024.0, 1e-12), (1000.0, 1e-6)])
    def test_units_do_not_matter(self, scale, factor, rtol):
        # a power of two changes no digit, other factors round
        model = classifier(scale=scale, precision=1.0).fit(X, Y)
        other = classifier(scale=scale, precision=1.0).fit(X * [factor, 1.0], Y)
        np.testing.assert_allclose(
            other.predict_proba(X * [factor, 1.0]), model.predict_proba(X), rtol=rtol
        )
        one, two = (m.posterior_["posterior"]["coef"].values for m in (model, other))
        np.testing.assert_allclose(two[..., 0] * factor, one[..., 0], rtol=1e3 * rtol)
        np.testing.assert_allclose(two[..., 1], one[..., 1], rtol=1e3 * rtol)

    def test_without_scaling_units_matter(self):
        model, other = (classifier(scale=None).fit(X * f, Y) for f in (1, 1000))
        assert not np.allclose(model.predict_proba(X), other.predict_proba(X * 1000), atol=1e-3)


class TestRecovery:
    @pytest.mark.statistical(level=2e-6)
    def test_coefficients_drawn_from_the_prior_are_found(self, seed, level):
        """Truth drawn from the prior: posterior means and intervals are then calibrated."""
        rng = np.random.default_rng(seed)
        n, n_features, order = 2000, 5, [2, 0, 3, 1]
        table = rng.normal(size=(n, n_features))
        truth = rng.normal(size=(4, n_features + 1))
        eta = truth[:, :1] + truth[:, 1:] @ table.T
        y = simulate_categories(-np.logaddexp(0, -eta), -np.logaddexp(0, eta), order, rng=rng)
        model = StickLogisticClassifier(
            precision=1.0,
            scale=None,
            order=order,
            n_chains=2,
            n_warmup=200,
            n_draws=1000,
            n_jobs=1,
            random_state=seed,
        ).fit(table, y)
        summary = model.summary(interval=0.9)
        true = truth[order[:-1]].ravel()
        score = (summary["mean"] - true) / summary["sd"]
        assert np.abs(score).max() < norm.isf(level / 4 / len(true))
        missed = ((true < summary["lower"]) | (true > summary["upper"])).sum()
        assert missed <= binom.isf(level / 2, len(true), 0.1)
        np.testing.assert_allclose(by_hand(model, table[:9]).mean(axis=0).sum(axis=1), 1)
