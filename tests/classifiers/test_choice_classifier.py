"""The classifier of choices: what it learns, its errors, files and checkpoints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.choice.simulated_choices import PRICE, TIME, fitted, simulated

import pasb
from pasb.choice import StickChoiceClassifier

SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 30, "random_state": 1, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def without_bus(data):
    some = data.take(data.choice != "bus")
    return replace(some, available=some.available & np.array([False, True, True]))


@pytest.fixture(scope="module")
def data():
    return simulated(700, 5)


@pytest.fixture(scope="module")
def model(data):
    return fitted(data)


# no level: the true values lie far from zero, and a wide band of five standard deviations is asked
def test_generic_coefficients_are_found(model):
    found = model.generic_coefficients()
    assert found["covariate"].tolist() == ["price", "time"]
    away = (found["mean"] - [PRICE, TIME]) / found["sd"]
    assert np.abs(away).max() < 5
    assert (found["upper"] < 0).all()
    assert model.order_.tolist()[0] == "train"


def test_likelihood_is_that_of_predictions(model, data):
    p = model.sample_proba(data)
    assert p.sum(axis=2) == pytest.approx(1)
    assert (p[:, ~data.available] == 0).all()
    own = np.searchsorted(model.classes_, data.choice)
    logs = np.log(p[:, np.arange(len(data)), own]).sum(axis=1)
    assert logs == pytest.approx(model.draws_.log_likelihood.ravel())
    assert model.predict_proba(data) == pytest.approx(p.mean(axis=0), abs=1e-12)
    assert model.score(data) == pytest.approx((model.predict(data) == data.choice).mean())
    frame = model.predict_frame(data.take([0, 1]))
    assert frame["p_bus"].to_numpy() == pytest.approx(p.mean(axis=0)[:2, 0])


@pytest.mark.parametrize("generic", ["none", ["price"]])
def test_specific_coefficients(generic, data):
    model = StickChoiceClassifier(generic=generic, **SHORT).fit(data.take(slice(0, 200)))
    price, time = (model.coefficient_draws(name) for name in ("price", "time"))
    assert time.shape == (60, 3)
    assert (np.isnan(time).sum(axis=1) == 1).all()  # the last one has no stick
    assert len(set(np.round(time[0][~np.isnan(time[0])], 12))) == 2
    assert model.is_generic("price") == (generic != "none")
    if generic != "none":
        assert (price == price[:, :1]).all()


def test_files_and_checkpoints(model, data, tmp_path):
    model.save(tmp_path / "model.pasb")
    again = pasb.load(tmp_path / "model.pasb")
    assert (again.predict_proba(data) == model.predict_proba(data)).all()
    assert again.covariates_ == ["price", "time"]
    assert again.chooser_ == ["old"]
    few = data.take(slice(0, 150))
    kept = SHORT | {"checkpoint": str(tmp_path / "run")}
    StickChoiceClassifier(**(kept | {"n_draws": 10})).fit(few)
    resumed = StickChoiceClassifier(**kept).fit(few)
    whole = StickChoiceClassifier(**SHORT).fit(few)
    assert (resumed.draws_.parameters["coef"] == whole.draws_.parameters["coef"]).all()


def test_fixed_order_and_plain_swaps():
    few = simulated(120, 3)
    fixed = StickChoiceClassifier(order=["train", "bus", "car"], **SHORT).fit(few)
    assert (fixed.draws_.order == [2, 0, 1]).all()
    plain = StickChoiceClassifier(order="swap", **SHORT).fit(few)
    assert plain.draws_.statistics["swap_proposed"].all()


def test_values_of_what_is_not_available_do_not_matter(data):
    few = data.take(slice(0, 150))
    values = few.values.copy()
    values[~few.available] = np.nan
    one = StickChoiceClassifier(**SHORT).fit(few)
    two = StickChoiceClassifier(**SHORT).fit(replace(few, values=values))
    assert (one.draws_.parameters["coef"] == two.draws_.parameters["coef"]).all()
    assert (one.predict_proba(few) == two.predict_proba(few)).all()


def test_without_covariates_of_alternatives(data):
    plain = replace(data.take(slice(0, 150)), covariates=[], values=np.empty((150, 3, 0)))
    model = StickChoiceClassifier(**SHORT).fit(plain)
    assert model.predict_proba(plain).shape == (150, 3)


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda m, d: m.fit(d.table(), d.choice), TypeError, "ChoiceData"),
        (lambda m, d: m.fit(d, d.choice), ValueError, "y must be None"),
        (lambda m, d: m.fit(d.take(d.choice != "bus")), ValueError, "nobody chose bus"),
        (lambda m, d: m.fit(replace(d, choice=None)), ValueError, "what was chosen"),
        (lambda m, d: m.fit(without_bus(d)), ValueError, "no choice has, so nobody chose, bus:"),
        (lambda m, d: m.set_params(generic=["cost"]).fit(d), ValueError, "'cost' is no cov"),
        (lambda m, d: m.set_params(generic="some").fit(d), ValueError, "'all', 'none'"),
    ],
)
def test_errors(fit, error, message, data):
    with pytest.raises(error, match=message):
        fit(StickChoiceClassifier(**SHORT), data.take(slice(0, 100)))


def test_other_choices_are_refused(model, data):
    with pytest.raises(ValueError, match="covariates of alternatives are cost, time"):
        model.predict_proba(replace(data, covariates=["cost", "time"]))
    with pytest.raises(ValueError, match="the alternatives are"):
        model.predict_proba(replace(data, alternatives=np.array(["a", "b", "c"]), choice=None))


def test_reports(model, data):
    table = model.summary(X=data)
    seen = [f for f in table["feature"] if "[" in f]
    assert len(seen) == 4  # two sticks, each with a price and a time
    first = table[table["stick"] == 1]
    assert {f for f in first["feature"] if "[" in f} == {"price[train]", "time[train]"}
    words = model.order_in_words(data)
    assert words.startswith("With probability")
    assert "rows count that could stop there" in words
    assert words == model.order_in_words(data.table(), data.choice, data.available)
    loo = model.loo(data, warn=False)
    same = model.loo(data.table(), data.choice, warn=False, availability=data.available)
    assert loo.elpd == same.elpd
    again = model._fit_again(data.table()[:90], data.choice[:90], np.ones(90), data.available[:90])
    assert len(again.classes) == 3


def test_check_fit_says_what_to_do_instead(data):
    with pytest.raises(TypeError, match="takes no ChoiceData"):
        pasb.check_fit(StickChoiceClassifier(), data, data.choice)


def test_tables_are_asked_for_where_choices_cannot_be_read(model, data):
    with pytest.raises(TypeError, match=r"train takes no ChoiceData: .*pass tables"):
        model.report(data.table(), train=(data, data.choice))
