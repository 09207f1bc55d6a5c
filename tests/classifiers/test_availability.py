"""Availability as users give it: errors, frames, files, checkpoints, every classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from calibration.exact_availability import CASES, exact_posterior, stick_by_stick
from sklearn.base import clone

import pasb
from pasb.errors import CheckpointError

SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "random_state": 1, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def choices(n_rows=90):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 2))
    y = np.array(["bus", "car", "walk"])[rng.integers(3, size=n_rows)]
    available = rng.random((n_rows, 3)) < 0.7
    available[np.arange(n_rows), np.searchsorted(["bus", "car", "walk"], y)] = True
    return X, y, available


X, Y, AVAILABLE = choices()


MODELS = [
    pasb.StickLogisticClassifier(**SHORT),
    pasb.StickRobitClassifier(**SHORT),
    pasb.StickSVMClassifier(**SHORT),
    pasb.SoftplusClassifier(n_experts=2, n_layers=1, **SHORT),
    pasb.StackedSoftplusClassifier(n_experts=2, n_stacks=2, **SHORT),
    pasb.StickLogisticClassifier(order=["car", "walk", "bus"], **SHORT),
    pasb.StickLogisticClassifier(scheme="paper", sticks="augmented", **SHORT),
]
every_classifier = pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.scheme}-{model.order}"
)


@every_classifier
def test_every_classifier(model, tmp_path):
    model.fit(X, Y, availability=AVAILABLE)
    p = model.predict_proba(X, availability=AVAILABLE)
    assert p.sum(axis=1) == pytest.approx(1)
    assert (p[~AVAILABLE] == 0).all()
    assert (p[AVAILABLE] > 0).all()
    few = model.predict_proba(X, n_draws=20, availability=AVAILABLE)  # rows side by side
    draws = model.sample_proba(X, availability=AVAILABLE)
    assert few == pytest.approx(model.sample_proba(X, 20, AVAILABLE).mean(axis=0), abs=1e-12)
    assert p == pytest.approx(draws.mean(axis=0), abs=1e-12)
    assert np.isin(model.predict(X, availability=AVAILABLE), model.classes_).all()
    if not isinstance(model, pasb.StickSVMClassifier):
        likelihood = np.log(draws[:, np.arange(len(Y)), np.searchsorted(model.classes_, Y)])
        assert likelihood.sum(axis=1) == pytest.approx(model.draws_.log_likelihood.ravel())
    model.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert (again.predict_proba(X, availability=AVAILABLE) == p).all()
    assert again.diagnostics_.worst_rhat == model.diagnostics_.worst_rhat


@every_classifier
def test_all_available_is_the_same_fit(model):
    plain = clone(model).fit(X, Y)
    said = clone(model).fit(X, Y, availability=np.ones((len(Y), 3)))
    assert (plain.draws_.order == said.draws_.order).all()
    for name, values in plain.draws_.parameters.items():
        np.testing.assert_array_equal(said.draws_.parameters[name], values, err_msg=name)
    assert (plain.predict_proba(X) == said.predict_proba(X, availability=AVAILABLE | True)).all()


def test_frames_are_read_by_name():
    frame = pd.DataFrame(AVAILABLE, columns=["bus", "car", "walk"])[["walk", "bus", "car"]]
    one = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    two = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=frame.astype(int))
    assert (one.draws_.parameters["coef"] == two.draws_.parameters["coef"]).all()
    log = two.predict_log_proba(X, availability=frame)
    assert np.isneginf(log[~AVAILABLE]).all()
    table = two.predict_frame(X, availability=frame)
    assert (table["p_bus"].to_numpy()[~AVAILABLE[:, 0]] == 0).all()


def test_rows_without_weight_are_left_out():
    weights = np.ones(len(Y))
    weights[::7] = 0
    kept = weights > 0
    one = pasb.StickLogisticClassifier(scale=None, **SHORT)
    two = pasb.StickLogisticClassifier(scale=None, **SHORT)
    one.fit(X, Y, weights, AVAILABLE)
    two.fit(X[kept], Y[kept], availability=AVAILABLE[kept])
    assert (one.draws_.parameters["coef"] == two.draws_.parameters["coef"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, y: a[:50], "row for each of the 90 rows"),
        (lambda a, y: a[:, :2], "bus, car, walk"),
        (lambda a, y: np.where(np.arange(90)[:, None] == 6, False, a), "available in row 7"),
        (lambda a, y: a & (y != "car")[:, None] | [True, False, False], "not available.* car:"),
        (lambda a, y: a * 2, "True and False, or 1 and 0"),
        (lambda a, y: np.where(a, "yes", "no"), "True and False, or 1 and 0"),
        (lambda a, y: np.where(a, 1.0, np.nan), "True and False, or 1 and 0"),
        (lambda a, y: pd.DataFrame(a, columns=["bus", "car", "boat"]), "'boat' is no class"),
        (lambda a, y: pd.DataFrame(a[:, :2], columns=["bus", "car"]), "no column 'walk'"),
    ],
)
def test_errors_name_row_and_class(change, message):
    with pytest.raises(ValueError, match=message):
        pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=change(AVAILABLE, Y))


def test_methods_that_would_be_wrong_refuse():
    model = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    for call in (model.loo, model.posterior_with):
        with pytest.raises(ValueError, match="pass availability="):
            call(X, Y)
    loo = model.loo(X, Y, warn=False, availability=AVAILABLE)
    assert loo.elpd < 0
    alone = AVAILABLE.sum(axis=1) == 1
    assert loo.elpd_of_row[alone] == pytest.approx(0)


def test_a_checkpoint_belongs_to_the_availability(tmp_path):
    settings = SHORT | {"checkpoint": str(tmp_path / "run")}
    short = settings | {"n_draws": 20}
    pasb.StickLogisticClassifier(**short).fit(X, Y, availability=AVAILABLE)
    resumed = pasb.StickLogisticClassifier(**settings).fit(X, Y, availability=AVAILABLE)
    whole = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    assert (resumed.draws_.parameters["coef"] == whole.draws_.parameters["coef"]).all()
    other = AVAILABLE.copy()
    other[np.argmin(other.all(axis=1))] = True
    with pytest.raises(CheckpointError):
        pasb.StickLogisticClassifier(**settings).fit(X, Y, availability=other)


def test_probabilities_do_not_depend_on_the_other_rows():
    model = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    whole = model.predict_proba(X, availability=AVAILABLE)
    part = model.predict_proba(X[5:9], availability=AVAILABLE[5:9])
    assert (whole[5:9] == part).all()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_evidence_of_orders(case):
    """The lattice of all orders, against quadrature."""
    times = [own[2] for own in case]
    y = np.repeat([own[0] for own in case], times)
    available = np.repeat([own[1] for own in case], times, axis=0)
    model = pasb.StickLogisticClassifier(precision=1.0)
    found = pasb.order_evidence(
        np.empty((len(y), 0)), y, model=model, availability=available, n_importance=4096
    )
    orders, expected, _ = exact_posterior(case)
    p = np.exp([found.lattice.log_probability(order) for order in orders])
    assert p == pytest.approx(expected, rel=0.02)


def test_score():
    """Of a model that was fitted without it, too."""
    plain = pasb.StickLogisticClassifier(**SHORT).fit(X, Y)
    p = stick_by_stick(plain, X, AVAILABLE).mean(axis=0)
    right = plain.classes_[p.argmax(axis=1)] == Y
    assert plain.score(X, Y, availability=AVAILABLE) == right.mean()
    assert plain.score(X, Y) == np.mean(plain.predict(X) == Y)
    model = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    with pytest.raises(ValueError, match=r"score\(X, y\) would take everything for available"):
        model.score(X, Y)
