"""Groups by columns that are no covariates, and by labels beside the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb import StickLogisticClassifier, datasets, effects

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 15, "n_jobs": 1, "random_state": 0}
DATA = datasets.load("iris")
X = DATA.frame()[list(DATA.feature_names)]
SITE = np.array(["north", "south", "south"])[np.arange(len(X)) % 3]
ZONE = np.arange(len(X)) % 2


@pytest.fixture(scope="module", params=["pandas", "polars"])
def fitted(request):
    own = X if request.param == "pandas" else pl.from_pandas(X)
    return StickLogisticClassifier(**SHORT).fit(own, DATA.y), own


def with_columns(frame, **columns):
    if isinstance(frame, pd.DataFrame):
        return frame.assign(**columns)
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


@pytest.mark.parametrize("labels", [SITE, ZONE], ids=["text", "numbers"])
def test_a_column_that_is_no_covariate(fitted, labels):
    model, own = fitted
    table = with_columns(own, site=labels)
    for function in (effects.avg_predictions, effects.avg_slopes, effects.avg_comparisons):
        found = function(model, table, by="site")
        assert type(found) is type(own)
        every = np.asarray(found["estimate"])
        for level in np.unique(labels):
            alone = X[labels == level]
            if not isinstance(own, pd.DataFrame):
                alone = pl.from_pandas(alone)
            expected = np.asarray(function(model, alone)["estimate"])
            chosen = np.asarray(found["site"]) == level
            np.testing.assert_allclose(every[chosen], expected, atol=1e-12)


def test_other_columns_are_shown_but_never_compared(fitted):
    model, own = fitted
    table = with_columns(own, site=SITE)
    rows = effects.predictions(model, table)
    assert list(rows["site"])[:6] == ["north"] * 3 + ["south"] * 3
    assert set(effects.avg_slopes(model, table)["term"]) == set(X.columns)
    with pytest.raises(ValueError, match="'site' is not a covariate of the model"):
        effects.avg_comparisons(model, table, "site")
    mixed = table[["site", *reversed(X.columns)]]  # the model wants its own order
    found = effects.avg_predictions(model, mixed)["estimate"]
    np.testing.assert_allclose(found, model.predict_proba(own).mean(axis=0))


def test_labels_beside_the_table(fitted):
    model, own = fitted
    expected = effects.avg_predictions(model, with_columns(own, site=SITE), by="site")
    values = np.asarray(expected["estimate"])
    for by, name in (
        (SITE, "group"),
        (pd.Series(SITE, name="site"), "site"),
        (pl.Series("site", SITE), "site"),
    ):
        found = effects.avg_predictions(model, own, by=by)
        np.testing.assert_array_equal(found["estimate"], values)
        assert list(found[name]) == ["north"] * 3 + ["south"] * 3
    both = effects.avg_predictions(model, with_columns(own, site=SITE), by=["site", ZONE])
    assert list(both.columns)[:2] == ["site", "group"]
    assert len(both) == 12


def test_arrays_pipelines_and_formulas():
    pipe = make_pipeline(StandardScaler(), StickLogisticClassifier(**SHORT)).fit(X, DATA.y)
    found = effects.avg_predictions(pipe, X.assign(site=SITE), by="site")
    expected = pipe.predict_proba(X[SITE == "north"]).mean(axis=0)
    np.testing.assert_allclose(found["estimate"][:3], expected)
    plain = StickLogisticClassifier(**SHORT).fit(X.to_numpy(), DATA.y)
    by_array = effects.avg_predictions(plain, X.to_numpy(), by=SITE)["estimate"]
    np.testing.assert_allclose(
        by_array[:3], plain.predict_proba(X[SITE == "north"].to_numpy()).mean(0)
    )
    pytest.importorskip("formulaic")
    table = X.assign(kind=DATA.y, site=SITE)
    formula = pasb.fit("kind ~ petal_length + petal_width", table, **SHORT)
    slopes = effects.avg_slopes(formula, table, by="site")
    assert set(slopes["term"]) == {"petal_length", "petal_width"}
    assert set(slopes["site"]) == {"north", "south"}


def test_a_group_with_the_name_of_an_answer(fitted):
    model, own = fitted
    found = effects.avg_slopes(model, with_columns(own, term=SITE), by="term")
    assert set(found["X_term"]) == {"north", "south"}
    assert set(found["term"]) == set(X.columns)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("sight", "by: 'sight' is not a column of X; did you mean 'site'"),
        (SITE[:3], r"by: 'group' must hold one label for each of the 150 rows"),
        ([SITE, ZONE], "by: 'group' is there twice"),
        (list(SITE), r"by: a list holds names of columns, .*: by=np.asarray\(labels\)"),
        (ZONE.tolist(), r"and \d is none of X\. If it holds a label for each row, pass an array"),
        (np.where(ZONE == 1, np.nan, 1.0), "by: 'group' has no value in 75 of 150 rows"),
        (pd.Series(SITE, name="w", dtype="string").where(ZONE == 1), "by: 'w' has no value in 75"),
    ],
)
def test_refusals(fitted, by, message):
    model, own = fitted
    with pytest.raises(ValueError, match=message):
        effects.avg_predictions(model, with_columns(own, site=SITE), by=by)
