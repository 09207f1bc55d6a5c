"""Labels that begin and end alike: what a picture shows of them still tells them apart."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from pasb import StickLogisticClassifier, plots
from pasb.plots import style
from pasb.plots.maps import others_in_words
from pasb.plots.plane import Plane

N = 4
CLASSES = np.array([f"a class with a very long name, number {k}, of the four" for k in range(N)])


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(4)
    category = np.arange(40) % N
    columns = [f"a covariate with a very long name, number {k}" for k in range(3)]
    X = pd.DataFrame(rng.normal(size=(40, 3)) + category[:, None], columns=columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(
            n_chains=1, n_warmup=10, n_draws=20, random_state=1, progress=False
        ).fit(X, CLASSES[category])
    return model, X, CLASSES[category]


def shown(texts) -> list[str]:
    return [text.get_text() for text in texts]


def legend(ax) -> list[str]:
    owner = ax.figure.legends[0] if ax.figure.legends else ax.get_legend()
    return shown(owner.get_texts())


def test_classes(fitted):
    model, X, y = fitted
    matrix, bars = plots.order_posterior(model).axes
    places = plots.predictive_check(model, X, y).axes[0]
    panels = plots.predictive_check(model, X, y, X.columns[0], n_bins=2).axes
    effects = plots.effects(model, X, X.columns[1], n_points=4).axes[0]
    plane = plots.probability_map(model, X, y, resolution=10)
    for names in (
        shown(matrix.get_xticklabels()),
        shown(matrix.get_yticklabels()),
        shown(places.get_xticklabels()),
        [ax.get_title(loc="left") for ax in panels if ax.get_visible()],
        legend(effects),
        legend(plane),
    ):
        assert len(set(names)) == N, names
    n_orders = len(model.order_posterior(8))
    assert len(set(shown(bars.get_yticklabels()))) == n_orders > 1


def test_covariates(fitted):
    model, X, _ = fitted
    names = shown(plots.coefficients(model).axes[0].get_yticklabels())
    assert len(set(names)) == 3
    plane = plots.probability_map(model, X, resolution=5)
    assert plane.get_xlabel().split("\n")[0] != plane.get_ylabel()


def test_covariates_that_the_map_holds_fixed(fitted):
    _, X, _ = fitted
    wide = X.assign(**{f"yet another covariate with a long name {k}": 0.1 for k in (3, 4)})
    words = others_in_words(Plane.of(wide[wide.columns[1:]], 0, 1), list(wide.columns[1:]))
    names = [one.split(" = ")[0] for one in words.removeprefix("\nat ").split(", ")]
    assert len(set(names)) == 2


def test_alternatives():
    answer = pd.DataFrame(
        {"alternative": CLASSES, "estimate": 0.2, "lower": 0.1, "upper": 0.3},
    )
    assert len(set(shown(plots.choices(answer).get_yticklabels()))) == N


def test_pairs_of_alternatives_show_a_part_of_both():
    pairs = [(a, b) for a in CLASSES for b in CLASSES if a != b]
    answer = pd.DataFrame(pairs, columns=["from", "to"]).assign(estimate=0.2, lower=0.1, upper=0.3)
    names = shown(plots.choices(answer).get_yticklabels())
    assert len(set(names)) == len(pairs)
    assert len({name.split(" \N{RIGHTWARDS ARROW} ")[1] for name in names}) == N


def test_underscores_stay_where_spaces_would_make_names_alike():
    assert style.pretty(["a_b", "c"]) == ["a b", "c"]
    assert style.pretty(["a_b", "a b"]) == ["a_b", "a b"]
