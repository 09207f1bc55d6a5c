"""Questions to classifiers that see a whole table: prices by column, and availability."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import pasb
from pasb.choice import diversion, elasticities, iia_test, probability_ratio, share_changes, shares

MODES = ["bus", "car", "train"]
PRICES = {mode: f"price_{mode}" for mode in MODES}
SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 30, "random_state": 1, "progress": False}


@pytest.fixture(scope="module")
def trips():
    rng = np.random.default_rng(3)
    price = rng.uniform(1, 5, (150, 3))
    available = rng.random((150, 3)) < 0.8
    available[np.arange(150), rng.integers(3, size=150)] = True
    utility = np.where(available, -price + rng.gumbel(size=price.shape), -np.inf)
    table = pd.DataFrame(price, columns=list(PRICES.values())).assign(old=np.arange(150) % 2)
    return table, np.array(MODES)[utility.argmax(axis=1)], available


def fitted(model, table, mode, available):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table, mode, availability=available)


@pytest.fixture(scope="module", params=["logistic", "softplus"])
def model(request, trips):
    if request.param == "logistic":
        return fitted(pasb.StickLogisticClassifier(**SHORT), *trips)
    softplus = pasb.SoftplusClassifier(n_experts=2, n_layers=1, direction="forward", **SHORT)
    return fitted(softplus, *trips)


def dearer(table, available, changed, factor):
    own, has = table[PRICES[changed]], available[:, MODES.index(changed)]
    return table.assign(**{PRICES[changed]: np.where(has, own * factor, own)})


def test_elasticities_are_differences_of_shares(model, trips):
    """By wider steps with one more term, which are as accurate."""
    table, _, available = trips
    found = elasticities(model, table, columns=PRICES, availability=available)
    assert found["changed"].tolist() == [mode for mode in MODES for _ in range(3)]
    now = model.sample_proba(table, availability=available).mean(axis=1)
    for changed, own in found.groupby("changed"):

        def share(step, changed=changed):
            other = dearer(table, available, changed, np.exp(step))
            return model.sample_proba(other, availability=available).mean(axis=1)

        h = 2e-3
        slope = (8 * (share(h) - share(-h)) - (share(2 * h) - share(-2 * h))) / (12 * h)
        expected = (slope / now).mean(axis=0)
        assert own["estimate"].to_numpy() == pytest.approx(expected, abs=1e-6)
        assert (own["kind"] == np.where(own["alternative"] == changed, "own", "cross")).all()
        assert np.abs(expected).max() > 1e-3


def test_arrays_name_columns_by_number(trips):
    table, mode, available = trips
    model = fitted(pasb.StickLogisticClassifier(**SHORT), table.to_numpy(), mode, available)
    asked = {"availability": available}
    named = elasticities(model, table.to_numpy(), columns={"car": "x1"}, **asked)
    numbered = elasticities(model, table.to_numpy(), columns={"car": 1}, **asked)
    pd.testing.assert_frame_equal(named, numbered)
    assert named["changed"].tolist() == ["car"] * 3
    by = shares(model, table.to_numpy(), by="x3", **asked)  # the last column
    assert by["x3"].tolist() == [0.0] * 3 + [1.0] * 3


def test_polars_frames(trips):
    polars = pytest.importorskip("polars")
    table, mode, available = trips
    model = fitted(pasb.StickLogisticClassifier(**SHORT), table, mode, available)
    asked = {"columns": PRICES, "availability": available}
    one = elasticities(model, table, **asked)
    two = elasticities(model, polars.from_pandas(table), **asked)
    assert one["estimate"].tolist() == two["estimate"].to_list()


def test_diversion_of_a_dearer_alternative(model, trips):
    table, _, available = trips
    found = diversion(model, table, "car", columns=PRICES, factor=1.2, availability=available)
    has = available[:, 1] & (available.sum(axis=1) > 1)
    before, after = (
        model.sample_proba(own[has], availability=available[has]).mean(axis=1)
        for own in (table, dearer(table, available, "car", 1.2))
    )
    ratios = (after - before)[:, [0, 2]] / (before - after)[:, 1:2]
    assert found["to"].tolist() == ["bus", "train"]
    assert found["estimate"].to_numpy() == pytest.approx(ratios.mean(axis=0))


def test_changes_of_shares_with_availability(model, trips):
    table, _, available = trips
    other = table.assign(price_bus=table["price_bus"] * 2)
    fewer = available.copy()
    fewer[:40] = True
    for more, then in (({}, available), ({"other_availability": fewer}, fewer)):
        found = share_changes(model, table, other, availability=available, **more)
        change = model.sample_proba(other, availability=then).mean(axis=1)
        change -= model.sample_proba(table, availability=available).mean(axis=1)
        assert found["estimate"].to_numpy() == pytest.approx(change.mean(axis=0))


def test_groups_by_columns(model, trips):
    table, _, available = trips
    found = shares(model, table, by="old", availability=available)
    expected = shares(model, table, by=table["old"].to_numpy(), availability=available)
    assert found["old"].tolist() == [0.0] * 3 + [1.0] * 3
    assert found["estimate"].tolist() == expected["estimate"].tolist()
    with pytest.raises(ValueError, match="by: 'odl' is not a column of the table; did you mean"):
        shares(model, table, by="odl", availability=available)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda m, t, a: elasticities(m, t, "price", **a), TypeError, "columns={'bus': ..., 'tr"),
        (lambda m, t, a: elasticities(m, t, **a), TypeError, "pass the column of each"),
        (lambda m, t, a: elasticities(m, t, columns="x", **a), TypeError, "must be a dictionary"),
        (
            lambda m, t, a: elasticities(m, t, columns={"tram": "price_car"}, **a),
            ValueError,
            "'tram' is not among the alternatives: bus, car, train",
        ),
        (
            lambda m, t, a: elasticities(m, t, columns={"car": "pric_car"}, **a),
            ValueError,
            "did you mean 'price_car'",
        ),
        (
            lambda m, t, a: elasticities(m, t.assign(price_car="x"), columns=PRICES, **a),
            ValueError,
            "price_car",
        ),
        (
            lambda m, t, a: diversion(m, t, "car", columns={"bus": "price_bus"}, **a),
            ValueError,
            "say which column is that of 'car'",
        ),
        (
            lambda m, t, a: diversion(m, t, "car", covariate="price", **a),
            TypeError,
            "knows no covariates of alternatives",
        ),
    ],
)
def test_errors_say_what_to_pass(ask, error, message, model, trips):
    table, _, available = trips
    with pytest.raises(error, match=message):
        ask(model, table, {"availability": available})


def test_nothing_is_taken_for_available_in_silence(model, trips):
    table = trips[0]
    for ask in (
        lambda: shares(model, table),
        lambda: share_changes(model, table, table),
        lambda: elasticities(model, table, columns=PRICES),
        lambda: iia_test(model, table),
        lambda: probability_ratio(model, table, *MODES),
        lambda: pasb.effects.predictions(model, table),
        lambda: pasb.effects.comparisons(model, table, "price_car"),
        lambda: pasb.effects.slopes(model, table, "price_car"),
        lambda: pasb.ModelReport(model, table),
        lambda: model.order_in_words(table, trips[1]),
        lambda: (
            model.summary(X=table, y=trips[1])
            if isinstance(model, pasb.StickLogisticClassifier)
            else model.order_in_words(table, trips[1])
        ),
    ):
        with pytest.raises(ValueError, match="would take everything for available"):
            ask()
    assert len(shares(model, table, availability=np.ones((150, 3)))) == 3
