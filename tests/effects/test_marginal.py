"""Effects against predictions made by hand, on real tables and for every model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pasb import (
    SoftplusClassifier,
    StackedSoftplusClassifier,
    StickLogisticClassifier,
    StickRobitClassifier,
    StickSVMClassifier,
    datasets,
    effects,
)

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 15, "n_jobs": 1, "random_state": 0}
MODELS = {
    "logistic": StickLogisticClassifier(**SHORT),
    "robit": StickRobitClassifier(**SHORT),
    "softplus": SoftplusClassifier(n_experts=2, n_layers=2, **SHORT),
    "stacked": StackedSoftplusClassifier(n_experts=2, n_layers=1, **SHORT),
    "svm": StickSVMClassifier(width=0.1, **SHORT),
}


def table(name):
    data = datasets.load(name)
    return data.frame()[list(data.feature_names)], data.y


@pytest.fixture(scope="module", params=list(MODELS))
def fitted(request):
    X, y = table("iris")
    return clone(MODELS[request.param]).fit(X, y), X


@pytest.fixture(scope="module")
def logistic():
    X, y = table("iris")
    return clone(MODELS["logistic"]).fit(X, y), X, y


@pytest.mark.parametrize("name", ["iris", "wine", "glass"])
@pytest.mark.parametrize("kind", ["logistic", "softplus"])
def test_slopes_are_finite_differences_of_every_draw(name, kind):
    X, y = table(name)
    model, rows = clone(MODELS[kind]).fit(X, y), X.iloc[::9]
    for column in X.columns[:3]:
        step = 1e-5 * np.ptp(X[column])
        up, down = (rows.assign(**{column: rows[column] + sign * step}) for sign in (1, -1))
        by_hand = (model.sample_proba(up) - model.sample_proba(down)) / (2 * step)
        found = effects.slopes(model, rows, column, interval=0.8)
        size = np.abs(by_hand).max()
        for statistic, expected in (
            ("estimate", by_hand.mean(axis=0)),
            ("lower", np.quantile(by_hand, 0.1, axis=0)),
            ("upper", np.quantile(by_hand, 0.9, axis=0)),
        ):
            np.testing.assert_allclose(found[statistic], expected.ravel(), atol=1e-6 * size)
        average = effects.avg_slopes(model, rows, column, interval=0.8)
        means = by_hand.mean(axis=1)
        np.testing.assert_allclose(average["estimate"], means.mean(axis=0), atol=1e-6 * size)
        np.testing.assert_allclose(
            average["upper"], np.quantile(means, 0.9, axis=0), atol=1e-6 * size
        )


def test_comparisons_are_differences_of_predictions(fitted):
    model, X = fitted
    rows, column = X.iloc[::10], X.columns[2]
    more = rows.assign(**{column: rows[column] + 0.5})
    by_hand = model.sample_proba(more) - model.sample_proba(rows)
    found = effects.comparisons(model, rows, {column: 0.5})
    np.testing.assert_allclose(found["estimate"], by_hand.mean(axis=0).ravel(), atol=1e-12)
    np.testing.assert_allclose(
        found["upper"], np.quantile(by_hand, 0.95, axis=0).ravel(), atol=1e-12
    )
    average = effects.avg_comparisons(model, rows, {column: 0.5})
    means = by_hand.mean(axis=1)
    np.testing.assert_allclose(average["estimate"], means.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(average["lower"], np.quantile(means, 0.05, axis=0), atol=1e-12)


def test_slopes_of_every_model(fitted):
    model, X = fitted
    rows, column = X.iloc[::10], X.columns[3]
    step = 1e-4
    up, down = (rows.assign(**{column: rows[column] + sign * step}) for sign in (1, -1))
    by_hand = (model.sample_proba(up) - model.sample_proba(down)) / (2 * step)
    found = effects.avg_slopes(model, rows, [column])
    np.testing.assert_allclose(found["estimate"], by_hand.mean(axis=(0, 1)), atol=1e-6)


def test_predictions_are_those_of_the_model(fitted):
    model, X = fitted
    found = effects.predictions(model, X.iloc[:7])
    np.testing.assert_allclose(found["estimate"], model.predict_proba(X.iloc[:7]).ravel())
    assert found["class"].tolist() == model.classes_.tolist() * 7
    assert found[X.columns[0]].tolist() == np.repeat(X[X.columns[0]][:7], 3).tolist()


def test_ratios_of_averages_and_between_classes(logistic):
    model, X, _ = logistic
    column = X.columns[0]
    samples = [model.sample_proba(X.assign(**{column: value})) for value in (5.0, 6.0)]
    low, high = (sample.mean(axis=1) for sample in samples)
    found = effects.avg_comparisons(model, X, {column: [5, 6]}, comparison="ratio")
    np.testing.assert_allclose(found["estimate"], np.median(high / low, axis=0))
    gaps = effects.avg_predictions(model, X, between="difference")
    mean = model.sample_proba(X).mean(axis=1)
    assert gaps["class"].tolist() == [
        "setosa - versicolor",
        "setosa - virginica",
        "versicolor - virginica",
    ]
    np.testing.assert_allclose(gaps["estimate"][1], (mean[:, 0] - mean[:, 2]).mean())
    ratio = effects.avg_predictions(model, X, between="ratio", classes=["virginica", "setosa"])
    np.testing.assert_allclose(ratio["estimate"], [np.median(mean[:, 2] / mean[:, 0])])


def test_estimates_of_ratios_are_within_their_intervals(logistic):
    model, X, _ = logistic  # single rows, of which some classes have hardly any probability
    for found in (
        effects.predictions(model, X, between="ratio"),
        effects.comparisons(model, X, {X.columns[2]: 1.0}, comparison="ratio"),
        effects.comparisons(
            model, X, {X.columns[2]: 1.0}, comparison="ratio", between="difference"
        ),
    ):
        assert (found["estimate"] >= found["lower"]).all()
        assert (found["estimate"] <= found["upper"]).all()


def test_groups_and_weights(logistic):
    model, X, y = logistic
    data = X.assign(kind=y)
    pipeline = make_pipeline(
        make_column_transformer(("passthrough", list(X.columns))), clone(model)
    )  # passes the column `kind` by
    pipeline.fit(data, y)
    found = effects.avg_slopes(pipeline, data, X.columns[1], by="kind")
    every = effects.slopes(pipeline, data, X.columns[1])
    expected = every.groupby(["kind", "class"])["estimate"].mean()
    np.testing.assert_allclose(found.set_index(["kind", "class"])["estimate"], expected)
    weights = np.arange(len(X)) % 3
    weighted = effects.avg_predictions(model, X, weights=weights)
    own = np.average(model.predict_proba(X), axis=0, weights=weights)
    np.testing.assert_allclose(weighted["estimate"], own)


def test_elasticities(logistic):
    model, X, _ = logistic
    rows, column = X.iloc[40:60], X.columns[2]
    slope = effects.slopes(model, rows, column, draws=False, n_draws=1)
    elastic = effects.slopes(model, rows, column, kind="eyex", n_draws=1)
    p = effects.predictions(model, rows, n_draws=1)["estimate"]
    expected = slope["estimate"] * slope[column] / p
    np.testing.assert_allclose(elastic["estimate"], expected)
    relative = effects.slopes(model, rows, column, kind="eydx", n_draws=1)
    np.testing.assert_allclose(relative["estimate"], slope["estimate"] / p)
    absolute = effects.slopes(model, rows, column, kind="dyex", n_draws=1)
    np.testing.assert_allclose(absolute["estimate"], slope["estimate"] * slope[column])


def test_partial_dependence(logistic):
    model, X, _ = logistic
    column = X.columns[3]
    found = effects.predictions(model, X, variables={column: [0.5, 2.0]}, by=True)
    assert list(found.columns) == [column, "class", "estimate", "lower", "upper"]
    for value in (0.5, 2.0):
        expected = model.predict_proba(X.assign(**{column: value})).mean(axis=0)
        np.testing.assert_allclose(found[found[column] == value]["estimate"], expected)


def test_a_whole_profile(logistic):
    model, X, _ = logistic
    low, high = {X.columns[2]: 1.5, X.columns[3]: 0.2}, {X.columns[2]: 5.5, X.columns[3]: 2.0}
    found = effects.avg_comparisons(model, X, profile=(low, high))
    means = [model.predict_proba(X.assign(**side)).mean(axis=0) for side in (low, high)]
    np.testing.assert_allclose(found["estimate"], means[1] - means[0], atol=1e-12)
    assert found["contrast"].tolist() == ["profile"] * 3


def test_levels_behind_a_pipeline():
    X, y = table("iris")
    data = X[list(X.columns[:2])].assign(soil=np.where(np.arange(len(X)) % 3 == 0, "clay", "sand"))
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["soil"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, StickLogisticClassifier(**SHORT)).fit(data, y)
    found = effects.avg_comparisons(model, data, "soil")
    means = [model.predict_proba(data.assign(soil=s)).mean(axis=0) for s in ("clay", "sand")]
    np.testing.assert_allclose(found["estimate"], means[1] - means[0])
    assert found["contrast"].tolist() == ["sand - clay"] * 3
    column = data.columns[0]
    inside = StickLogisticClassifier(**SHORT).fit(encoder.transform(data), y)
    slope = effects.avg_slopes(model, data, column)
    expected = effects.avg_slopes(inside, encoder.transform(data), "x1")
    np.testing.assert_allclose(slope["estimate"], expected["estimate"], atol=1e-7)


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
def test_kinds_of_tables(logistic, kind):
    X, y = logistic[1:]
    own = {"pandas": X, "polars": pl.from_pandas(X), "numpy": X.to_numpy()}[kind]
    model = StickLogisticClassifier(**SHORT).fit(own, y)
    name = "x2" if kind == "numpy" else X.columns[2]
    library = pl if kind == "polars" else pd
    for frame in (
        effects.avg_comparisons(model, own, name),
        effects.slopes(model, own, name),
        effects.predictions(model, effects.datagrid(own, {name: [2, 4]})),
    ):
        assert isinstance(frame, library.DataFrame)
    expected = effects.avg_comparisons(logistic[0], X, X.columns[2])["estimate"]
    found = effects.avg_comparisons(model, own, name)["estimate"]
    np.testing.assert_allclose(found, expected)


def test_draws_for_arviz(logistic):
    model, X, _ = logistic
    draws = effects.avg_slopes(model, X, list(X.columns[:2]), draws=True)
    assert draws.dims == ("chain", "draw", "quantity")
    assert draws.shape == (2, 15, 6)
    table = effects.avg_slopes(model, X, list(X.columns[:2]))
    np.testing.assert_allclose(draws.mean(("chain", "draw")), table["estimate"])
    assert draws["term"].values.tolist() == table["term"].tolist()


def test_threads_make_no_difference(logistic):
    X = pd.concat([logistic[1]] * 20, ignore_index=True)  # several blocks
    one, two = (
        StickLogisticClassifier(**SHORT | {"n_jobs": n}).fit(logistic[1], logistic[2])
        for n in (1, 2)
    )
    for function in (effects.avg_slopes, effects.avg_comparisons, effects.avg_predictions):
        pd.testing.assert_frame_equal(function(one, X), function(two, X), check_exact=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: effects.comparisons(m, X, "petal_lenght"), "did you mean 'petal_length'"),
        (lambda m, X: effects.slopes(m, X, ["nothing"]), "'nothing' is not a column of X"),
        (lambda m, X: effects.predictions(m, X, classes=["rose"]), "not a class of the model"),
        (lambda m, X: effects.avg_slopes(m, X, by="island"), "by: 'island' is not a column"),
        (lambda m, X: effects.predictions(m, X, interval=1.5), "interval must lie between"),
        (lambda m, X: effects.predictions(m, X, between="quotient"), "between must be"),
        (
            lambda m, X: effects.predictions(m, X, classes=m.classes_[0], between="ratio"),
            "name two or more in classes",
        ),
        (lambda m, X: effects.comparisons(m, X, comparison="log"), "comparison must be"),
        (lambda m, X: effects.slopes(m, X, kind="dxdy"), "kind must be"),
        (lambda m, X: effects.comparisons(m, X, {"petal_length": "sdd"}), "did you mean 'sd'"),
        (lambda m, X: effects.comparisons(m, X, {"petal_length": 0}), "must be finite and not 0"),
        (lambda m, X: effects.comparisons(m, X, {"petal_length": ["a", "b"]}), "petal_length"),
        (lambda m, X: effects.slopes(m, X, draws=True), "draws=True needs averages"),
        (lambda m, X: effects.avg_slopes(m, X, weights=[1.0]), "weights must hold"),
        (lambda m, X: effects.comparisons(m, X, profile={"petal_length": 1}), "pair of dict"),
        (lambda m, X: effects.comparisons(m, X.iloc[:0]), "X has no rows"),
        (lambda m, X: effects.predictions(m, X, n_draws=0), "n_draws must be a positive integer"),
    ],
)
def test_bad_input(logistic, call, message):
    with pytest.raises(ValueError, match=message):
        call(logistic[0], logistic[1])


@pytest.mark.parametrize("variables", [["petal_width"], "petal_width", ["nothing"], 3])
def test_values_of_predictions_need_a_dictionary(logistic, variables):
    with pytest.raises(
        TypeError, match=r"variables must be a dictionary .* such as \{'.*': \[1, 2"
    ):
        effects.predictions(logistic[0], logistic[1], variables=variables)


def test_one_class_is_a_list_of_one(logistic):
    model, X, _ = logistic
    label = model.classes_[1]
    one, same = (effects.avg_slopes(model, X, classes=asked) for asked in (label, [label]))
    pd.testing.assert_frame_equal(one, same)


@pytest.mark.parametrize("function", ["avg_predictions", "avg_comparisons"])
def test_warnings_point_at_the_caller(logistic, function):
    model, X, _ = logistic
    name = X.columns[0]
    how = {name: [5, 99]}
    for call in (getattr(effects, function), getattr(effects, function.removeprefix("avg_"))):
        with pytest.warns(UserWarning, match="extrapolates") as told:
            call(model, X.assign(**{name: 50.0}), variables=how)
        assert {one.filename for one in told} == {__file__}


def test_other_models_are_refused(logistic):
    with pytest.raises(TypeError, match="fitted classifier of pasb"):
        effects.predictions(object(), logistic[1])
    with pytest.raises(ValueError, match="not fitted"):
        effects.predictions(StickLogisticClassifier(), logistic[1])


def test_values_outside_the_data_are_warned_of(logistic):
    model, X, _ = logistic
    with pytest.warns(UserWarning, match="extrapolates"):
        effects.avg_comparisons(model, X, {X.columns[0]: [5, 50]})
    with pytest.warns(UserWarning, match="at 99 the model extrapolates"):
        effects.datagrid(X, {X.columns[0]: [5, 99]})
