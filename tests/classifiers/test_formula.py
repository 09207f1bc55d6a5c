"""Formulas: terms, levels and splines that are remembered, effects, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import pasb
from pasb import StickLogisticClassifier, effects

pytest.importorskip("formulaic")
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 30, "n_draws": 40, "n_jobs": 1, "random_state": 0}


def birds(n=120):
    rng = np.random.default_rng(3)
    species = np.array(["Adelie", "Chinstrap", "Gentoo"])[np.arange(n) % 3]
    place = np.arange(n) % 3
    return pd.DataFrame(
        {
            "species": species,
            "bill": 40 + 4 * place + rng.normal(size=n) * 2,
            "mass": 3.5 + 0.5 * (place == 2) + rng.normal(size=n) * 0.3,
            "island": np.where(rng.random(n) < 0.3 + 0.2 * place, "Dream", "Biscoe"),
        }
    )


DATA = birds()
FORMULA = "species ~ bill * island + bs(mass, df=4)"


@pytest.fixture(scope="module")
def fitted():
    return pasb.fit(FORMULA, DATA, **SHORT)


def test_terms_are_covariates_without_a_second_intercept(fitted):
    names = fitted.fitted_.feature_names
    assert names[:1] == ["bill"]
    assert "bill:island[T.Dream]" in names
    assert sum("bs(mass" in name for name in names) == 4
    assert "Intercept" not in names
    by_hand = StickLogisticClassifier(**SHORT).fit(fitted.terms(DATA), DATA["species"])
    np.testing.assert_array_equal(
        fitted.predict_proba(DATA), by_hand.predict_proba(fitted.terms(DATA))
    )
    assert fitted.score(DATA, DATA["species"]) > 0.6
    assert set(fitted.summary()["feature"]) == {"(intercept)", *names}


def test_levels_and_knots_are_remembered(fitted):
    whole = fitted.predict_proba(DATA)
    one = DATA[DATA["island"] == "Dream"].iloc[:3]  # a single level, a narrow range
    np.testing.assert_allclose(fitted.predict_proba(one), whole[one.index])
    assert fitted.sample_proba(one).shape == (80, 3, 3)
    assert list(fitted.predict_frame(one).index) == list(one.index)


def test_other_models_and_frames():
    model = pasb.fit("species ~ bill + island", pl.from_pandas(DATA), "softplus", **SHORT)
    assert isinstance(model.model_, pasb.SoftplusClassifier)
    assert isinstance(model.order_posterior(), pl.DataFrame)
    assert isinstance(effects.avg_comparisons(model, pl.from_pandas(DATA), "island"), pl.DataFrame)
    own = pasb.fit("species ~ bill", DATA, StickLogisticClassifier(**SHORT), n_draws=7)
    assert own.draws_.n_draws == 7
    assert clone(own).formula == "species ~ bill"


def test_effects_understand_interactions(fitted):
    found = effects.avg_comparisons(fitted, DATA, {"bill": 0.5})
    more = DATA.assign(bill=DATA["bill"] + 0.5)  # changes the interaction too
    expected = (fitted.sample_proba(more) - fitted.sample_proba(DATA)).mean(axis=(0, 1))
    np.testing.assert_allclose(found["estimate"], expected, atol=1e-12)
    every = effects.avg_comparisons(fitted, DATA.assign(note="x"), {"island": "reference"})
    assert every["contrast"].unique().tolist() == ["Dream - Biscoe"]
    slope = effects.avg_slopes(fitted, DATA)  # of the formula's columns of numbers
    assert slope["term"].unique().tolist() == ["bill", "mass"]
    step = 1e-3
    inside = DATA[(DATA["mass"] > DATA["mass"].min()) & (DATA["mass"] < DATA["mass"].max())]
    up, down = (inside.assign(mass=inside["mass"] + sign * step / 2) for sign in (1, -1))
    by_hand = (fitted.predict_proba(up) - fitted.predict_proba(down)).mean(axis=0) / step
    own = effects.avg_slopes(fitted, inside, "mass")["estimate"]
    np.testing.assert_allclose(own, by_hand, atol=1e-3)


@pytest.mark.filterwarnings("ignore:loo. ")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_numbers_that_are_levels(library, tmp_path):
    """Those in ``C(...)`` are compared level by level, and a change to another number is none."""
    table = DATA.assign(year=2007 + np.arange(len(DATA)) % 4, size=np.arange(len(DATA)) % 7)
    table = table if library == "pandas" else pl.from_pandas(table)
    model = pasb.fit(
        "species ~ C(year) * bill + C(size > 3) + C(island, contr.sum)", table, **SHORT
    )
    model.save(tmp_path / "model.pasb")
    for own in (model, pasb.load(tmp_path / "model.pasb")):
        assert own.levels_ == {"year": [2007, 2008, 2009, 2010], "island": ["Biscoe", "Dream"]}
        found = effects.avg_comparisons(own, table, classes="Gentoo")
        assert dict(zip(found["contrast"], found["term"], strict=True)) == {
            "+1": "size",
            "Dream - Biscoe": "island",
            **{f"{year} - 2007": "year" for year in (2008, 2009, 2010)},
        }
        assert set(effects.avg_slopes(own, table)["term"]) == {"bill", "size"}
    plain = DATA.assign(year=2008, size=np.arange(len(DATA)) % 7)
    p, q = (model.predict_proba(plain.assign(year=year)).mean(axis=0)[2] for year in (2007, 2009))
    place = list(found["contrast"]).index("2009 - 2007")
    assert found["estimate"][place] == pytest.approx(q - p)
    with pytest.raises(
        ValueError, match="'year' has a level that was not there in fit: 2011; it h"
    ):
        model.predict(plain.assign(year=2011))
    with pytest.raises(ValueError, match="2011 is not a level of 'year'"):
        effects.avg_comparisons(model, table, {"year": [2007, 2011]})
    assert [len(pasb.plots.effects(model, table, "bill", by="year").axes)] == [4]
    assert "effects" in model.report(DATA.assign(year=2008, size=1), DATA["species"]).json()


def test_comparison_of_formulas(fitted):
    small = pasb.fit("species ~ mass", DATA, **SHORT)
    table = pasb.compare({"all": fitted, "mass": small}, DATA, DATA["species"])
    assert table["model"][0] == "all"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("bill + mass", "'class ~ terms'"),
        ("species ~ 0 + bill", "an intercept of its own"),
        ("species ~ bill - 1", "an intercept of its own"),
        ("species ~ 1", "has no term"),
        ("species ~ bil", "data has no column 'bil'"),
        ("specie ~ bill", "data has no column 'specie'"),
        ("log(species) ~ bill", "must be one column"),
        ("species ~ bill +* mass", "cannot be read"),
        ("species ~ wrong(bill)", "formula: .*wrong"),
    ],
)
def test_bad_formulas(formula, message):
    with pytest.raises(ValueError, match=message):
        pasb.fit(formula, DATA, **SHORT)


def test_bad_data(fitted):
    with pytest.raises(ValueError, match=r"a level that was not there in fit: .*Torgersen"):
        fitted.predict_proba(DATA[:3].assign(island="Torgersen"))
    with pytest.raises(ValueError, match="formula: "):
        fitted.predict_proba(DATA[:3].assign(bill=[1.0, np.nan, 2.0]))
    with pytest.raises(ValueError, match="no column 'mass'"):
        fitted.predict_proba(DATA.drop(columns="mass"))
    with pytest.raises(TypeError, match="data frame of pandas or polars"):
        fitted.predict_proba(DATA.to_numpy())
    with pytest.raises(ValueError, match="model must be one of 'logistic'"):
        pasb.fit("species ~ bill", DATA, "forest")


def test_splines_go_on_beyond_their_knots(fitted, tmp_path):
    """As those of R do: with a warning where that is far, and in files too."""
    low, high = DATA["mass"].min(), DATA["mass"].max()
    ends = DATA[:3].assign(mass=[high, high + 1e-6, low - 1e-6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = fitted.predict_proba(ends)
    np.testing.assert_allclose(
        near, fitted.predict_proba(ends.assign(mass=[high, high, low])), 1e-4
    )
    path = tmp_path / "model.pasb"
    fitted.save(path)
    far = DATA[:3].assign(mass=[high, high + 0.1, 9.0])
    for model in (fitted, pasb.load(path)):
        with pytest.warns(UserWarning, match=r"'mass' .* such as 9, in 1 of 3 rows: there") as told:
            found = model.predict_proba(far)
        assert told[0].filename == __file__
        np.testing.assert_array_equal(found, fitted.model_.predict_proba(fitted.terms_of(far)))
        assert model.bent_ == ["mass"]


def test_cubics_of_a_spline_are_extended():
    """Beyond the last knot the terms are the cubics that they are between the last two."""
    model = pasb.fit("species ~ bs(mass, df=5)", DATA, **SHORT)
    knot = max(k for k in model._spec.transform_state["bs(mass, df=5)"]["knots"] if k < 4.5)
    high = DATA["mass"].max()
    inside, beyond = np.linspace((knot + high) / 2, high, 4), np.linspace(high, high + 0.3, 5)
    terms = [model.terms_of(DATA[: len(at)].assign(mass=at)) for at in (inside, beyond)]
    for name in terms[0]:
        cubic = np.polynomial.Polynomial.fit(inside, terms[0][name], 3)
        np.testing.assert_allclose(terms[1][name], cubic(beyond), atol=1e-6)


def test_changes_that_pass_the_knots(fitted):
    with pytest.warns(UserWarning, match=r"'mass' .*\+1 takes .* well out of that") as told:
        found = effects.avg_comparisons(fitted, DATA)
    assert {one.filename for one in told} == {__file__}
    assert found["estimate"].notna().all()
    assert set(found["term"]) == {"bill", "mass", "island"}


def test_the_table_holds_the_classes(fitted):
    classes = np.asarray(DATA["species"])
    own = fitted.loo(DATA, warn=False)
    given = fitted.loo(DATA, classes, warn=False)
    np.testing.assert_array_equal(own.elpd_of_row, given.elpd_of_row)
    polars = fitted.loo(pl.from_pandas(DATA), warn=False)
    np.testing.assert_array_equal(own.elpd_of_row, polars.elpd_of_row)
    tree, same = fitted.posterior_with(DATA), fitted.posterior_with(DATA, classes)
    assert tree["log_likelihood"].to_dataset().equals(same["log_likelihood"].to_dataset())
    both = {"it": fitted, "again": fitted}
    pd.testing.assert_frame_equal(*(pasb.compare(both, DATA, y) for y in (None, classes)))
    assert pasb.check_fit(fitted, DATA, n_folds=2).cells == (
        pasb.check_fit(fitted, DATA, classes, n_folds=2).cells
    )
    bare = DATA.drop(columns="species")
    for ask in (fitted.loo, lambda table: pasb.check_fit(fitted, table)):
        with pytest.raises(ValueError, match="data has no column 'species'"):
            ask(bare)
    with pytest.raises(ValueError, match="X and y are needed"):
        pasb.compare({"it": fitted.model_}, DATA)
    with pytest.raises(ValueError, match="y is needed"):
        pasb.check_fit(fitted.model_, DATA)


def test_evidence_of_orders(fitted):
    own, by_hand = (
        pasb.order_evidence(table, DATA["species"], model=model)
        for table, model in ((DATA, fitted), (fitted.terms(DATA), fitted.model))
    )
    assert own.log_evidence == pytest.approx(by_hand.log_evidence)
    other = pasb.order_evidence(pl.from_pandas(DATA), DATA["species"], model=fitted)
    assert isinstance(other.order_posterior(), pl.DataFrame)


def test_warnings_of_a_fit_point_at_the_caller():
    with pytest.warns(pasb.ConvergenceWarning) as told:
        pasb.fit("species ~ bill", DATA, **SHORT | {"n_draws": 4})
    with pytest.warns(pasb.ConvergenceWarning) as plain:
        StickLogisticClassifier(**SHORT | {"n_draws": 4}).fit(DATA[["bill"]], DATA["species"])
    assert {one.filename for one in [*told, *plain]} == {__file__}


@pytest.mark.filterwarnings("ignore:'mass' goes")
def test_scores_of_folds(fitted):
    """Some fold's training rows lack the row with the greatest mass."""
    scores = cross_val_score(fitted, DATA, DATA["species"], cv=3, error_score="raise")
    assert np.isfinite(scores).all()


