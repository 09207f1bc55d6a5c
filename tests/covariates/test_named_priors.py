"""Priors by the names of covariates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pasb
from pasb.covariates.named_priors import from_json, named_priors, to_json
from pasb.covariates.scaling import Scaling
from pasb.errors import CheckpointError

A, B, C = pasb.Normal(0, 1), pasb.StudentT(3, 0, 2), pasb.Normal(1, 2)
NAMES = ["bill_length", "bill_depth", "island[T.Dream]", "mass"]
SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_jobs": 1, "random_state": 0}


def table(n=90):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(n, 3)) * [1, 10, 100], columns=["a", "b", "c"])
    X["a"] += np.arange(n) % 3
    return X, np.array(["x", "y", "z"])[np.arange(n) % 3]


def test_which_prior_is_for_which_name():
    def found(prior):
        return named_priors(prior, NAMES)

    assert found(A) == [None, A, A, A, A]
    assert found({"mass": A, "intercept": B}) == [B, None, None, None, A]
    assert found({"bill*": A, "bill_depth": B}) == [None, A, B, None, None]
    assert found({"bill_depth": B, "bill*": A}) == [None, A, B, None, None]  # a name first
    assert found({"*": A, "bill*": B}) == [None, B, B, A, A]  # then the later pattern
    assert found({"island[T.*": A}) == [None, None, None, A, None]  # brackets are letters
    assert found({"island[T.Dream]": A}) == [None, None, None, A, None]
    assert found({("mass", "bill_?epth"): C}) == [None, None, C, None, C]
    assert found({}) == [None] * 5


@pytest.mark.parametrize(
    ("prior", "error", "words"),
    [
        ({"bil_length": A}, ValueError, "did you mean 'bill_length'"),
        ({"island": A}, ValueError, r"'island\[T.Dream\]'"),
        ({"zebra*": A}, ValueError, "there are 'intercept', 'bill_length'"),
        ({3: A}, ValueError, "no covariate 3"),
        ({"mass": 2.0}, TypeError, "pasb.Normal"),
        ({"mass": "normal"}, TypeError, "pasb.Normal"),
        ("normal", TypeError, "pasb.Normal"),
        ({"intercept": pasb.Horseshoe()}, ValueError, "not shrunk"),
    ],
)
def test_a_prior_that_does_not_fit(prior, error, words):
    with pytest.raises(error, match=words):
        named_priors(prior, NAMES)


def test_a_table_without_names():
    with pytest.raises(ValueError, match=r"there are 'intercept', 'x0', 'x1'\. .*set_output"):
        named_priors({"bill*": A}, ["x0", "x1"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: pasb.Normal(0, 0),
        lambda: pasb.Normal(0, -1),
        lambda: pasb.Normal(np.nan, 1),
        lambda: pasb.Normal("0", 1),
        lambda: pasb.StudentT(0, 0, 1),
        lambda: pasb.StudentT(3, 0, np.inf),
        lambda: pasb.Horseshoe(0),
        lambda: pasb.Horseshoe(True),
    ],
)
def test_impossible_numbers(make):
    with pytest.raises(ValueError, match=r"prior: (location|scale|df) must be"):
        make()


def test_as_json_and_back():
    for prior in (None, A, pasb.Horseshoe(0.3), {"a*": A, ("b", "c"): B}):
        assert from_json(to_json(prior)) == prior


@pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
class TestFits:
    def test_units(self):
        X, y = table()
        prior = {"b": pasb.Normal(0.5, 0.2), "c": pasb.StudentT(3, 0, 0.01), "intercept": C}
        model = pasb.StickLogisticClassifier(prior=prior, precision_rate=8.0, **SHORT).fit(X, y)
        spread = Scaling.of(X.to_numpy(), np.ones(len(X)), "standard").spread
        assert model.fitted_.binary.priors[0] == ("normal", 1.0, 2.0)
        np.testing.assert_allclose(model.fitted_.binary.priors[1][1:], (4.0, 0.0, 2.0))
        np.testing.assert_allclose(
            model.fitted_.binary.priors[2][1:], (0.5 * spread[1], 0.2 * spread[1])
        )
        used = {one["feature"]: one for one in model.priors_}
        assert used["b"] == {"feature": "b", "prior": "normal", "location": 0.5, "scale": 0.2}
        assert used["c"]["scale"] == pytest.approx(0.01)
        assert used["a"]["scale"] == pytest.approx(2 / spread[0])
        shown = model.summary().set_index("feature")["prior"]
        assert set(shown["b"]) == {"normal(0.5, 0.2)"}
        assert set(shown["(intercept)"]) == {"normal(1, 2)"}

    def test_a_narrow_prior_decides(self):
        X, y = table()
        prior = {"b": pasb.Normal(0.3, 1e-4), "c": pasb.Normal(0, 1e-7)}
        for kind in (pasb.StickLogisticClassifier, pasb.StickRobitClassifier):
            found = kind(prior=prior, **SHORT).fit(X, y).summary().set_index("feature")
            np.testing.assert_allclose(found.loc["b", "mean"], 0.3, atol=1e-3)
            np.testing.assert_allclose(found.loc["c", "mean"], 0.0, atol=1e-6)

    def test_the_rate_of_the_rest_is_chosen_given_what_was_named(self):
        X, y = table()
        rates = [
            pasb.StickLogisticClassifier(prior=prior, **SHORT).fit(X, y).precision_rate_
            for prior in (None, {"a": pasb.Normal(0, 1e-3)}, pasb.Normal(0, 1))
        ]
        assert rates[0] != rates[1]
        assert rates[2] > 0  # the intercept alone

    @pytest.mark.parametrize("prior", [{"a": C, ("b", "c"): A}, pasb.Horseshoe(0.1)])
    def test_saved_and_loaded(self, prior, tmp_path):
        X, y = table()
        model = pasb.StickLogisticClassifier(prior=prior, **SHORT).fit(X, y)
        model.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.priors_ == model.priors_
        assert again.prior == model.prior
        assert again.orders_.keys() == model.orders_.keys()

    def test_the_general_classifier_takes_priors_of_columns(self, tmp_path):
        X, y = table()
        priors = [("normal", 0.5, 1.0), ("t", 3.0, 0.0, 1.0), ("normal", 0.0, 1.0)] * 2
        binary = pasb.Logistic(priors=priors[:4])
        model = pasb.StickBreakingClassifier(binary=binary, **SHORT).fit(X, y)
        model.save(tmp_path / "model.pasb")
        again = pasb.load(tmp_path / "model.pasb")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert [tuple(own) for own in again.binary.priors] == priors[:4]
        with pytest.raises(ValueError, match="each of the 4 columns"):
            model.set_params(binary=pasb.Logistic(priors=priors)).fit(X, y)

    @pytest.mark.parametrize("prior", [{"a": C}, pasb.Horseshoe(0.1)])
    def test_a_run_resumes(self, prior, tmp_path):
        X, y = table()
        whole = pasb.StickLogisticClassifier(prior=prior, **SHORT).fit(X, y)
        part = pasb.StickLogisticClassifier(
            prior=prior, checkpoint=tmp_path, **{**SHORT, "n_draws": 15}
        ).fit(X, y)
        part.set_params(n_draws=SHORT["n_draws"]).fit(X, y)
        np.testing.assert_array_equal(
            part.draws_.parameters["coef"], whole.draws_.parameters["coef"]
        )
        with pytest.raises(CheckpointError):
            part.set_params(prior={"a": A}).fit(X, y)

    def test_a_horseshoe_shrinks_noise_and_spares_a_signal(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(120, 30))
        y = (X[:, 0] * 3 + rng.logistic(size=120) > 0).astype(int)
        found = {
            name: pasb.StickLogisticClassifier(
                prior=prior, precision_rate=8.0, **{**SHORT, "n_warmup": 300, "n_draws": 300}
            )
            .fit(X, y)
            .summary()
            .set_index("feature")["mean"]
            .abs()
            .drop("(intercept)")
            for name, prior in (("horseshoe", pasb.Horseshoe()), ("usual", None))
        }
        noise = {name: own.drop("x0").mean() for name, own in found.items()}
        # over ten other seeds the ratio is from 0.05 to 0.14, and x0 has 2.8 or more
        assert noise["horseshoe"] < 0.6 * noise["usual"]
        assert found["horseshoe"]["x0"] > 1

    def test_order_evidence_has_no_horseshoe(self):
        X, y = table()
        model = pasb.StickLogisticClassifier(prior=pasb.Horseshoe())
        with pytest.raises(ValueError, match="horseshoe"):
            pasb.order_evidence(X, y, model=model)

    def test_order_evidence_knows_a_location(self):
        X, y = table()
        model = pasb.StickLogisticClassifier(prior=pasb.Normal(1, 0.5))
        found = pasb.order_evidence(X, y, model=model)
        assert not found.tied
        assert " / " not in found.order_posterior()["order"][0]
