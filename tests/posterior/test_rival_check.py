"""Cox's test against a rival, on probabilities whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, norm

import pasb
from pasb import StickLogisticClassifier
from pasb.posterior.fit_check import FitCheck
from pasb.posterior.rival_check import CURVED, LINEAR, leaning, rivals_of

SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 80, "n_jobs": 1, "random_state": 0}


def softmax(eta):
    p = np.exp(eta - eta.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def drawn(p, rng):
    return (np.log(p) + rng.gumbel(size=p.shape)).argmax(axis=1)


@pytest.mark.statistical(level=1e-7)
def test_the_statistic_is_standard_normal_if_the_model_is_right(seed):
    rng = np.random.default_rng(seed)
    p, r = (softmax(rng.normal(size=(500, 4))) for _ in range(2))
    z = [leaning(p, r, drawn(p, rng))["z"] for _ in range(500)]
    assert kstest(z, norm.cdf).pvalue > 1e-7


@pytest.mark.statistical(level=1e-7)
def test_a_rival_that_is_right(seed):
    rng = np.random.default_rng(seed)
    p, r = (softmax(rng.normal(size=(500, 4))) for _ in range(2))
    found = leaning(p, r, drawn(r, rng))
    assert found["z"] > 10
    assert found["gain"] > 0
    assert leaning(p, p, drawn(r, rng))["z"] == 0.0


def test_rivals_of_columns_with_levels():
    rng = np.random.default_rng(0)
    soil = np.where(rng.random(400) < 0.5, "clay", "sand")
    size = rng.normal(size=400)
    y = np.where((soil == "clay") & (size > 0), "a", np.where(rng.random(400) < 0.5, "b", "c"))
    rows = np.arange(400)
    splits = [(rows[rows % 4 != k], rows[rows % 4 == k]) for k in range(4)]
    p = np.full((400, 3), 1 / 3)
    linear, curved = rivals_of(pd.DataFrame({"soil": soil, "size": size}), y, p, splits)
    assert (linear["rival"], curved["rival"]) == (LINEAR, CURVED)
    assert curved["gain"] > linear["gain"] > 50  # an interaction
    assert rivals_of(np.ones((400, 1)), y, p, splits) == []


def test_sticks_of_softmax_rows(seed):  # no level: 20 of 24 seeds have p below 0.05, at 1000 rows
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 2))
    eta = np.stack([3 * np.cos(a) * X[:, 0] + 3 * np.sin(a) * X[:, 1] for a in (0, 1.6, 3.1, 4.7)])
    check = pasb.check_fit(StickLogisticClassifier(**SHORT), X, drawn(softmax(eta.T), rng))
    assert check.p_value < 0.01
    assert "lean towards those of a multinomial logit" in check.in_words()


def test_words_where_nothing_is_found():
    cell = {"class": "a", "by": "x0", "interval": "[0, 1]", "rows": 9, "observed": 4}
    cells = [cell | {"expected": 5.0, "z": -0.5}]
    rivals = [{"rival": LINEAR, "gain": -2.0, "z": 0.4, "p_value": 0.34}]
    check = FitCheck(cells, np.zeros((9, 2)), rivals)
    assert check.p_value == pytest.approx(0.68, abs=0.01)
    assert check.in_words().startswith("No gap found in held-out predictions of 9 rows")
    assert "this does not show that the intervals hold" in check.in_words()
