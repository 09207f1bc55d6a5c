"""Priors of choice sticks by the names of covariates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.choice.simulated_choices import simulated

import pasb
from pasb.choice import StickChoiceClassifier
from pasb.covariates.choice_priors import choice_priors
from pasb.errors import CheckpointError

A, B, C = pasb.Normal(0, 1), pasb.StudentT(3, 0, 2), pasb.Normal(1, 2)
SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 30, "random_state": 1, "progress": False}
LABELS = np.array(["bus", "car"])
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def few():
    return simulated(150, 3)


def test_which_prior_is_for_which_column():
    def found(prior):  # price generic, time specific
        return choice_priors(prior, ["old"], {"price": True, "time": False}, LABELS)

    assert found({"price": A}) == [None, None, A, A, None, None]
    assert found({"time": A}) == [None, None, None, None, A, A]
    assert found({"time[car]": B, "time": A}) == [
        None,
        None,
        None,
        None,
        A,
        B,
    ]  # whatever the order
    assert found({("price", "time"): A, "intercept": B}) == [B, None, A, A, A, A]
    assert found({"time*": A, "*": B, "old": C}) == [None, C, B, B, B, B]
    assert found(A) == [None, A, A, A, A, A]
    assert found({}) == [None] * 6


@pytest.mark.parametrize(
    ("prior", "error", "words"),
    [
        ({"price[car]": A}, ValueError, "'price' is generic; name 'price'"),
        ({"time[van]": A}, ValueError, r"'time\[car\]'"),
        ({"prise": A}, ValueError, "did you mean 'price'"),
        ({"cost": A}, ValueError, "no covariate 'cost'"),
        ({"price": -1.0}, TypeError, "pasb.Normal"),
        ({"time": pasb.Horseshoe()}, ValueError, "no horseshoe"),
        (pasb.Horseshoe(), ValueError, "no horseshoe"),
        ("normal", TypeError, "pasb.Normal"),
    ],
)
def test_a_prior_that_does_not_fit(prior, error, words, few):
    with pytest.raises(error, match=words):
        StickChoiceClassifier(prior=prior, generic=["price"], **SHORT).fit(few)


def test_units(few):
    prior = {"price": pasb.Normal(-0.5, 0.2), "time[car]": B, "intercept": C}
    model = StickChoiceClassifier(prior=prior, generic=["price"], precision_rate=8.0, **SHORT)
    used = {one.pop("feature"): one for one in model.fit(few).priors_}
    for mode in ("bus", "car", "train"):
        assert used[f"price[{mode}]"] == pytest.approx(
            {"prior": "normal", "location": -0.5, "scale": 0.2}
        )
    assert used["time[car]"] == pytest.approx({"prior": "t", "df": 3, "location": 0, "scale": 2})
    assert used["time[bus]"]["df"] == 4
    assert used["(intercept)"] == {"prior": "normal", "location": 1.0, "scale": 2.0}
    shown = model.summary().set_index("feature")["prior"]
    assert set(shown[[name for name in shown.index if "price" in name]]) == {"normal(-0.5, 0.2)"}


@pytest.mark.parametrize("generic", ["all", "none"])
def test_a_narrow_prior_decides(generic, few):
    prior = {"price": pasb.Normal(-0.3, 1e-4), "old": pasb.Normal(0.2, 1e-4)}
    model = StickChoiceClassifier(prior=prior, generic=generic, **SHORT).fit(few)
    price = model.coefficient_draws("price")
    np.testing.assert_allclose(price[~np.isnan(price)], -0.3, atol=1e-3)
    found = model.summary().set_index("feature")["mean"]
    np.testing.assert_allclose(found["old"], 0.2, atol=1e-3)


def test_persons_leave_the_priors_as_they_are(few):
    panel = replace(few, person=np.array([str(i // 5) for i in range(len(few))]))
    prior = {"price": pasb.Normal(-0.3, 1e-4)}
    model = StickChoiceClassifier(prior=prior, order=["train", "bus", "car"], **SHORT).fit(panel)
    np.testing.assert_allclose(model.coefficient_draws("price"), -0.3, atol=1e-3)
    assert "price[bus]" in {one["feature"] for one in model.priors_}


def test_files_and_checkpoints(few, tmp_path):
    prior = {"price": pasb.Normal(-0.5, 0.2), ("time", "old"): B}
    settings = SHORT | {"prior": prior, "generic": ["price"]}
    whole = StickChoiceClassifier(**settings).fit(few)
    whole.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert (again.predict_proba(few) == whole.predict_proba(few)).all()
    assert again.priors_ == whole.priors_
    assert again.prior == prior
    kept = settings | {"checkpoint": str(tmp_path / "run")}
    part = StickChoiceClassifier(**(kept | {"n_draws": 10})).fit(few)
    resumed = StickChoiceClassifier(**kept).fit(few)
    assert (resumed.draws_.parameters["coef"] == whole.draws_.parameters["coef"]).all()
    with pytest.raises(CheckpointError):
        part.set_params(prior={"price": A}, n_draws=30).fit(few)
