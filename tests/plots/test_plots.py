"""Pictures: each returns what it says, draws what it should, and touches nothing else."""

from __future__ import annotations

import subprocess
import sys
import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pasb import StickLogisticClassifier, datasets, plots
from pasb.plots import style
from pasb.plots.calibration import Calibration
from pasb.plots.precedence import before_probabilities


@pytest.fixture(scope="module")
def data():
    iris = datasets.load("iris")
    return iris.frame()[["sepal_length", "petal_length"]], iris.y


@pytest.fixture(scope="module")
def model(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StickLogisticClassifier(
            n_chains=2, n_warmup=60, n_draws=60, random_state=1, progress=False
        ).fit(*data)


@pytest.fixture(autouse=True)
def settings_stay():
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    pyplot.close("all")


def words(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def drawn(figure, tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as a layout that does not fit
        figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


def test_trace(model, tmp_path):
    figure = plots.trace(model, n_probabilities=2)
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 6  # three quantities, lines and densities
    for ax in figure.axes:
        assert len(ax.lines) == 2  # one a chain
    assert sum(text.startswith("R-hat") for text in words(figure)) == 3
    assert f"R-hat {model.diagnostics_.rhat_log_likelihood:.2f}" in words(figure)
    drawn(figure, tmp_path)


def test_trace_of_the_likelihood_alone(model):
    assert len(plots.trace(model, n_probabilities=0).axes) == 2


def test_probability_map(model, data, tmp_path):
    ax = plots.probability_map(model, *data, resolution=40)
    assert isinstance(ax, Axes)
    assert len(ax.images) == 1
    points = [c for c in ax.collections if isinstance(c, matplotlib.collections.PathCollection)]
    assert sum(len(part.get_offsets()) for part in points) == 150
    assert {text.get_text() for text in ax.get_legend().get_texts()} == set(model.classes_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sepal length", "petal length")
    drawn(ax.figure, tmp_path)


def test_probability_map_by_name_and_without_points(model, data):
    ax = plots.probability_map(
        model, data[0], features=("petal_length", "sepal_length"), resolution=20
    )
    assert ax.get_xlabel() == "petal length"
    assert {text.get_text() for text in ax.get_legend().get_texts()} <= set(model.classes_)


@pytest.mark.parametrize("features", [(0, 2), ("petal", 0)])
def test_probability_map_needs_known_features(model, data, features):
    with pytest.raises(ValueError, match="no covariate"):
        plots.probability_map(model, *data, features=features)


def test_order_posterior(model, tmp_path):
    figure = plots.order_posterior(model, top=2)
    matrix, bars = figure.axes
    assert len(matrix.texts) == 3 * 2 + 1  # off the diagonal, and the line of detail
    assert len(bars.patches) == min(2, len(model.order_posterior()))
    assert model.order_posterior(1)["order"][0] in words(figure)
    drawn(figure, tmp_path)


def test_before_probabilities_add_up(model):
    before = before_probabilities(model)
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose((before + before.T)[off], 1.0)
    assert np.isnan(np.diag(before)).all()
    # with three classes, all but the first share the last stick
    first = model.draws_.order[:, :, 0].ravel()
    for k in range(3):
        share = (first == k).mean()
        assert np.nansum(before[k]) == pytest.approx(2 * share + 0.5 * (1 - share))


def test_coefficients(model, tmp_path):
    figure = plots.coefficients(model)
    assert len(figure.axes) == 2  # three classes have two sticks
    for ax in figure.axes:
        offsets = [len(c.get_offsets()) for c in ax.collections if hasattr(c, "get_sizes")]
        assert sum(offsets) >= 2  # a point for each covariate
    assert {"sepal length", "petal length"} <= set(words(figure))
    assert f"Stick 1: {model.order_[0]}" in words(figure)
    drawn(figure, tmp_path)
    assert len(plots.coefficients(model, sticks=1, top=1).axes) == 1


def test_coefficients_say_how_few_draws_have_the_order(model):
    every = model.draws_.n_chains * model.draws_.n_draws
    _, counts = model.fitted_.orders_by_frequency(model.fitted_.directions[0])
    said = f"{counts[0]:,} of {every:,} draws have this order"
    assert (said in " ".join(words(plots.coefficients(model)))) == (2 * counts[0] < every)


def test_coefficients_agree_with_the_summary(model):
    ax = plots.coefficients(model).axes[0]
    means = np.concatenate([np.ravel(c.get_offsets()[:, 0]) for c in ax.collections[2::3]])
    frame = model.summary()
    first = frame[(frame["stick"] == 1) & (frame["feature"] != "(intercept)")]
    np.testing.assert_allclose(
        np.sort(means), np.sort(first["mean"] * model.fitted_.scaling.spread)
    )


@pytest.mark.parametrize("interval", [0, 1, -3])
def test_interval_is_checked(model, interval):
    with pytest.raises(ValueError, match="between 0 and 1"):
        plots.coefficients(model, interval=interval)


def test_reliability(model, data, tmp_path):
    ax = plots.reliability(model, *data)
    cal = Calibration.of(model.predict_proba(data[0]), data[1], model.classes_)
    assert any(f"{cal.error:.3f}" in text for text in words(ax.figure))
    strip = ax.child_axes[0]
    assert sum(bar.get_height() for bar in strip.patches) == 150
    drawn(ax.figure, tmp_path)


def test_calibration_by_hand():
    proba = np.array([[0.95, 0.05], [0.91, 0.09], [0.35, 0.65], [0.5, 0.5]])
    cal = Calibration.of(proba, ["a", "b", "b", "a"], np.array(["a", "b"]))
    assert cal.count.tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0, 2]
    assert cal.error == pytest.approx((2 * abs(0.93 - 0.5) + (1 - 0.65) + (1 - 0.5)) / 4)


def test_sure_predictions_fall_into_the_last_bin():
    cal = Calibration.of(np.array([[1.0, 0.0]]), ["a"], np.array(["a", "b"]))
    assert cal.count[-1] == 1
    assert cal.error == 0


def test_titles_name_models_side_by_side(model, data):
    _, (left, right) = pyplot.subplots(1, 2)
    plots.probability_map(model, *data, resolution=10, title="A map", ax=left)
    plots.reliability(model, *data, title="Trust", ax=right)
    assert left.get_title(loc="left") == "A map"
    assert left.get_xlabel() == "sepal length"
    assert right.child_axes[0].get_title(loc="left") == "Trust"


def test_points_in_a_legend_can_be_seen(model, data):
    many = data[0].sample(3000, replace=True, random_state=1)
    points, colours = (
        plots.probability_map(model, many, *y, resolution=10).get_legend().legend_handles
        for y in ([data[1][many.index]], [])
    )
    for handle in (*points, *colours):
        assert handle.get_sizes()[0] == pytest.approx(40)


def test_pictures_go_where_they_are_told(model, data):
    figure = Figure(figsize=(8, 6), layout="constrained")
    upper, lower = figure.subfigures(2, 1)
    assert plots.trace(model, figure=upper) is upper
    assert plots.coefficients(model, figure=lower) is lower
    ax = Figure().add_subplot()
    assert plots.reliability(model, *data, ax=ax) is ax
    assert plots.probability_map(model, *data, resolution=10, ax=ax) is ax


def test_not_fitted():
    from sklearn.exceptions import NotFittedError

    for plot in (plots.trace, plots.order_posterior, plots.coefficients):
        with pytest.raises(NotFittedError):
            plot(StickLogisticClassifier())


def test_many_classes_have_many_colours():
    assert len(set(style.colours(20))) == 20
    assert len(set(style.colours(8))) == 8


def test_matplotlib_loads_only_when_something_is_drawn():
    code = "import pasb.plots, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_error_says_how_to_get_it(model, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (
        lambda: plots.trace(model),
        lambda: plots.order_posterior(model),
        lambda: plots.coefficients(model),
        lambda: plots.probability_map(model, *data),
        lambda: plots.reliability(model, *data),
    ):
        with pytest.raises(ImportError, match=r"pip install 'pasb\[plots\]'"):
            draw()


def test_on_a_given_figure_pyplot_is_not_used():
    code = (
        "import pasb, warnings, sys; warnings.simplefilter('ignore')\n"
        "from matplotlib.figure import Figure\n"
        "from pasb import plots\n"
        "X, y = [[0.], [1.], [2.], [3.]], ['a', 'b', 'a', 'b']\n"
        "m = pasb.StickLogisticClassifier(n_chains=1, n_warmup=5, n_draws=5).fit(X, y)\n"
        "for draw in plots.trace, plots.order_posterior, plots.coefficients:\n"
        "    draw(m, figure=Figure())\n"
        "plots.reliability(m, X, y, ax=Figure().add_subplot())\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_effects(model, data, tmp_path):
    figure = plots.effects(model, data[0], "petal_length", by="sepal_length", n_points=5)
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 3  # the 10, 50 and 90 % points
    assert all(len(ax.collections) == 3 for ax in figure.axes)  # a band for each class
    assert "petal length" in words(figure)
    drawn(figure, tmp_path)
    levels = data[0].assign(petal_length=np.where(data[0]["petal_length"] > 3, 5.0, 2.0))
    drawn(plots.effects(model, levels, "petal_length", classes="setosa"), tmp_path)
    with pytest.raises(ValueError, match="did you mean 'petal_length'"):
        plots.effects(model, data[0], "petal_lenght")
