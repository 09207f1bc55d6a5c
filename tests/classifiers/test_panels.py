"""Persons who choose several times: what is learned, predictions, files and errors."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pasb
from pasb.choice import ChoiceData, StickChoiceClassifier, shares

ORDER = ["train", "bus", "car"]
SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 30, "random_state": 1, "progress": False}
DEVIATION = {"train": 1.5, "bus": 0.8}
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def frame_of(n_persons, n_choices, seed):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), n_choices)
    price = rng.uniform(1, 5, (len(person), 3))
    own = rng.normal(size=(n_persons, 2)) * [DEVIATION["train"], DEVIATION["bus"]]
    taken = [
        rng.random(len(person)) < 1 / (1 + np.exp(-2 + 0.8 * price[:, k] - own[person, j]))
        for j, k in enumerate((2, 0))
    ]
    mode = np.where(taken[0], "train", np.where(taken[1], "bus", "car"))
    frame = pd.DataFrame({"mode": mode, "id": person})
    return frame.assign(price_bus=price[:, 0], price_car=price[:, 1], price_train=price[:, 2]), own


def data_of(frame, **more):
    settings = {"alternatives": ORDER, "covariates": ["price"], "choice": "mode", "person": "id"}
    return ChoiceData.from_wide(frame, **(settings | more))


@pytest.fixture(scope="module")
def truth():
    return frame_of(150, 8, 3)


@pytest.fixture(scope="module")
def data(truth):
    return data_of(truth[0])


@pytest.fixture(scope="module")
def model(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = SHORT | {"n_warmup": 200, "n_draws": 300}
        return StickChoiceClassifier(order=ORDER, **settings).fit(data)


# no level: bands of six standard deviations
def test_deviations_and_intercepts_are_found(model, truth):
    found = model.person_deviations().set_index("alternative")
    assert list(found.index) == ["train", "bus"]
    for name, value in DEVIATION.items():
        assert abs(found["mean"][name] - value) < 6 * found["sd"][name]
    each = model.person_intercepts()
    mine = each[each["alternative"] == "train"].set_index("person")["mean"]
    assert np.corrcoef(mine[[str(k) for k in range(150)]], truth[1][:, 0])[0, 1] > 0.6
    price = model.generic_coefficients()
    assert abs(price["mean"][0] + 0.8) < 6 * price["sd"][0]


def test_the_number_of_a_person_is_no_feature_of_the_posterior(model, data):
    posterior = model.posterior_["posterior"]
    assert posterior["feature"].values.tolist() == list(data.table().columns)
    assert posterior["coef"].sizes["feature"] == 3
    assert posterior["effect"].sizes["person"] == 150


def test_likelihood_is_that_of_predictions(model, data):
    p = model.sample_proba(data)
    own = np.searchsorted(model.classes_, data.choice)
    logs = np.log(p[:, np.arange(len(data)), own]).sum(axis=1)
    assert logs == pytest.approx(model.draws_.log_likelihood.ravel())
    assert "(person)" not in model.summary()["feature"].tolist()
    assert np.isfinite(model.loo(data, warn=False).elpd)


def test_new_persons(model, data):
    few = data.take(slice(0, 16))
    new = replace(few, person=np.array(["new", "other"] * 8))
    p = model.sample_proba(new)
    assert (p == model.sample_proba(new)).all()
    assert (p[:, :1] == model.sample_proba(new.take([0]))).all()
    known = model.sample_proba(few)
    assert p.std(axis=0)[:, 2].mean() > 1.5 * known.std(axis=0)[:, 2].mean()
    # one person's rows share an intercept, those of two persons do not
    alike = replace(few.take([0, 0]), person=np.array(["a", "a"]))
    apart = replace(few.take([0, 0]), person=np.array(["a", "b"]))
    same, other = model.sample_proba(alike), model.sample_proba(apart)
    assert (same[:, 0] == same[:, 1]).all()
    assert (other[:, 0] != other[:, 1]).any()


def test_questions_know_persons(model, data):
    found = shares(model, data)
    p = model.predict_proba(data).mean(axis=0)
    assert found["estimate"].to_numpy() == pytest.approx(p, abs=1e-9)


def test_effects_are_refused(model, data):
    with pytest.raises(TypeError, match="effects know no intercepts of persons"):
        pasb.effects.avg_slopes(model, model.table_of(data))


def test_files_and_checkpoints(model, data, tmp_path):
    model.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert (again.persons_ == model.persons_).all()
    assert (again.predict_proba(data) == model.predict_proba(data)).all()
    assert (again.person_deviations()["mean"] == model.person_deviations()["mean"]).all()
    few = data.take(slice(0, 160))
    run = {"order": ORDER, **SHORT}
    plain = StickChoiceClassifier(**run).fit(few)
    StickChoiceClassifier(**run, checkpoint=tmp_path / "run").fit(few)
    resumed = StickChoiceClassifier(**run, checkpoint=tmp_path / "run").fit(few)
    for name, values in plain.draws_.parameters.items():
        assert (resumed.draws_.parameters[name] == values).all()


def test_a_second_fit_without_persons_forgets_them(data):
    model = StickChoiceClassifier(order=ORDER, **SHORT).fit(data.take(slice(0, 160)))
    model.fit(data.take(slice(0, 160)).without_persons())
    assert model.persons_ is None
    assert model.draws_.parameters.keys() == {"coef"}
    fresh = StickChoiceClassifier(order=ORDER, **SHORT)
    fresh.fit(data.take(slice(0, 160)).without_persons())
    assert (model.draws_.parameters["coef"] == fresh.draws_.parameters["coef"]).all()
    with pytest.raises(ValueError, match="knows no persons"):
        model.person_deviations()


def test_long_format(truth, data):
    wide = truth[0].iloc[:20].reset_index(names="trip")
    rows = [
        {"trip": r.trip, "alt": m, "price": getattr(r, f"price_{m}"), "y": r.mode == m, "id": r.id}
        for r in wide.itertuples()
        for m in ORDER
    ]
    settings = {"case": "trip", "alternative": "alt", "covariates": ["price"], "choice": "y"}
    long = ChoiceData.from_long(pd.DataFrame(rows), **settings, person="id")
    assert long.person.tolist() == data.person[:20].tolist()
    rows[1]["id"] = 99
    with pytest.raises(ValueError, match="id differs between the rows of trip 0"):
        ChoiceData.from_long(pd.DataFrame(rows), **settings, person="id")


def test_bad_input(model, truth, data):
    frame = truth[0]
    few = data.take(slice(0, 40))
    with pytest.raises(ValueError, match="order='infer' is not possible where choices have"):
        StickChoiceClassifier(**SHORT).fit(few)
    with pytest.raises(ValueError, match="all choices are those of person 0"):
        StickChoiceClassifier(order=ORDER, **SHORT).fit(data_of(frame.assign(id=0)))
    with pytest.raises(ValueError, match="the person is missing in row 3"):
        data_of(frame.assign(id=np.where(np.arange(len(frame)) == 2, np.nan, 1.0)))
    with pytest.raises(ValueError, match="there is no column 'who'"):
        data_of(frame, person="who")
    with pytest.raises(ValueError, match="one label for each of the 1200 choices"):
        replace(data, person=np.array(["a"]))
    with pytest.raises(ValueError, match="the model knows persons, the choices do not"):
        model.predict_proba(few.without_persons())
    with pytest.raises(ValueError, match="person_scale"):
        StickChoiceClassifier(order=ORDER, person_scale=0.0, **SHORT).fit(few)
    assert data_of(frame.assign(id=frame["id"].astype(float))).person[0] == "0"
