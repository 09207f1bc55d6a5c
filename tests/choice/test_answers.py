"""Shares, elasticities, diversion, willingness to pay and substitution against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb.choice import (
    diversion,
    elasticities,
    iia_test,
    probability_ratio,
    share_changes,
    shares,
    willingness_to_pay,
)


def test_shares(model, data):
    p = model.sample_proba(data).mean(axis=1)
    found = shares(model, data, interval=0.8)
    assert found["alternative"].tolist() == ["bus", "car", "train"]
    assert found["estimate"].to_numpy() == pytest.approx(p.mean(axis=0))
    assert found["lower"].to_numpy() == pytest.approx(np.quantile(p, 0.1, axis=0))
    by = shares(model, data, by="old")
    young = model.sample_proba(data)[:, data.chooser[:, 0] == 0].mean(axis=(0, 1))
    assert by["old"].tolist() == [0.0] * 3 + [1.0] * 3
    assert by["estimate"].to_numpy()[:3] == pytest.approx(young)
    labels = np.where(data.chooser[:, 0] == 0, "young", "old")
    same = shares(model, data, by=labels)
    assert same["group"].tolist() == ["old"] * 3 + ["young"] * 3
    assert same["estimate"].to_numpy()[3:] == pytest.approx(young)
    weighted = shares(model, data, weights=(data.chooser[:, 0] == 0).astype(float))
    assert weighted["estimate"].to_numpy() == pytest.approx(young)


def test_groups_by_labels_beside_choices(model, data):
    """Labels have the name of their Series, and stand beside covariates of choosers."""
    labels = np.where(np.arange(len(data)) % 3 == 0, "a", "b")
    plain = shares(model, data, by=labels)
    for by, name in (
        (pd.Series(labels, name="site"), "site"),
        (pd.Series(labels, name="alternative"), "by_alternative"),
        (labels.tolist(), "group"),
    ):
        found = shares(model, data, by=by)
        assert found[name].tolist() == ["a"] * 3 + ["b"] * 3
        assert found["alternative"].tolist() == ["bus", "car", "train"] * 2
        assert found["estimate"].tolist() == plain["estimate"].tolist()
    both = shares(model, data, by=["old", pd.Series(labels, name="site")])
    own = (data.chooser[:, 0] == 1) & (labels == "a")
    assert both[["old", "site"]].to_numpy().tolist()[6] == [1.0, "a"]
    expected = model.sample_proba(data)[:, own].mean(axis=(0, 1))
    assert both["estimate"].to_numpy()[6:9] == pytest.approx(expected)
    with pytest.raises(ValueError, match="'site' has no value in 234 of 700 choices"):
        shares(model, data, by=pd.Series(labels, name="site").replace("a", None))
    with pytest.raises(ValueError, match="'group' must hold one label for each of the 700 choices"):
        shares(model, data, by=labels[:9])


def test_changes_of_shares(model, data):
    other = data.changed("price", "train", factor=1.5)
    change = model.sample_proba(other).mean(axis=1) - model.sample_proba(data).mean(axis=1)
    found = share_changes(model, data, other)
    assert found["estimate"].to_numpy() == pytest.approx(change.mean(axis=0))
    assert (found["counterfactual"] - found["share"]).to_numpy() == pytest.approx(
        change.mean(axis=0)
    )
    assert found["estimate"][2] < 0  # more expensive trains lose


def test_elasticities_are_derivatives(model, data):
    """Against central differences of shares."""
    found = elasticities(model, data, "price")
    step = 1e-4
    k = 0
    now = model.sample_proba(data).mean(axis=1)
    for changed in model.classes_:
        up, down = (
            model.sample_proba(data.changed("price", changed, factor=1 + s)).mean(axis=1)
            for s in (step, -step)
        )
        slope = ((up - down) / (2 * step) / now).mean(axis=0)
        for j in range(3):
            row = found.iloc[k]
            assert row["changed"] == changed
            assert row["kind"] == ("own" if row["alternative"] == changed else "cross")
            assert row["estimate"] == pytest.approx(slope[j], abs=1e-6)
            k += 1


def test_diversion_of_a_withdrawn_alternative(model, data):
    found = diversion(model, data, "train")
    assert found["to"].tolist() == ["bus", "car"]
    some = data.take(data.available[:, 2] & (data.available.sum(axis=1) > 1))
    before = model.sample_proba(some).mean(axis=1)
    after = model.sample_proba(some.without("train")).mean(axis=1)
    ratio = (after - before)[:, :2] / before[:, 2:]
    assert found["estimate"].to_numpy() == pytest.approx(ratio.mean(axis=0))
    assert found["estimate"].sum() == pytest.approx(1)


def test_diversion_of_a_dearer_alternative(model, data):
    found = diversion(model, data, "train", covariate="price", factor=1.1)
    assert found["estimate"].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="'cost' is no covariate"):
        diversion(model, data, "train", covariate="cost")
    with pytest.raises(TypeError, match="covariate=, without columns=; there are price, time"):
        diversion(model, data, "train", columns={"train": "price_train"})
    with pytest.raises(ValueError, match="'boat' is not among"):
        diversion(model, data, "boat")


def test_willingness_to_pay(model):
    found = willingness_to_pay(model, "time", "price")
    ratio = -model.coefficient_draws("time")[:, 0] / model.coefficient_draws("price")[:, 0]
    assert found["median"][0] == pytest.approx(np.median(ratio))
    assert found["price_below_zero"][0] == 1
    with pytest.raises(ValueError, match="price: 'cost' is no covariate"):
        willingness_to_pay(model, "time", "cost")


def test_ratio_of_two_probabilities(model, data):
    found = probability_ratio(model, data, "train", "car", "bus").set_index("quantity")
    some = data.take(data.available.all(axis=1))
    before, after = model.sample_proba(some), model.sample_proba(some.without("bus"))
    logs = [np.log(p[..., 2] / p[..., 1]).mean(axis=1) for p in (before, after)]
    assert found["estimate"]["with"] == pytest.approx(logs[0].mean())
    assert found["estimate"]["without"] == pytest.approx(logs[1].mean())
    assert found["estimate"]["change"] == pytest.approx((logs[1] - logs[0]).mean())
    with pytest.raises(ValueError, match="three different"):
        probability_ratio(model, data, "train", "car", "car")


def test_lemma_of_relaxed_independence():
    """The third one matters where it is between the two, or the last but one becomes the last."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 4
    settings = {"n_chains": 1, "n_warmup": 20, "n_draws": 20, "random_state": 1}
    model = pasb.StickLogisticClassifier(order=[0, 1, 2, 3], progress=False, **settings)
    with pytest.warns(pasb.ConvergenceWarning):
        model.fit(X, y)
    table = iia_test(model, X).set_index(["first", "second", "third"])
    same = [(0, 1, 2), (0, 1, 3), (1, 2, 0), (1, 3, 0), (2, 3, 0), (2, 3, 1)]
    for triple in table.index:
        assert (table["estimate"][triple] < 1e-9) == (triple in same)
        assert (table["violated"][triple] == 0) or triple not in same


