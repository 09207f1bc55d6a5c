"""Pictures of pipelines, and what is said of anything else."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pasb import StickLogisticClassifier, plots

pytestmark = pytest.mark.filterwarnings("ignore::pasb.errors.ConvergenceWarning")
SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 1, "progress": False}


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module", params=["pandas", "polars"])
def frame(request):
    library = pytest.importorskip(request.param)
    rng = np.random.default_rng(0)
    y = np.array(["ash", "oak", "yew"])[np.arange(60) % 3]
    columns = {
        "height": rng.normal(size=60) + (y == "ash") * 3,
        "width": rng.normal(size=60) + (y == "oak") * 3,
        "soil": np.where(rng.random(60) < 0.7, "sand", "clay").tolist(),
    }
    return library.DataFrame(columns), y


@pytest.fixture(scope="module")
def pipe(frame):
    X, y = frame
    encode = make_column_transformer(
        (StandardScaler(), ["height", "width"]), (OneHotEncoder(sparse_output=False), ["soil"])
    )
    return make_pipeline(encode, StickLogisticClassifier(**SHORT)).fit(X, y)


def test_every_picture_takes_a_pipeline(pipe, frame, tmp_path):
    X, y = frame
    for figure in (
        plots.trace(pipe),
        plots.order_posterior(pipe),
        plots.coefficients(pipe),
        plots.probability_map(pipe, X, y, features=("height", "width"), resolution=12).figure,
        plots.reliability(pipe, X, y).figure,
    ):
        figure.savefig(tmp_path / "picture.png")


def test_coefficients_have_the_names_that_the_pipeline_gave(pipe):
    labels = [text.get_text() for text in plots.coefficients(pipe).axes[0].get_yticklabels()]
    assert "standardscaler  height" in labels
    assert "onehotencoder  soil sand" in labels


def test_the_map_is_that_of_the_input(pipe, frame):
    """The colours are those of the pipeline's own predictions, at the typical value of the rest."""
    X, y = frame
    ax = plots.probability_map(pipe, X, y, features=("height", "width"), resolution=9)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height\nat soil = sand", "width")
    left, right, low, high = ax.images[0].get_extent()
    columns = {
        "height": np.tile(np.linspace(left, right, 9), 9),
        "width": np.repeat(np.linspace(low, high, 9), 9),
        "soil": ["sand"] * 81,
    }
    proba = pipe.predict_proba(type(X)(columns)).reshape(9, 9, 3)
    from pasb.plots import style
    from pasb.plots.maps import _blend

    expected = _blend(proba, style.rgb(style.colours(3)))
    np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), expected, atol=1e-9)


def test_a_column_of_text_has_no_axis(pipe, frame):
    with pytest.raises(ValueError, match="column 'soil' does not hold numbers"):
        plots.probability_map(pipe, frame[0], features=("height", "soil"))


def test_a_pipeline_of_one_step():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    alone = Pipeline([("model", StickLogisticClassifier(**SHORT))]).fit(X, y)
    assert plots.probability_map(alone, X, y, resolution=5).get_xlabel() == "x0"


X, Y = np.random.default_rng(1).normal(size=(30, 2)), np.arange(30) % 2
WRONG = {
    "pipeline of another classifier": (
        lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
        TypeError,
        "last step is LogisticRegression",
    ),
    "pipeline without a classifier": (
        lambda: Pipeline([("scale", StandardScaler()), ("nothing", "passthrough")]).fit(X),
        TypeError,
        "does not end in a classifier of pasb",
    ),
    "pipeline that is not fitted": (
        lambda: make_pipeline(StandardScaler(), StickLogisticClassifier()),
        NotFittedError,
        "not fitted",
    ),
    "search": (
        lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}).fit(X, Y),
        TypeError,
        "got GridSearchCV; pass its best_estimator_",
    ),
    "class": (lambda: StickLogisticClassifier, TypeError, "the class StickLogisticClassifier"),
    "nothing": (lambda: None, TypeError, "got None"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_fitted_model(case):
    make, error, words = WRONG[case]
    for draw in (plots.trace, plots.order_posterior, plots.coefficients):
        with pytest.raises(error, match=words):
            draw(make())
    with pytest.raises(error, match=words):
        plots.probability_map(make(), X)


def test_reliability_needs_probabilities():
    with pytest.raises(TypeError, match="StandardScaler has no predict_proba"):
        plots.reliability(StandardScaler(), X, Y)
