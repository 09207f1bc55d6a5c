"""Cross-validation where rows cannot choose every class, beside folds by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from calibration.exact_availability import stick_by_stick
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb import AvailabilityScorer

SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 30, "random_state": 1, "progress": False}
CLASSES = ["bus", "car", "walk"]
FOLDS = KFold(3)
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def choices(n_rows=120):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n_rows, 3))
    available = rng.random((n_rows, 3)) < 0.7
    available[:, 0] |= ~available.any(axis=1)
    cost = np.where(available, X + rng.gumbel(size=X.shape), np.inf)
    return X, np.array(CLASSES)[cost.argmin(axis=1)], available


X, Y, AVAILABLE = choices()
TABLE = pd.DataFrame(AVAILABLE, columns=CLASSES)
MODELS = {
    "logistic": pasb.StickLogisticClassifier(**SHORT),
    "softplus": pasb.SoftplusClassifier(n_experts=2, n_layers=1, moves="gibbs", **SHORT),
}


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param]).set_fit_request(availability=True)


def by_hand(model, weights=None, scale=False):
    """Mean log score and share of right predictions of each fold."""
    logs, right = [], []
    for train, test in FOLDS.split(X):
        table = StandardScaler().fit(X[train]).transform(X) if scale else X
        fold = clone(model).fit(table[train], Y[train], availability=AVAILABLE[train])
        p = stick_by_stick(fold, table[test], AVAILABLE[test]).mean(axis=0)
        place = np.searchsorted(CLASSES, Y[test])
        own = None if weights is None else weights[test]
        logs.append(np.average(np.log(p[np.arange(len(test)), place]), weights=own))
        right.append(np.average(p.argmax(axis=1) == place, weights=own))
    return logs, right


@pytest.mark.parametrize("table", [AVAILABLE, TABLE], ids=["array", "frame"])
def test_log_loss_and_accuracy(model, table):
    logs, right = by_hand(model)
    how = {"params": {"availability": table}, "cv": FOLDS}
    found = cross_val_score(model, X, Y, scoring=AvailabilityScorer(), **how)
    assert found == pytest.approx(logs)
    accuracy = cross_val_score(model, X, Y, scoring=AvailabilityScorer("accuracy"), **how)
    assert accuracy == pytest.approx(right)
    own = model.set_score_request(availability=True)
    assert cross_val_score(own, X, Y, **how) == pytest.approx(right)
    several = {"loss": AvailabilityScorer(), "right": AvailabilityScorer("accuracy")}
    both = cross_validate(model, X, Y, scoring=several, **how)
    assert both["test_loss"] == pytest.approx(logs)
    assert both["test_right"] == pytest.approx(right)


def test_pipelines(model):
    pipe = make_pipeline(StandardScaler(), model)
    how = {"params": {"availability": AVAILABLE}, "cv": FOLDS}
    found = cross_val_score(pipe, X, Y, scoring=AvailabilityScorer(), **how)
    assert found == pytest.approx(by_hand(model, scale=True)[0])


def test_weights_of_the_scorer_that_is_named(model):
    weights = np.linspace(0.5, 2, len(Y))
    scorer = AvailabilityScorer(get_scorer("neg_log_loss").set_score_request(sample_weight=True))
    params = {"availability": AVAILABLE, "sample_weight": weights}
    unweighted = model.set_fit_request(sample_weight=False)
    found = cross_val_score(unweighted, X, Y, scoring=scorer, params=params, cv=FOLDS)
    assert found == pytest.approx(by_hand(model, weights)[0])


def test_searches():
    model = clone(MODELS["logistic"]).set_fit_request(availability=True)
    grid = {"precision": [1.0, 1e4]}
    search = GridSearchCV(model, grid, scoring=AvailabilityScorer(), cv=FOLDS)
    search.fit(X, Y, availability=AVAILABLE)
    means = [np.mean(by_hand(clone(model).set_params(precision=one))[0]) for one in (1.0, 1e4)]
    assert search.cv_results_["mean_test_score"] == pytest.approx(means)


def test_functions_are_scorers():
    fitted = clone(MODELS["logistic"]).fit(X, Y, availability=AVAILABLE)

    def least(estimator, X, y):
        return estimator.predict_proba(X)[AVAILABLE].min()

    scorer = AvailabilityScorer(least)
    lowest = stick_by_stick(fitted, X, AVAILABLE).mean(axis=0)[AVAILABLE].min()
    assert scorer(fitted, X, Y, AVAILABLE) == pytest.approx(lowest)
    model = clone(MODELS["logistic"]).set_fit_request(availability=True)
    how = {"params": {"availability": AVAILABLE}, "cv": FOLDS}
    predicted = AvailabilityScorer(lambda estimator, X, y: np.mean(estimator.predict(X) == y))
    assert cross_val_score(model, X, Y, scoring=predicted, **how) == pytest.approx(
        by_hand(model)[1]
    )


def test_what_is_wrong():
    fitted = clone(MODELS["logistic"]).fit(X, Y, availability=AVAILABLE)
    with pytest.raises(ValueError, match="got no availability: pass it, or enable metadata"):
        AvailabilityScorer()(fitted, X, Y)
    other = LogisticRegression().fit(X, Y)
    with pytest.raises(TypeError, match=r"a Bayesian classifier of pasb.*not LogisticRegression"):
        AvailabilityScorer()(other, X, Y, AVAILABLE)
    with pytest.raises(ValueError, match="log_los"):
        AvailabilityScorer("log_los")
    assert repr(AvailabilityScorer()) == "AvailabilityScorer('neg_log_loss')"


@pytest.mark.parametrize("method", ["predict", "predict_proba", "sample_proba", "predict_frame"])
def test_predictions_warn_where_nothing_is_said(method):
    """So that scikit-learn's own scorers are not wrong in silence."""
    fitted = clone(MODELS["logistic"]).fit(X, Y, availability=AVAILABLE)
    with pytest.warns(UserWarning, match="fitted with availability, and every row is predicted"):
        getattr(fitted, method)(X)
    with pytest.warns(UserWarning, match="pass availability="):
        get_scorer("neg_log_loss")(fitted, X, Y)


@pytest.mark.filterwarnings("error")
def test_predictions_say_nothing_else():
    plain = clone(MODELS["logistic"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.fit(X, Y)
        some = clone(plain).fit(X, Y, availability=AVAILABLE)
    plain.predict(X), plain.predict(X, availability=AVAILABLE)
    some.predict(X, availability=np.ones((120, 3)))
    pasb.plots.probability_map(some, X, features=(0, 1), resolution=4)
    pasb.plots.reliability(some, X, Y, availability=AVAILABLE)
