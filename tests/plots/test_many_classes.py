"""Pictures of models with many classes, numbers as labels, long labels; experts and checks."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from pasb import SoftplusClassifier, StickLogisticClassifier, datasets, plots
from pasb.plots import style, traces

FEW = {"n_chains": 2, "n_warmup": 30, "n_draws": 30, "random_state": 1, "progress": False}


def words(figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text))


@pytest.fixture(autouse=True)
def closed():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture(scope="module", params=["numbers", "long"])
def many(request):
    """26 classes, with numbers or with long names as labels."""
    rng = np.random.default_rng(2)
    category = np.repeat(np.arange(26), 10)
    X = rng.normal(size=(260, 4)) + 0.5 * category[:, None]
    names = np.array([f"a class with a long name, number {k:02d}" for k in range(26)])
    y = category if request.param == "numbers" else names[category]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StickLogisticClassifier(**FEW).fit(X, y), X, y


@pytest.fixture(scope="module")
def case_of_four():
    """Four classes with names of a usual length."""
    rng = np.random.default_rng(5)
    names = np.array(["abies grandis", "picea engelmannii", "pinus contorta", "tsuga mertensiana"])
    category = np.arange(60) % 4
    X = pd.DataFrame(rng.normal(size=(60, 2)) + category[:, None], columns=["u", "v"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StickLogisticClassifier(**FEW).fit(X, names[category]), X, names[category]


@pytest.fixture(scope="module")
def softplus():
    X, y = flowers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftplusClassifier(n_experts=2, n_layers=2, **{**FEW, "n_chains": 1})
        return model.fit(X, y), X, y


def flowers():
    data = datasets.load("iris")
    return data.frame()[["sepal_length", "petal_length"]], data.y


def draw(many, name):
    model, X, y = many
    return {
        "trace": lambda: plots.trace(model),
        "order": lambda: plots.order_posterior(model),
        "coefficients": lambda: plots.coefficients(model),
        "map": lambda: plots.probability_map(model, X, y, resolution=20),
        "reliability": lambda: plots.reliability(model, X, y),
        "effects": lambda: plots.effects(model, X, "x0", n_points=4, max_rows=20),
        "check": lambda: plots.predictive_check(model, X, y),
        "check by": lambda: plots.predictive_check(model, X, y, "x1"),
    }[name]()


@pytest.mark.parametrize(
    "name",
    ["trace", "order", "coefficients", "map", "reliability", "effects", "check", "check by"],
)
def test_26_classes(many, name, tmp_path):
    found = draw(many, name)
    figure = found.figure if isinstance(found, Axes) else found
    assert isinstance(figure, Figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(tmp_path / "picture.png")


@pytest.mark.parametrize("name", ["effects", "map"])
def test_a_legend_leaves_room_for_the_picture(many, name):
    found = draw(many, name)
    figure = found.figure if isinstance(found, Axes) else found
    figure.draw_without_rendering()
    ax = figure.axes[0]
    assert ax.get_position().width * figure.get_figwidth() > 3
    assert len(ax.get_legend().get_texts()) == 26


def test_names_below_the_pairs_do_not_overlap(many):
    figure = plots.order_posterior(many[0])
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert all(a.x1 <= b.x0 + 0.5 for a, b in pairwise(boxes))


def test_what_is_left_out_is_said(many):
    assert "19 more sticks left out" in words(plots.coefficients(many[0]))
    assert "17 rarer classes left out" in words(plots.predictive_check(*many, "x1"))
    assert "Where each class sits" in words(plots.order_posterior(many[0]))


def test_the_map_says_what_the_others_are_set_to(many):
    ax = plots.probability_map(many[0], many[1], resolution=10, features=("x1", "x3"))
    assert "\nat x0 = " in ax.get_xlabel()
    assert "x2 = " in ax.get_xlabel()


def test_one_scale_for_all_sticks(many):
    limits = {ax.get_xlim() for ax in plots.coefficients(many[0]).axes}
    assert len(limits) == 1


def test_colours_are_the_same_whatever_the_number():
    assert style.palette(4) == style.palette(26)[:4]
    pairs = {(c, style.marker(k)) for k, c in enumerate(style.palette(32))}
    assert len(pairs) == 32
    assert style.mixed("#000000", "#FFFFFF", 0.5) == "#808080"


def test_experts(softplus, tmp_path):
    model, X, y = softplus
    figure = plots.experts(model, X, y, resolution=30)
    n_sticks = len(model.classes_) - 1
    assert len(figure.axes) == n_sticks
    assert "active expert" in words(figure)
    figure.savefig(tmp_path / "picture.png")
    one = plots.experts(model, X, sticks=1, direction=model.fitted_.directions[0], resolution=10)
    if n_sticks > 1:
        assert "left out" in words(one)


def test_experts_have_colours_of_their_own(softplus):
    model, X, y = softplus
    ax = plots.experts(model, X, y, resolution=30).axes[-1]
    handles = ax.get_legend().legend_handles
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    experts = {h.get_color() for h, name in zip(handles, names, strict=True) if "expert" in name}
    dashes = {h.get_linestyle() for h, name in zip(handles, names, strict=True) if "layer" in name}
    assert "expert 1" in names
    assert not experts & set(style.palette(32))
    assert len(dashes) == 2


def test_what_is_grey_is_said_where_there_are_rows(softplus):
    model, X, y = softplus
    assert "grey: classes behind" in words(plots.experts(model, X, y, resolution=8))
    assert "grey" not in words(plots.experts(model, X, resolution=8))


def test_coefficients_of_an_order_of_few_draws(many):
    """Of 26 classes hardly two draws have the same order: intervals would be points."""
    said = re.search(r"([\d,]+) of 60 draws have this order", words(plots.coefficients(many[0])))
    assert said
    assert int(said[1]) < 30


def test_names_of_the_prior_picture_do_not_touch(many):
    model, X, y = many
    figure = plots.prior_predictive(model, X, y, n_draws=5)
    figure.draw_without_rendering()
    names = [text.get_window_extent() for text in figure.axes[1].get_yticklabels()]
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(names))


def test_what_is_left_out_is_said_once(many):
    model, X, y = many
    assert words(plots.predictive_check(model, X, y, "x1")).count("left out") == 1


def test_every_column_of_a_check_has_its_values_below(case_of_four):
    figure = plots.predictive_check(*case_of_four, by="u")
    figure.draw_without_rendering()
    lowest = [figure.axes[k] for k in (1, 2, 3)]  # of 3 columns; below two of them is nothing
    assert all(ax.get_xlabel() == "u" for ax in lowest)
    widths = [ax.get_position().width for ax in figure.axes[:4]]
    assert min(widths) > 0.98 * max(widths)
    assert all(ax.xaxis.get_tick_params()["labelbottom"] for ax in lowest)


def test_panels_of_coefficients_keep_their_room(case_of_four):
    """Whatever the labels: a line about all classes behind would push panels apart."""
    figure = plots.coefficients(case_of_four[0])
    figure.draw_without_rendering()
    widths = [ax.get_position().width for ax in figure.axes]
    assert min(widths) > 0.9 * max(widths)
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    assert all(a.x1 <= b.x0 + 1 for a, b in pairwise(boxes))
    assert "against the 3 classes behind" in words(figure)


def test_small_probabilities_have_no_exponent():
    """It would cover the line below the title."""
    ax = Figure().add_subplot()
    traces._lines(ax, 1e-5 * np.random.default_rng(0).random((2, 9)))
    ax.figure.draw_without_rendering()
    assert not ax.yaxis.get_offset_text().get_text()


def test_experts_needs_experts(many):
    with pytest.raises(TypeError, match="needs a SoftplusClassifier"):
        plots.experts(*many)


def test_effects_take_axes(many):
    ax = Figure().add_subplot()
    assert plots.effects(many[0], many[1], "x0", n_points=3, max_rows=10, ax=ax) is ax.figure
    assert ax.collections


def test_predictive_check_finds_what_is_wrong(many):
    """Labels in another order are outside the bars. A test of power, far from its limit."""
    model, X, y = many
    wrong = np.where(np.arange(len(y)) < 200, y[0], y)
    ax = plots.predictive_check(model, X, wrong).axes[0]
    filled = [c for c in ax.collections[2::3] if len(c.get_offsets())]
    assert len(filled) > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [({"interval": 2}, "interval"), ({"y": ["no"]}, "classes"), ({"by": "x9"}, "no covariate")],
)
def test_predictive_check_refuses(many, change, message):
    model, X, y = many
    options = {"y": y, **change}
    if len(options["y"]) == 1:
        options["y"] = np.array(options["y"] * len(X))
    with pytest.raises(ValueError, match=message):
        plots.predictive_check(model, X, **options)