def test_a_spline_may_be_told_to_refuse():
    model = pasb.fit("species ~ bs(mass, df=4, extrapolation='raise')", DATA, **SHORT)
    with pytest.warns(match="'mass' goes"), pytest.raises(ValueError, match="beyond"):
        model.predict_proba(DATA[:3].assign(mass=99.0))


def test_folds_and_refits_keep_levels_and_knots(monkeypatch, tmp_path):
    """The rows with the least and the greatest mass are left out of some fold."""
    rare = DATA.assign(island=np.where(np.arange(len(DATA)) == 7, "Torgersen", DATA["island"]))
    model = pasb.fit(FORMULA, rare, **SHORT)
    for table in (rare, pl.from_pandas(rare)):
        check = pasb.check_fit(model, table, table["species"])
        assert {cell["by"] for cell in check.cells} == {"its probability", "bill", "mass", "island"}
        assert type(check.frame()) is type(table)
    assert len(check.rivals) > 0
    settings = {"checkpoint": tmp_path / "run", "progress": False}
    own = pasb.fit(FORMULA, rare, **SHORT, **settings)
    loo = own.loo(rare, rare["species"], warn=False)
    second = float(np.sort(loo.pareto_k)[-2])
    monkeypatch.setattr("pasb.posterior.loo.good_shape", lambda n: second + 1e-12)
    found = own.loo(rare, rare["species"], refit=True)
    row = int(np.argmax(loo.pareto_k))
    kept = (np.arange(len(rare)) != row).astype(float)
    twin = clone(own.model_).set_params(checkpoint=None, precision_rate=own.model_.precision_rate_)
    twin.fit(own.terms(rare), rare["species"], sample_weight=kept)
    place = list(own.classes_).index(rare["species"][row])
    expected = np.log(twin.predict_proba(own.terms(rare))[row, place])
    assert found.elpd_of_row[row] == pytest.approx(expected)
