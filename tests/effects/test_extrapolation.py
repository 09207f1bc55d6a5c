"""Warnings of values beyond the rows of the fit, not those of the table that is passed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb import StickLogisticClassifier, datasets, effects

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 15, "n_jobs": 1, "random_state": 0}
DATA = datasets.load("iris")
X = DATA.frame()[list(DATA.feature_names)]


@pytest.fixture(scope="module", params=["frame", "array", "saved", "formula", "saved formula"])
def fitted(request, tmp_path_factory):
    kind = request.param
    if "formula" in kind:
        pytest.importorskip("formulaic")
        model = pasb.fit("kind ~ petal_length + sepal_width", X.assign(kind=DATA.y), **SHORT)
    else:
        own = X.to_numpy() if kind == "array" else X
        model = StickLogisticClassifier(**SHORT).fit(own, DATA.y)
    if "saved" in kind:
        path = tmp_path_factory.mktemp("model") / "model.pasb"
        model.save(path)
        model = pasb.load(path)
    return model, kind


def test_the_rows_of_the_fit_count(fitted):
    model, kind = fitted
    few = X.iloc[:20]  # petals from 1 to 1.9; in the fit, to 6.9
    name = "petal_length"
    if kind == "array":
        few, name = few.to_numpy(), "x2"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effects.avg_comparisons(model, few, {name: [2.0, 6.0]})
        effects.avg_predictions(model, few, variables={name: [6.5]})
        effects.avg_slopes(model, few, name)
        effects.avg_comparisons(model, few, {name: 1.0})
    end = r"goes from 1 to 6.9 in the rows of the fit"
    with pytest.warns(UserWarning, match=rf"'{name}' {end}; at 7.5 the model extrapolates"):
        effects.avg_comparisons(model, few, {name: [2.0, 7.5]})
    with pytest.warns(UserWarning, match=rf"{end}, and \+1e\+06 takes 100%"):
        effects.avg_comparisons(model, few, {name: 1e6})


def test_grids_made_by_hand(fitted):
    model, kind = fitted
    grid = X.iloc[:3].assign(petal_length=[2.0, 7.0, 99.0])  # 7 is a little beyond
    name = "petal_length"
    if kind == "array":
        grid, name = grid.to_numpy(), "x2"
    with pytest.warns(UserWarning, match=rf"'{name}' .* such as 99, in 1 of 3 rows of X"):
        effects.predictions(model, grid)


def test_behind_a_pipeline_the_table_is_what_is_known():
    model = make_pipeline(StandardScaler(), StickLogisticClassifier(**SHORT)).fit(X, DATA.y)
    with pytest.warns(UserWarning, match="goes from 1 to 1.9 in these rows"):
        effects.avg_comparisons(model, X.iloc[:25], {"petal_length": [1.5, 3.0]})


def test_rows_without_weight_are_no_rows_of_the_fit():
    far = X.assign(petal_length=np.where(np.arange(len(X)) == 0, 1e3, X["petal_length"]))
    weights = (np.arange(len(X)) > 0).astype(float)
    model = StickLogisticClassifier(**SHORT).fit(far, DATA.y, sample_weight=weights)
    assert model.fitted_.ranges["petal_length"] == pytest.approx((1.0, 6.9))


def test_rows_in_blocks_have_the_same_ranges():
    weights = (np.arange(len(X)) > 0).astype(float)
    rows = X.to_numpy(), DATA.y, weights
    blocks, plain = (
        StickLogisticClassifier(engine=engine, **SHORT).fit(*rows) for engine in ("blocks", "cpu")
    )
    assert blocks.fitted_.ranges.keys() == plain.fitted_.ranges.keys()
    for name, ends in plain.fitted_.ranges.items():
        np.testing.assert_array_equal(blocks.fitted_.ranges[name], ends)
