"""Likelihoods, predictive draws, comparisons and scores where rows cannot choose every class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from calibration.exact_availability import stick_by_stick
from matplotlib.collections import LineCollection
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pasb
from pasb.choice import ChoiceData, StickChoiceClassifier
from pasb.plots.calibration import Calibration
from pasb.posterior.rival_check import rivals_of

SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "random_state": 1, "progress": False}
CLASSES = ["bus", "car", "walk"]
ALL = ("log_likelihood", "observed_data", "posterior_predictive", "prior_predictive")
pytestmark = [
    pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:compare. "),
]


def choices(n_rows=120):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({f"price_{c}": rng.uniform(1, 5, n_rows) for c in CLASSES})
    available = rng.random((n_rows, 3)) < 0.7
    available[:, 0] |= ~available.any(axis=1)
    cost = np.where(available, frame.to_numpy() + rng.gumbel(size=(n_rows, 3)), np.inf)
    y = np.array(CLASSES)[cost.argmin(axis=1)]
    own = frame.assign(mode=y, **{f"{c}_av": available[:, k] for k, c in enumerate(CLASSES)})
    data = ChoiceData.from_wide(
        own,
        choice="mode",
        alternatives=CLASSES,
        covariates="price",
        availability="{alternative}_av",
    )
    return frame, y, available, data


X, Y, AVAILABLE, DATA = choices()
CATEGORY = np.searchsorted(CLASSES, Y)
MODELS = {
    "logistic": pasb.StickLogisticClassifier(**SHORT),
    "softplus": pasb.SoftplusClassifier(n_experts=2, n_layers=1, **SHORT),
    "choice": StickChoiceClassifier(**SHORT),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """A model, its rows as it takes them, and what is asked beside them."""
    model = clone(MODELS[request.param])
    if request.param == "choice":
        return model.fit(DATA), DATA, {}
    return model.fit(X, Y, availability=AVAILABLE), X, {"availability": AVAILABLE}


@pytest.fixture(scope="module")
def proba(fitted):
    model, rows, _ = fitted
    return stick_by_stick(model, rows.table() if rows is DATA else rows, AVAILABLE)


def test_groups_of_the_tree(fitted, proba):
    model, rows, asked = fitted
    given = () if rows is DATA else (Y,)
    tree = model.posterior_with(rows, *given, groups=ALL, n_prior=50, random_state=1, **asked)
    logs = tree["log_likelihood"]["y"].values.reshape(-1, len(Y))
    assert logs == pytest.approx(np.log(proba[:, np.arange(len(Y)), CATEGORY]), abs=1e-9)
    assert (tree["observed_data"]["y"].values == CATEGORY).all()
    for name in ("posterior_predictive", "prior_predictive"):
        drawn = tree[name]["y"].values.reshape(-1, len(Y))
        assert AVAILABLE[np.arange(len(Y)), drawn].all()


@pytest.mark.statistical(level=1e-7)
def test_predictive_draws_have_the_probabilities(fitted, proba):
    model, rows, asked = fitted
    tree = model.posterior_with(rows, groups="posterior_predictive", random_state=2, **asked)
    drawn = tree["posterior_predictive"]["y"].values.reshape(-1, len(Y))
    for s in range(3):
        error = np.sqrt((proba[..., s] * (1 - proba[..., s])).sum()) / drawn.size
        assert abs((drawn == s).mean() - proba[..., s].mean()) < 6 * error


def test_score(fitted, proba):
    model, rows, asked = fitted
    right = proba.mean(axis=0).argmax(axis=1) == CATEGORY
    y = None if rows is DATA else Y
    assert model.score(rows, y, **asked) == pytest.approx(right.mean())
    weights = np.linspace(0.5, 2, len(Y))
    assert model.score(rows, y, weights, **asked) == pytest.approx(
        np.average(right, weights=weights)
    )


def test_a_table_must_say_what_is_available(fitted):
    model, rows, _ = fitted
    table = rows.table() if rows is DATA else rows
    for ask in (model.score, model.loo, model.posterior_with):
        with pytest.raises(ValueError, match="pass availability="):
            ask(table, Y)
    wrong, other = AVAILABLE.copy(), Y.copy()
    wrong[2], other[2] = [False, True, True], "bus"
    for ask in (model.loo, model.posterior_with):
        with pytest.raises(ValueError, match=r"row 3 chose a class that was not available.*bus:"):
            ask(table, other, availability=wrong)
    everything = np.ones((len(Y), 3))
    assert 0 < model.score(table, Y, availability=everything) < 1


def test_compare():
    """With a pipeline and with choices, as `loo` finds."""
    one = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    two = make_pipeline(StandardScaler(), pasb.StickLogisticClassifier(**SHORT))
    two.fit(X, Y, sticklogisticclassifier__availability=AVAILABLE)
    models = {"one": one, "two": two}
    with pytest.raises(ValueError, match="pass availability=") as caught:
        pasb.compare(models, X, Y)
    assert "'one'" in caught.value.__notes__[0]
    found = pasb.compare(models, X, Y, availability=AVAILABLE)
    loo = one.loo(X, Y, warn=False, availability=AVAILABLE)
    assert found["elpd"][found["model"] == "one"].item() == pytest.approx(loo.elpd)
    specific = StickChoiceClassifier(generic="none", **SHORT).fit(DATA)
    both = {"generic": StickChoiceClassifier(**SHORT).fit(DATA), "specific": specific}
    table = pasb.compare(both, DATA)
    own = specific.loo(DATA, warn=False).elpd
    assert table["elpd"][table["model"] == "specific"].item() == pytest.approx(own)
    with pytest.raises(ValueError, match="'one' is a result of loo"):
        pasb.compare({"one": loo}, availability=AVAILABLE)


def test_stacks():
    one = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    pipe = make_pipeline(StandardScaler(), pasb.StickLogisticClassifier(**SHORT))
    pipe.fit(X, Y, sticklogisticclassifier__availability=AVAILABLE)
    stack = pasb.StackedPosterior({"one": one, "pipe": pipe}, [0.25, 0.75])
    each = [
        stick_by_stick(one, X, AVAILABLE),
        stick_by_stick(pipe[-1], pipe[:-1].transform(X), AVAILABLE),
    ]
    p = np.tensordot([0.25, 0.75], [draws.mean(axis=0) for draws in each], 1)
    assert stack.predict_proba(X, AVAILABLE) == pytest.approx(p, abs=1e-9)
    assert (stack.predict(X, AVAILABLE) == np.array(CLASSES)[p.argmax(axis=1)]).all()
    draws = stack.sample_proba(X, 40, AVAILABLE)
    assert draws.shape == (40, len(Y), 3)
    assert (draws[:, ~AVAILABLE] == 0).all()
    assert stack.score(X, Y, AVAILABLE) == np.mean(p.argmax(axis=1) == CATEGORY)
    with pytest.raises(ValueError, match="pass availability="):
        stack.score(X, Y)
    chains = pasb.StackedPosterior.of_chains(one, X, Y, AVAILABLE)
    half = each[0].reshape(2, 40, len(Y), 3).mean(axis=1)
    expected = np.tensordot(chains.weights_, half, 1)
    assert chains.predict_proba(X, AVAILABLE) == pytest.approx(expected, abs=1e-9)
    of_choices = pasb.StackedPosterior.of_chains(StickChoiceClassifier(**SHORT).fit(DATA), DATA)
    assert (of_choices.predict_proba(DATA)[~AVAILABLE] == 0).all()
    assert of_choices.score(DATA, Y) > 0.3


@pytest.mark.parametrize("piped", [False, True])
def test_check_fit(piped):
    """Against folds by hand, and with rivals among what is available."""
    model = pasb.StickLogisticClassifier(**SHORT)
    asked = make_pipeline(StandardScaler(), model) if piped else model
    check = pasb.check_fit(asked, X, Y, n_folds=2, availability=AVAILABLE)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    expected = np.empty((len(Y), 3))
    for train, test in folds.split(X, Y):
        table = X
        if piped:
            table = pd.DataFrame(StandardScaler().fit(X.iloc[train]).transform(X))
        fold = clone(model).fit(
            table.iloc[train].to_numpy() if piped else table.iloc[train],
            Y[train],
            availability=AVAILABLE[train],
        )
        held = table.iloc[test].to_numpy() if piped else table.iloc[test]
        expected[test] = stick_by_stick(fold, held, AVAILABLE[test]).mean(axis=0)
    assert check.probability == pytest.approx(expected, abs=1e-9)
    assert len(check.rivals) == 2
    assert all(np.isfinite(rival["z"]) for rival in check.rivals)
    alone = np.arange(3) == CATEGORY[:, None]  # nothing is left to find
    logs = [rival["gain"] for rival in rivals_of(X, Y, alone * 1.0, list(folds.split(X, Y)), alone)]
    assert logs == pytest.approx([0, 0])


def test_check_fit_asks_for_it():
    model = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    with pytest.raises(ValueError, match="check_fit would take everything for available"):
        pasb.check_fit(model, X, Y)
    wrong = np.arange(3) != CATEGORY[0]
    wrong = wrong | (np.arange(120) > 0)[:, None]
    with pytest.raises(ValueError, match="row 1 chose a class that was not available"):
        pasb.check_fit(model, X, Y, availability=wrong)


def test_pictures_beside_data():
    model = pasb.StickLogisticClassifier(**SHORT).fit(X, Y, availability=AVAILABLE)
    with pytest.raises(ValueError, match="pass availability="):
        pasb.plots.predictive_check(model, X, Y)
    alone = np.arange(3) == CATEGORY[:, None]
    figure = pasb.plots.predictive_check(model, X, Y, availability=alone)
    ends = [
        bar[:, 1]
        for collection in figure.axes[0].collections
        if isinstance(collection, LineCollection)
        for bar in collection.get_segments()
    ]
    observed = np.bincount(CATEGORY) / len(Y)  # no chance is left
    assert np.array(ends) == pytest.approx(np.repeat(observed[:, None], 2, axis=1))
    of_choices = StickChoiceClassifier(**SHORT).fit(DATA)
    assert pasb.plots.predictive_check(of_choices, DATA, DATA.choice).axes
    p = stick_by_stick(model, X, AVAILABLE).mean(axis=0)
    cal = Calibration.of(p, Y, model.classes_)
    points = pasb.plots.reliability(model, X, Y, availability=AVAILABLE).collections[1]
    held = cal.count > 0
    drawn = np.column_stack([cal.confidence[held], cal.accuracy[held]])
    assert points.get_offsets().data == pytest.approx(drawn)
