"""Details of a report that people read first: dates, priors, and what tables are said to hold."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import pasb
from pasb import ModelReport, SoftplusClassifier, StickLogisticClassifier, TableEncoder
from pasb.report.evidence_sections import surprise_in_words
from pasb.report.prior_facts import prior_facts, prior_lines
from pasb.report.values_in_words import date_ticks

pytestmark = pytest.mark.filterwarnings("ignore")

SHORT = {"n_chains": 1, "n_warmup": 20, "n_draws": 20, "random_state": 1, "progress": False}


def test_dates_are_shown_as_dates():
    """They were numbers of days, as in 1.42e+04."""
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2007-06-01") + pd.to_timedelta(rng.integers(0, 900, 120), unit="D")
    y = np.where(day > pd.Timestamp("2008-09-01"), "late", "early")
    table = pd.DataFrame({"caught": day, "pay": rng.normal(30_000, 4_000, 120)})
    model = make_pipeline(TableEncoder(), StickLogisticClassifier(**SHORT)).fit(table, y)
    report = ModelReport(model, table, y, compare=False)
    terms = {term["term"]: term["change"] for term in report.facts["effects"]["terms"]}
    assert re.fullmatch(r"200[789]-\d\d-\d\d → 200[89]-\d\d-\d\d", terms["caught"])
    assert re.fullmatch(r"2\d,\d{3} → 3\d,\d{3}", terms["pay"])
    curves = {curve["term"]: curve["dates"] for curve in report.facts["effects"]["curves"]}
    assert curves == {"caught": True, "pay": False}
    page = report.html()
    assert ">2008</text>" in page or ">2008-07</text>" in page
    assert "e+04" not in page


@pytest.mark.parametrize("days", [0.2, 2, 5, 12, 40, 200, 800, 4000, 30_000])
def test_ticks_of_dates(days):
    low = 14_190.3
    places, words = date_ticks(low, low + days)
    assert len(places) == len(words) == len(set(words))
    assert 1 <= len(words) <= 6
    assert all(low <= place <= low + days for place in places)


def lines(model):
    return prior_lines(prior_facts(model))


def test_many_covariates_take_one_line():
    """Each had its own prior per unit, and all stood in one paragraph."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * np.exp(rng.normal(size=40) * 3)
    y = np.arange(60) % 2
    model = StickLogisticClassifier(precision_rate=8.0, **SHORT).fit(X, y)
    shown = ", ".join(f"x{v}" for v in range(8))
    assert lines(model) == [
        "the intercept: t(4, 0, 2)",
        f"{shown} and 32 more: t(4, 0, 2) per standard deviation of a covariate",
    ]
    assert len(model.priors_) == 41  # all of them, per unit, for programs


def test_priors_in_the_units_they_were_given_in():
    data = pasb.datasets.load("iris").frame()
    y = data.pop("class")
    prior = {data.columns[0]: pasb.Normal(0, 2), data.columns[1]: pasb.Normal(0, 2)}
    model = StickLogisticClassifier(prior=prior, precision_rate=2.0, **SHORT).fit(data, y)
    names = list(data.columns)
    assert lines(model) == [
        "the intercept: t(4, 0, 1)",
        f"{names[0]}, {names[1]}: normal(0, 2) per unit of the covariate",
        f"{names[2]}, {names[3]}: t(4, 0, 1) per standard deviation of a covariate",
    ]
    page = model.report(data, y, compare=False).html()
    assert f"{names[0]}, {names[1]}: normal(0, 2) per unit of the covariate<br>" in page


@pytest.mark.parametrize(
    ("settings", "first", "n"),
    [
        ({}, "t(4, 0, sqrt(rate / 2))", 5),
        ({"precision_rate": 8.0}, "t(4, 0, 2)", 3),
        ({"precision_rate": (1.0, 2.0)}, "t(4, 0, sqrt(rate / 2))", 4),
        ({"precision": 0.25}, "normal(0, 2)", 3),
    ],
)
def test_softplus(settings, first, n):
    data = pasb.datasets.load("iris")
    model = SoftplusClassifier(n_experts=2, n_layers=1, direction="forward", **SHORT)
    model.set_params(n_warmup=3, n_draws=5, **settings).fit(data.X[::3], data.y[::3])
    told = model.priors_
    assert told[0] == {"parameter": "coefficient", "prior": first}
    assert len(told) == len(lines(model)) == n
    sampled = [one for one in told if "posterior" in one]
    assert len(sampled) == (not settings)
    for one in sampled:
        draws = model.draws_.parameters["mean_rate"]
        assert one["posterior"]["median"] == np.median(draws) == model.precision_rate_
        assert one["posterior"]["lower"] == np.quantile(draws, 0.05)


def test_a_table_is_said_to_hold_what_it_holds():
    """With rows in it, it stood below "0 rows ... Look at them first"."""
    assert "Look at" not in surprise_in_words(0)
    assert surprise_in_words(1).startswith("1 row is of a class")
    assert surprise_in_words(12).startswith("12 rows are of a class")
