from __future__ import annotations

import numpy as np
import pytest

from pasb import StickLogisticClassifier, StickRobitClassifier, datasets, effects

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


def test_refusals(vehicle):
    model = StickRobitClassifier(**SHORT).fit(*vehicle)
    with pytest.raises(ValueError, match="odds ratios are for logistic sticks"):
        effects.odds_ratios(model)
    logistic = StickLogisticClassifier(**SHORT).fit(*vehicle)
    with pytest.raises(ValueError, match="did you mean 'compactness'"):
        effects.odds_ratios(logistic, "compactnes")
