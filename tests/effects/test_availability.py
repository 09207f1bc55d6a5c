"""Effects of models whose rows cannot choose every class, against sums over sticks by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from calibration.exact_availability import stick_by_stick

import pasb
from pasb import effects, plots
from pasb.choice import ChoiceData, StickChoiceClassifier

SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "random_state": 1, "progress": False}
CLASSES = ["bus", "car", "walk"]
pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")


def choices(n_rows=140):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 2))
    first = (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    y = np.array(CLASSES)[first + (rng.random(n_rows) < 0.4)]
    available = rng.random((n_rows, 3)) < 0.7
    available[np.arange(n_rows), np.searchsorted(CLASSES, y)] = True
    group = np.where(rng.random(n_rows) < 0.5, "old", "young")
    table = pd.DataFrame({"cost": X[:, 0], "time": X[:, 1], "group": group})
    return table, y, available


TABLE, Y, AVAILABLE = choices()
X = TABLE[["cost", "time"]]


def models():
    yield pasb.StickLogisticClassifier(**SHORT)
    yield pasb.SoftplusClassifier(n_experts=2, n_layers=2, **SHORT)
    yield pasb.StickRobitClassifier(**SHORT)


@pytest.fixture(scope="module", params=models(), ids=lambda model: type(model).__name__)
def model(request):
    return request.param.fit(X, Y, availability=AVAILABLE)


@pytest.fixture(scope="module")
def proba(model):
    return stick_by_stick(model, X, AVAILABLE)


def test_predictions_of_rows(model, proba):
    found = effects.predictions(model, X, availability=AVAILABLE, interval=0.8)
    estimate = found["estimate"].to_numpy().reshape(-1, 3)
    assert estimate == pytest.approx(proba.mean(axis=0), abs=1e-9)
    lower = found["lower"].to_numpy().reshape(-1, 3)
    assert lower == pytest.approx(np.quantile(proba, 0.1, axis=0), abs=1e-9)
    assert (estimate[~AVAILABLE] == 0).all()


def test_averages_by_group(model, proba):
    weights = np.linspace(0.5, 1.5, len(X))
    found = effects.avg_predictions(
        model,
        TABLE,
        by="group",
        weights=weights,
        availability=pd.DataFrame(AVAILABLE, columns=CLASSES),
    )
    for name, part in found.groupby("group"):
        own = (TABLE["group"] == name).to_numpy()
        mean = np.average(proba[:, own], axis=1, weights=weights[own]).mean(axis=0)
        assert part["estimate"].to_numpy() == pytest.approx(mean, abs=1e-9)


def test_predictions_where_a_column_is_set(model):
    found = effects.predictions(
        model, X, variables={"cost": [-1, 1]}, by=True, availability=AVAILABLE
    )
    for value, part in found.groupby("cost"):
        mean = stick_by_stick(model, X.assign(cost=float(value)), AVAILABLE).mean(axis=(0, 1))
        assert part["estimate"].to_numpy() == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("comparison", ["difference", "ratio"])
def test_comparisons(model, comparison):
    low, high = (stick_by_stick(model, X.assign(cost=v), AVAILABLE) for v in (-1.0, 1.0))
    asked = {
        "variables": {"cost": [-1.0, 1.0]},
        "comparison": comparison,
        "availability": AVAILABLE,
    }
    means = [p.mean(axis=1) for p in (low, high)]
    whole = means[1] - means[0] if comparison == "difference" else means[1] / means[0]
    found = effects.avg_comparisons(model, X, **asked)
    middle = whole.mean(axis=0) if comparison == "difference" else np.median(whole, axis=0)
    assert found["estimate"].to_numpy() == pytest.approx(middle, abs=1e-9)
    rows = effects.comparisons(model, X, **asked)["estimate"].to_numpy().reshape(-1, 3)
    if comparison == "difference":
        assert rows == pytest.approx((high - low).mean(axis=0), abs=1e-9)
    else:
        assert np.isnan(rows[~AVAILABLE]).all()
        assert np.isfinite(rows[AVAILABLE]).all()


@pytest.mark.parametrize("kind", ["dydx", "eyex", "eydx", "dyex"])
def test_slopes(model, proba, kind):
    step = 1e-5
    up, down = (
        stick_by_stick(model, X.assign(cost=X["cost"] + s), AVAILABLE) for s in (step, -step)
    )
    slope = (up - down) / (2 * step)
    if kind[:2] == "ey":
        with np.errstate(invalid="ignore"):
            slope = slope / proba  # NaN where a class is not available
    if kind[2:] == "ex":
        slope = slope * X["cost"].to_numpy()[:, None]
    found = effects.slopes(model, X, "cost", kind=kind, availability=AVAILABLE)
    rows = found["estimate"].to_numpy().reshape(-1, 3)
    tolerance = {"rel": 1e-4, "abs": 1e-5, "nan_ok": True}
    assert rows == pytest.approx(slope.mean(axis=0), **tolerance)
    whole = effects.avg_slopes(model, TABLE, "cost", kind=kind, by="group", availability=AVAILABLE)
    for name, part in whole.groupby("group"):
        own = (TABLE["group"] == name).to_numpy()
        mean = np.nanmean(slope[:, own], axis=1).mean(axis=0)
        assert part["estimate"].to_numpy() == pytest.approx(mean, **tolerance)


def test_slopes_behind_a_pipeline(model):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    pipe = make_pipeline(FunctionTransformer().fit(X), model)
    asked = {"variables": ["cost", "time"], "availability": AVAILABLE}
    exact, differences = (effects.avg_slopes(one, X, **asked) for one in (model, pipe))
    assert differences["estimate"].to_numpy() == pytest.approx(
        exact["estimate"].to_numpy(), abs=1e-5
    )


def test_a_grid_has_an_availability_of_its_own(model):
    grid = effects.datagrid(X, cost=[-1, 0, 1])
    own = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0]])
    found = effects.predictions(model, grid, availability=own)
    estimate = found["estimate"].to_numpy().reshape(-1, 3)
    assert estimate == pytest.approx(stick_by_stick(model, grid, own).mean(axis=0), abs=1e-9)
    assert estimate[2].tolist() == [0, 1, 0]


def test_everything_available_is_said_by_ones(model):
    found = effects.avg_predictions(model, X, availability=np.ones_like(AVAILABLE))
    everything = stick_by_stick(model, X, np.ones_like(AVAILABLE)).mean(axis=(0, 1))
    assert found["estimate"].to_numpy() == pytest.approx(everything, abs=1e-9)


def test_a_stack(proba):
    """One model was fitted with availability, the other without."""
    one = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    two = pasb.StickLogisticClassifier(**SHORT).fit(X, Y)
    stack = pasb.StackedPosterior({"one": one, "two": two})
    with pytest.raises(ValueError, match="pass availability="):
        effects.avg_predictions(stack, X)
    found = effects.avg_predictions(stack, X, availability=AVAILABLE)
    each = [stick_by_stick(m, X, AVAILABLE).mean(axis=(0, 1)) for m in (one, two)]
    assert found["estimate"].to_numpy() == pytest.approx(np.mean(each, axis=0), abs=1e-9)


def test_it_is_asked_for(model):
    for call in (effects.avg_predictions, effects.avg_comparisons, effects.avg_slopes):
        with pytest.raises(ValueError, match=r"fitted with availability: pass availability="):
            call(model, X)
    with pytest.raises(ValueError, match="row for each of the 140 rows of X"):
        effects.avg_predictions(model, X, availability=AVAILABLE[:50])
    with pytest.raises(ValueError, match="nothing is available in row 3"):
        effects.avg_predictions(model, X, availability=AVAILABLE & (np.arange(140) != 2)[:, None])


def test_a_class_that_no_row_of_a_group_has(model):
    none = AVAILABLE.copy()
    none[(TABLE["group"] == "old").to_numpy()] = [True, True, False]
    asked = {"by": "group", "availability": none}
    p = effects.avg_predictions(model, TABLE, **asked)
    assert p["estimate"][2] == 0
    elasticity = effects.avg_slopes(model, TABLE, "cost", kind="eyex", **asked)
    assert np.isnan(elasticity["estimate"]).tolist() == [False, False, True, False, False, False]


def test_the_picture(model):
    asked = {"n_points": 4, "max_rows": 40}
    with pytest.raises(ValueError, match="pass availability="):
        plots.effects(model, X, "cost", **asked)
    figure = plots.effects(model, X, "cost", availability=AVAILABLE, **asked)
    assert len(figure.axes[0].lines) >= 3
    some = np.union1d(
        np.unique(np.linspace(0, 139, 40).astype(int)), [X["cost"].argmin(), X["cost"].argmax()]
    )
    low = X.iloc[some].assign(cost=X["cost"].min())
    mean = stick_by_stick(model, low, AVAILABLE[some]).mean(axis=(0, 1))
    drawn = [line.get_ydata()[0] for line in figure.axes[0].lines[:3]]
    assert drawn == pytest.approx(mean, abs=1e-9)


@pytest.fixture(scope="module")
def trips():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"price_{c}": rng.uniform(1, 5, 150) for c in CLASSES})
    available = rng.random((150, 3)) < 0.8
    available[:, 0] = True
    cost = np.where(available, frame.to_numpy() + rng.gumbel(size=(150, 3)), np.inf)
    frame["mode"] = np.array(CLASSES)[cost.argmin(axis=1)]
    frame[[f"{c}_av" for c in CLASSES]] = available
    return ChoiceData.from_wide(
        frame,
        choice="mode",
        alternatives=CLASSES,
        covariates="price",
        availability="{alternative}_av",
    )


def test_choices(trips):
    """`ChoiceData` brings its own."""
    model = StickChoiceClassifier(**SHORT).fit(trips)
    proba = model.sample_proba(trips)
    found = effects.avg_predictions(model, trips)
    assert found["estimate"].to_numpy() == pytest.approx(proba.mean(axis=(0, 1)), abs=1e-9)
    dearer = trips.changed("price", "car", add=1.0)
    change = (model.sample_proba(dearer) - proba).mean(axis=(0, 1))
    found = effects.avg_comparisons(model, trips, {"price[car]": 1.0})
    assert found["estimate"].to_numpy() == pytest.approx(change, abs=1e-9)
    step = 1e-5
    ends = [model.sample_proba(trips.changed("price", "car", add=s)) for s in (step, -step)]
    slope = (ends[0] - ends[1]).mean(axis=(0, 1)) / (2 * step)
    found = effects.avg_slopes(model, trips, "price[car]")
    assert found["estimate"].to_numpy() == pytest.approx(slope, abs=1e-6)
    table = effects.avg_slopes(model, trips.table(), "price[car]", availability=trips.available)
    assert (table["estimate"] == found["estimate"]).all()
    picture = plots.effects(model, trips, "price[car]", n_points=4, max_rows=150)
    cheap = trips.changed("price", "car", value=trips.table()["price[car]"].min())
    drawn = [line.get_ydata()[0] for line in picture.axes[0].lines[:3]]
    assert drawn == pytest.approx(model.sample_proba(cheap).mean(axis=(0, 1)), abs=1e-9)
    with pytest.raises(ValueError, match="part of ChoiceData"):
        effects.avg_predictions(model, trips, availability=trips.available)
    with pytest.raises(ValueError, match="pass availability="):
        effects.avg_predictions(model, trips.table())
    plain = pasb.StickLogisticClassifier(**SHORT).fit(X, Y)
    with pytest.raises(TypeError, match="no covariates of alternatives"):
        effects.avg_predictions(plain, trips)