def test_independence_with_availability(model, data):
    table = iia_test(model, data)
    assert len(table) == 3
    some = data.take(data.available.all(axis=1))
    alone = iia_test(model, some)
    assert table["estimate"].to_numpy() == pytest.approx(alone["estimate"].to_numpy())
    with pytest.raises(ValueError, match="no choice has three"):
        iia_test(model, data.take(~data.available.all(axis=1)))


def test_independence_in_groups(model, data):
    table = iia_test(model, data, by="old")
    assert table["old"].tolist() == [0.0] * 3 + [1.0] * 3
    young = iia_test(model, data.take(data.chooser[:, 0] == 0))
    for column in ("estimate", "lower", "upper", "violated"):
        assert table[column].to_numpy()[:3] == pytest.approx(young[column].to_numpy())
    everything = data.available.all(axis=1)
    apart = iia_test(model, data, by=np.where(everything, "all", "some")).set_index("group")
    assert apart.loc["all", "estimate"].to_numpy() == pytest.approx(
        iia_test(model, data)["estimate"].to_numpy()
    )
    assert apart.loc["some", ["estimate", "upper", "violated"]].isna().all(axis=None)


def test_wrong_questions(model, data):
    with pytest.raises(TypeError, match="must be a ChoiceData"):
        shares(model, data.table())
    with pytest.raises(ValueError, match="'income' is not a covariate of choosers"):
        shares(model, data, by="income")
    with pytest.raises(ValueError, match="weights must hold"):
        shares(model, data, weights=[1.0])
    with pytest.raises(ValueError, match="same 700 choices"):
        share_changes(model, data, data.take([0, 1]))
    with pytest.raises(ValueError, match="interval"):
        shares(model, data, interval=90)


@pytest.mark.parametrize("factor", [1.05, 1.01])
def test_a_factor_belongs_to_a_covariate(model, data, factor):
    with pytest.raises(ValueError, match="multiplies a covariate of train: name it by covariate="):
        diversion(model, data, "train", factor=factor)


@pytest.mark.parametrize("factor", [1, 1.0, np.nan, np.inf])
def test_a_factor_changes_something(model, data, factor):
    with pytest.raises(ValueError, match=r"a number other than 1, such as 1\.05"):
        diversion(model, data, "train", covariate="price", factor=factor)


def test_models_that_cannot_be_asked(model, data):
    pipe = make_pipeline(StandardScaler(), pasb.StickLogisticClassifier())
    with pytest.raises(TypeError, match="not Pipeline: pass its last step, and the table"):
        shares(pipe, data.table())
    with pytest.raises(TypeError, match="not StackedPosterior: pass one of its models_"):
        shares(pasb.StackedPosterior([model]), data)
    with pytest.raises(TypeError, match="needs a fitted classifier of pasb, not StickEnsemble"):
        shares(pasb.StickEnsembleClassifier(LogisticRegression()), data.table())
