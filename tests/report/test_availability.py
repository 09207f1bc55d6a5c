"""Reports on rows that cannot choose every class, against sums over sticks by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from calibration.exact_availability import stick_by_stick
from sklearn.base import clone

import pasb
from pasb.choice import ChoiceData, StickChoiceClassifier

SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "random_state": 1, "progress": False}
CLASSES = ["bus", "car", "walk"]
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def choices(n_rows=120):
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({f"price_{c}": rng.uniform(1, 5, n_rows) for c in CLASSES})
    available = rng.random((n_rows, 3)) < 0.7
    available[:, 0] |= ~available.any(axis=1)
    cost = np.where(available, frame.to_numpy() + rng.gumbel(size=(n_rows, 3)), np.inf)
    return frame, np.array(CLASSES)[cost.argmin(axis=1)], available


X, Y, AVAILABLE = choices()


@pytest.fixture(
    scope="module",
    params=[
        pasb.StickLogisticClassifier(**SHORT),
        pasb.SoftplusClassifier(n_experts=2, n_layers=1, **SHORT),
    ],
    ids=["logistic", "softplus"],
)
def model(request):
    return clone(request.param).fit(X, Y, availability=AVAILABLE)


def test_numbers(model):
    with pytest.raises(ValueError, match="a report on rows would take everything for available"):
        model.report(X, Y)
    report = model.report(X, Y, availability=pd.DataFrame(AVAILABLE, columns=CLASSES))
    facts, p = report.facts, stick_by_stick(model, X, AVAILABLE)
    right = np.searchsorted(CLASSES, Y)
    mean = p.mean(axis=0)
    assert facts["scores"]["error"] == pytest.approx((mean.argmax(axis=1) != right).mean())
    loss = -np.log(mean[np.arange(len(Y)), right]).mean()
    assert facts["scores"]["log_loss"] == pytest.approx(loss)
    first = facts["rows"]["doubtful"][0]
    row = mean[first["row"] - 1]
    assert first["prediction"]["p"] == pytest.approx(row.max())
    lower = np.quantile(p[:, first["row"] - 1, row.argmax()], 0.05)
    assert first["prediction"]["lower"] == pytest.approx(lower)
    term = facts["effects"]["terms"][0]
    values = X[term["term"]]
    low, high = values.mean() - values.std(ddof=0), values.mean() + values.std(ddof=0)
    ends = [stick_by_stick(model, X.assign(**{term["term"]: v}), AVAILABLE) for v in (low, high)]
    change = (ends[1] - ends[0]).mean(axis=(0, 1))
    assert term["estimate"] == pytest.approx(change, abs=1e-9)
    assert "availability=availability_train" in facts["reproduce"]
    assert "availability=availability_test" in facts["reproduce"]
    assert "not available to a row has 0" in report.html()
    assert "over what is available" in report.html()


def test_some_of_the_rows(model):
    report = model.report(X, Y, availability=AVAILABLE, max_rows=30, compare=False)
    some = np.unique(np.linspace(0, 119, 30).astype(int))
    mean = stick_by_stick(model, X.iloc[some], AVAILABLE[some]).mean(axis=0)
    wrong = np.array(CLASSES)[mean.argmax(axis=1)] != Y[some]
    assert report.facts["scores"]["error"] == pytest.approx(wrong.mean())


def test_everything_available(model):
    report = model.report(X, Y, availability=np.ones((120, 3)), compare=False)
    mean = stick_by_stick(model, X, np.ones((120, 3))).mean(axis=0)
    wrong = np.array(CLASSES)[mean.argmax(axis=1)] != Y
    assert report.facts["scores"]["error"] == pytest.approx(wrong.mean())


def test_the_logistic_regression_is_judged_among_what_is_available(model):
    """Where a row has one class, its probability is 1."""
    alone = np.zeros((120, 3), dtype=bool)
    alone[np.arange(120), np.searchsorted(CLASSES, Y)] = True
    rival = model.report(X, Y, availability=alone).facts["rival"]
    assert rival["theirs"]["error"] == rival["ours"]["error"] == 0
    assert rival["theirs"]["log_loss"] == pytest.approx(0)


def test_bad_input(model):
    with pytest.raises(ValueError, match="availability must belong to rows: pass X too"):
        model.report(availability=AVAILABLE)
    wrong = AVAILABLE.copy()
    wrong[4] = np.array(CLASSES) != Y[4]
    with pytest.raises(ValueError, match="row 5 chose a class that was not available"):
        model.report(X, Y, availability=wrong)


def test_choices():
    frame = X.assign(mode=Y, **{f"{c}_av": AVAILABLE[:, k] for k, c in enumerate(CLASSES)})
    data = ChoiceData.from_wide(
        frame,
        choice="mode",
        alternatives=CLASSES,
        covariates="price",
        availability="{alternative}_av",
    )
    model = StickChoiceClassifier(**SHORT).fit(data)
    report = model.report(data)
    mean = model.sample_proba(data).mean(axis=0)
    wrong = np.array(CLASSES)[mean.argmax(axis=1)] != Y
    assert report.facts["scores"]["error"] == pytest.approx(wrong.mean())
    assert report.facts["effects"]["terms"][0]["term"].startswith("price[")
    assert "model.fit(X_train)\nmodel.report(X_test)" in report.facts["reproduce"]
    assert report.html()
