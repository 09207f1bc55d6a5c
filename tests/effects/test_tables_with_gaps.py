"""Tables with gaps, which an encoder in front of the classifier fills."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

from pasb import StickLogisticClassifier, TableEncoder, check_fit, datasets, effects, plots

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 15, "n_jobs": 1, "random_state": 0}
DATA = datasets.load("iris")
GAPS = 8  # rows of each column


def tables():
    """The same rows with a column of text and gaps in it and in a column of numbers."""
    frame = DATA.frame()[list(DATA.feature_names)].set_axis(["a", "b", "c", "d"], axis=1)
    site = np.array(["north", "south", "west"], dtype=object)[np.arange(len(frame)) % 3]
    number = frame["a"].to_numpy().copy()
    site[3 : 3 + GAPS], number[30 : 30 + GAPS] = None, np.nan
    found = frame.assign(a=number, site=site)
    return found, pl.from_pandas(found)


@pytest.fixture(scope="module", params=[0, 1], ids=["pandas", "polars"])
def fitted(request):
    X = tables()[request.param]
    model = make_pipeline(TableEncoder(), StickLogisticClassifier(**SHORT)).fit(X, DATA.y)
    return model, X


def test_levels_and_pairs_are_given_to_all_rows(fitted):
    model, X = fitted
    found = effects.avg_comparisons(model, X, {"site": "pairwise", "a": [5, 6]})
    assert list(found["contrast"])[::3] == [
        "south - north",
        "west - north",
        "west - south",
        "6 - 5",
    ]
    plain = tables()[0]
    for k, (name, low, high) in enumerate([("site", "north", "south"), ("a", 5.0, 6.0)]):
        sides = [model.predict_proba(plain.assign(**{name: side})) for side in (low, high)]
        expected = (sides[1] - sides[0]).mean(axis=0)
        own = np.asarray(found["estimate"])[9 * k : 9 * k + 3]
        np.testing.assert_allclose(own, expected, atol=1e-12)


def test_ranges_are_those_of_the_values_that_are_there(fitted):
    model, X = fitted
    there = tables()[0]["a"].dropna()
    by_name = effects.avg_comparisons(model, X, {"a": "minmax"})
    by_hand = effects.avg_comparisons(model, X, {"a": [there.min(), there.max()]})
    assert np.isfinite(np.asarray(by_name["estimate"])).all()
    assert list(by_name["estimate"]) == list(by_hand["estimate"])
    with pytest.warns(UserWarning, match="'a' goes from 4.3 to 7.9 in these rows; at 100"):
        effects.avg_comparisons(model, X, {"a": [5, 100]})


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (effects.avg_slopes, "slope"),
        (effects.slopes, "slope"),
        (effects.avg_comparisons, r"change by \+1"),
    ],
)
def test_a_gap_cannot_be_added_to(fitted, ask, what):
    model, X = fitted
    with pytest.raises(
        ValueError, match=f"'a' has no value in 8 of 150 rows, which have no {what}"
    ):
        ask(model, X, "a")
    assert np.isfinite(np.asarray(ask(model, X, "b")["estimate"])).all()


def test_typical_values_and_levels_of_a_grid(fitted):
    _, X = fitted
    grid = effects.datagrid(X, site="all", b=[3.0])
    assert list(grid["site"]) == ["north", "south", "west"]
    assert list(grid["a"]) == pytest.approx([tables()[0]["a"].mean()] * 3)
    assert effects.datagrid(X)["site"][0] == "west"  # 48 of them, one more than others
    with pytest.raises(ValueError, match="None is not a level of 'site'"):
        effects.datagrid(X, site=[None])


def test_a_column_of_gaps_alone():
    X = tables()[0].assign(nothing=np.nan, silent=None)
    grid = effects.datagrid(X, b=[3.0])
    assert np.isnan(grid["nothing"][0])
    assert pd.isna(grid["silent"][0])
    model = make_pipeline(TableEncoder(), StickLogisticClassifier(**SHORT)).fit(X, DATA.y)
    with pytest.raises(ValueError, match="'nothing' has no value in any row"):
        effects.avg_comparisons(model, X, {"nothing": "sd"})


def test_pictures(fitted):
    model, X = fitted
    drawn = [plots.effects(model, X, "a", by="site"), plots.effects(model, X, "site", by="a")]
    assert [len(figure.axes) for figure in drawn] == [3, 3]
    low, high = drawn[0].axes[0].lines[0].get_xdata()[[0, -1]]
    assert (low, high) == pytest.approx((4.3, 7.9))


def test_checks_of_the_fit_have_a_cell_for_gaps(fitted):
    _, X = fitted
    many = tables()[0]
    many.loc[::2, "a"] = np.nan
    many.loc[1::2, "site"] = None
    X = many if isinstance(X, pd.DataFrame) else pl.from_pandas(many)
    model = make_pipeline(TableEncoder(), StickLogisticClassifier(**SHORT))
    cells = check_fit(model, X, DATA.y, n_folds=2).cells
    counts = {
        name: {cell["interval"]: cell["rows"] for cell in cells if cell["by"] == name}
        for name in ("a", "site")
    }
    assert counts["a"]["(missing)"] == many["a"].isna().sum()
    assert counts["site"]["(missing)"] == many["site"].isna().sum()
    assert all(0 < rows < len(many) for rows in [*counts["a"].values(), *counts["site"].values()])
