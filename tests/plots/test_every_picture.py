"""Every public picture: given axes, what is returned, 26 classes, numbers or long labels."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pasb import SoftplusClassifier, StickLogisticClassifier, plots

SHORT = {"n_chains": 1, "n_warmup": 10, "n_draws": 10, "random_state": 1, "progress": False}
LABELS = {
    "26 numbers": np.arange(26),
    "26 long texts": np.array([f"a class with a rather long name, number {k}" for k in range(26)]),
    "3 numbers": np.array([-3.0, 1.0, 20.0]),
    "2 texts": np.array(["no", "yes"]),
}


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module", params=LABELS)
def case(request):
    """A logistic and a softplus model, and their rows."""
    labels = LABELS[request.param]
    rng = np.random.default_rng(3)
    category = np.arange(130) % len(labels)
    X = pd.DataFrame(rng.normal(size=(130, 3)) + 0.4 * category[:, None], columns=list("uvw"))
    y = labels[category]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = StickLogisticClassifier(order="swap", **SHORT).fit(X, y)  # no search
        bent = SoftplusClassifier(
            n_experts=2, n_layers=1, direction="forward", order="swap", **SHORT
        ).fit(X, y)
    return linear, bent, X, y


def calls(case):
    """How each picture is asked for, by its name."""
    linear, bent, X, y = case
    classes = linear.classes_
    share = np.linspace(0.1, 0.9, len(classes))
    answer = pd.DataFrame(
        {"alternative": classes, "estimate": share, "lower": share - 0.1, "upper": share + 0.1}
    )
    return {
        "choices": lambda **to: plots.choices(answer, **to),
        "coefficients": lambda **to: plots.coefficients(linear, **to),
        "effects": lambda **to: plots.effects(linear, X, "v", n_points=4, max_rows=20, **to),
        "experts": lambda **to: plots.experts(bent, X, y, resolution=12, **to),
        "order_posterior": lambda **to: plots.order_posterior(linear, **to),
        "predictive_check": lambda **to: plots.predictive_check(linear, X, y, **to),
        "prior_predictive": lambda **to: plots.prior_predictive(linear, X, y, n_draws=20, **to),
        "probability_map": lambda **to: plots.probability_map(linear, X, y, resolution=12, **to),
        "reliability": lambda **to: plots.reliability(linear, X, y, **to),
        "trace": lambda **to: plots.trace(linear, **to),
    }


@pytest.fixture(scope="module")
def on_its_own(case):
    """Pictures as they come, each drawn once."""
    drawn = {}

    def picture(name):
        if name not in drawn:
            drawn[name] = calls(case)[name]()
        return drawn[name]

    return picture


def figure_of(found):
    return found.figure if isinstance(found, Axes) else found


@pytest.mark.parametrize("name", plots.__all__)
def test_it_is_drawn(on_its_own, name, tmp_path):
    """On a figure of its own, without a warning (such as a layout that does not fit)."""
    found = on_its_own(name)
    assert isinstance(found, Axes | Figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure_of(found).savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


@pytest.mark.parametrize("name", plots.__all__)
def test_it_goes_on_given_axes(case, on_its_own, name):
    """On axes like its own, which are returned, or whose figure is; pyplot gets no new figure."""
    draw = calls(case)[name]
    assert inspect.signature(getattr(plots, name)).parameters["ax"].default is None
    own = on_its_own(name)
    pyplot.close("all")
    if isinstance(own, Axes):
        ax = Figure().add_subplot()
        assert draw(ax=ax) is ax
        given = [ax]
    else:
        given = list(Figure(figsize=(20, 20)).subplots(len(own.axes), squeeze=False).ravel())
        assert draw(ax=given) is given[0].figure
    assert all(one.has_data() or one.texts for one in given)
    assert not pyplot.get_fignums()


def test_what_is_no_axes_is_refused(case):
    for name, draw in calls(case).items():
        with pytest.raises((TypeError, ValueError), match="ax must"):
            draw(ax="here"), name
