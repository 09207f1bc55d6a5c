"""A fit that fails leaves the fitted model whole."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pasb
from pasb.classifiers.refitting import undone_by_errors

FEW = {"n_chains": 1, "n_warmup": 4, "n_draws": 6, "n_jobs": 1, "random_state": 5}
SMALL = {"n_experts": 1, "n_layers": 1}
CLASSIFIERS = [
    (pasb.StickLogisticClassifier, {}),
    (pasb.StickRobitClassifier, {}),
    (pasb.StickSVMClassifier, {"width": 0.5}),
    (pasb.SoftplusClassifier, SMALL),
    (pasb.StackedSoftplusClassifier, {**SMALL, "stack_sweeps": 4}),
]
every = pytest.mark.parametrize(
    ("kind", "own"), CLASSIFIERS, ids=[kind.__name__ for kind, _ in CLASSIFIERS]
)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), np.array(["a", "b", "c"])[np.arange(30) % 3]
OTHER_X, OTHER_Y = 100 + 50 * RNG.normal(size=(40, 3)), np.arange(40) % 4


def fitted(kind, own):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**FEW, **own).fit(X, Y)


class Fails(Exception):
    pass


def fail(info):
    raise Fails


def interrupt(*args):
    raise KeyboardInterrupt


@every
def test_in_the_middle_of_sampling(kind, own):
    model = fitted(kind, own)
    before, attributes = model.predict_proba(X), dict(vars(model))
    model.set_params(callbacks=[fail])
    with pytest.raises(Fails):
        model.fit(OTHER_X, OTHER_Y)
    assert dict(vars(model)) == {**attributes, "callbacks": [fail]}
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert set(model.predict(X)) <= {"a", "b", "c"}
    assert model.summary is not None
    assert model.posterior_["posterior"].sizes["category"] == 3


@pytest.mark.parametrize(
    ("X_new", "y_new"),
    [(OTHER_X, np.zeros(40)), (np.full((40, 3), np.nan), OTHER_Y), (OTHER_X, OTHER_Y[:7])],
    ids=["one class", "missing values", "lengths"],
)
def test_bad_tables(X_new, y_new):
    model = fitted(*CLASSIFIERS[0])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=r"."):
        model.fit(X_new, y_new)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_features_in_ == 2


def test_an_interrupt_before_the_first_sweep(monkeypatch):
    model = fitted(*CLASSIFIERS[0])
    before = model.predict_proba(X)
    monkeypatch.setattr(pasb.StickLogisticClassifier, "_fit_prior", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(OTHER_X, OTHER_Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_a_first_fit_that_fails_leaves_nothing():
    model = pasb.StickLogisticClassifier(**FEW, callbacks=[fail])
    before = dict(vars(model))
    with pytest.raises(Fails):
        model.fit(X, Y)
    assert vars(model) == before


def test_several_at_once():
    models = [fitted(*CLASSIFIERS[0]) for _ in range(2)]
    before = [dict(vars(model)) for model in models]

    def change():
        models[0].draws_ = None
        del models[1].classes_
        raise Fails

    with pytest.raises(Fails), undone_by_errors(*models):
        change()
    assert [vars(model) for model in models] == before
