"""Labels that matplotlib takes for something else: formulas, hidden entries, control characters."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import cbook, pyplot
from matplotlib.axes import Axes
from matplotlib.text import Text

from pasb import SoftplusClassifier, StickLogisticClassifier, plots
from pasb.plots import style
from pasb.plots.lettering import readable

CLASSES = np.array(["$5 to $10", "$x^2_{bad$", "_hidden_", "two\nlines,\ta tab", "\x1b[31mred"])
COLUMNS = ["$\\frac{1}$", "_price_ in $ or $", "a\nb"]
SHORT = {"n_chains": 1, "n_warmup": 10, "n_draws": 10, "random_state": 1, "progress": False}


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(6)
    category = np.arange(50) % len(CLASSES)
    X = pd.DataFrame(rng.normal(size=(50, 3)) + category[:, None], columns=COLUMNS)
    y = CLASSES[category]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = StickLogisticClassifier(order="swap", **SHORT).fit(X, y)
        bent = SoftplusClassifier(
            n_experts=2, n_layers=1, direction="forward", order="swap", **SHORT
        ).fit(X, y)
    return linear, bent, X, y


PICTURES = {
    "trace": lambda linear, bent, X, y: plots.trace(linear),
    "order": lambda linear, bent, X, y: plots.order_posterior(linear),
    "coefficients": lambda linear, bent, X, y: plots.coefficients(linear),
    "map": lambda linear, bent, X, y: plots.probability_map(linear, X, y, resolution=8),
    "colours": lambda linear, bent, X, y: plots.probability_map(linear, X, resolution=8),
    "experts": lambda linear, bent, X, y: plots.experts(bent, X, y, resolution=8),
    "effects": lambda linear, bent, X, y: plots.effects(linear, X, COLUMNS[1], n_points=4),
    "check": lambda linear, bent, X, y: plots.predictive_check(linear, X, y),
    "check by": lambda linear, bent, X, y: plots.predictive_check(linear, X, y, COLUMNS[0]),
    "prior": lambda linear, bent, X, y: plots.prior_predictive(linear, X, y, n_draws=9),
}


@pytest.mark.parametrize("name", PICTURES)
def test_they_are_drawn_as_they_are(fitted, name, tmp_path):
    found = PICTURES[name](*fitted)
    figure = found.figure if isinstance(found, Axes) else found
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as a letter that is missing
        figure.savefig(tmp_path / "picture.png")
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert not any(cbook.is_math_text(text) for text in texts)
    if name != "trace":  # which names the classes that settled least
        assert any("$" in text for text in texts)


def test_legends_leave_no_class_out(fitted):
    linear, _, X, y = fitted
    for legend in (
        plots.probability_map(linear, X, y, resolution=8).get_legend(),
        plots.effects(linear, X, COLUMNS[1], n_points=4).axes[-1].get_legend(),
    ):
        shown = [text.get_text() for text in legend.get_texts()]
        assert len(set(shown)) == len(CLASSES)
        assert " _hidden_" in shown
        assert "two lines, a tab" in shown


def test_dollars_are_escaped_once():
    assert readable("$5 to $10") == r"\$5 to \$10"
    assert readable(readable("$5 to $10")) == readable("$5 to $10")


def test_a_line_each_where_labels_stay_distinct():
    assert style.shortened(["a\nb", "c"]) == ["a b", "c"]
    assert len(set(style.shortened(["a\nb", "a b"]))) == 2
