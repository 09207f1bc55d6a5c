from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

import pasb
from pasb import (
    StickLogisticClassifier,
    StickRobitClassifier,
    TableEncoder,
    datasets,
    effects,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 1, "n_warmup": 20, "n_draws": 40, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def vehicle():
    data = datasets.load("vehicle")
    return data.frame()[list(data.feature_names)], data.y


def test_the_odds_of_hypothetical_rows(vehicle):
    """Multiply the odds among the classes that are left by hand, draw by draw."""
    X, y = vehicle
    order = ["bus", "van", "opel", "saab"]
    model = StickLogisticClassifier(order=order, **SHORT).fit(X, y)
    name = X.columns[0]
    found = effects.odds_ratios(model, {name: 2.0}, interval=0.8)
    assert found["class"].tolist() == order[:3]
    places = [model.classes_.tolist().index(label) for label in order]
    low, high = (
        model.sample_proba(rows)[:, 0][:, places]
        for rows in (X.iloc[:1], X.iloc[:1].assign(**{name: X[name].iloc[0] + 2.0}))
    )
    for stick in range(3):
        odds = [p[:, stick] / p[:, stick + 1 :].sum(axis=1) for p in (low, high)]
        ratio = odds[1] / odds[0]
        middle = np.exp(np.median(np.log(ratio)))
        np.testing.assert_allclose(found["odds_ratio"][stick], middle, rtol=1e-6)
        np.testing.assert_allclose(found["upper"][stick], np.quantile(ratio, 0.9), rtol=0.01)
    assert found["meaning"].tolist() == [
        f"odds of bus against van or opel or saab, for {name} +2",
        f"odds of van against opel or saab, given that it is not bus, for {name} +2",
        f"odds of opel against saab, given that it is neither bus nor van, for {name} +2",
    ]


def draws_of(model, X):
    if isinstance(model, Pipeline):
        model, X = model[-1], model[:-1].transform(X)
    return model.sample_proba(X)


def test_columns_that_change_together():
    """Levels that an encoder made columns of, and a product in a formula."""
    data = datasets.load("iris")
    X = data.frame()[list(data.feature_names)].set_axis(["a", "b", "c", "d"], axis=1)
    X["site"] = np.array(["north", "south", "west"])[np.arange(len(X)) % 3]
    order = ["setosa", "versicolor", "virginica"]
    logistic = StickLogisticClassifier(order=order, **SHORT)
    pipe = make_pipeline(TableEncoder().set_output(transform="pandas"), logistic)
    together = {"site=south": 1, "site=north": -1}
    cases = [
        (clone(pipe).fit(X, data.y), together, {"site": "north"}, {"site": "south"}),
        (
            pasb.fit("kind ~ a * site + d", X.assign(kind=data.y), model=clone(logistic)),
            {"a": 0.5, "a:site[T.west]": 0.5},
            {"site": "west", "a": 5.0},
            {"site": "west", "a": 5.5},
        ),
    ]
    for model, change, low, high in cases:
        found = effects.odds_ratios(model, {"both": change})
        p, q = (draws_of(model, X[60:61].assign(**side))[:, 0] for side in (low, high))
        for stick, behind in enumerate([[1, 2], [2]]):
            ratio = (q[:, stick] / q[:, behind].sum(1)) / (p[:, stick] / p[:, behind].sum(1))
            middle = np.exp(np.median(np.log(ratio)))
            np.testing.assert_allclose(found["odds_ratio"][stick], middle, rtol=1e-6)
        assert list(found["feature"]) == ["both"] * 2
        assert found["meaning"][0] == (
            "odds of setosa against versicolor or virginica, for both, all other columns unchanged"
        )
    model = cases[0][0]
    for wrong, message in (
        ({"both": {"site=nort": 1}}, "did you mean 'site=north'"),
        ({"site=north": {"site=south": 1}}, "'site=north' is a covariate; give several"),
        ({"both": {"site=south": "1"}}, "'site=south' must change by a finite number, not '1'"),
        ({"d": np.nan}, "'d' must change by a finite number, not nan"),
    ):
        with pytest.raises(ValueError, match=message):
            effects.odds_ratios(model, wrong)


def test_refusals(vehicle):
    model = StickRobitClassifier(**SHORT).fit(*vehicle)
    with pytest.raises(ValueError, match="odds ratios are for logistic sticks"):
        effects.odds_ratios(model)
    logistic = StickLogisticClassifier(**SHORT).fit(*vehicle)
    with pytest.raises(ValueError, match="did you mean 'compactness'"):
        effects.odds_ratios(logistic, "compactnes")
