"""The check of a model against held-out rows finds what is wrong, and not what is right."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pasb
from pasb import SoftplusClassifier, StickLogisticClassifier

SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 80, "n_jobs": 1, "random_state": 0}


def rows(seed, bent):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 2))
    eta = 2 * (X[:, 0] ** 2 - 1) if bent else 1.5 * X[:, 0]
    y = np.where(rng.random(600) < 1 / (1 + np.exp(-eta)), "in", "out")
    return pd.DataFrame(X, columns=["size", "noise"]), y


def test_a_straight_model_of_a_bent_boundary(seed):  # no level: z is above 8 for every seed tried
    X, y = rows(seed, bent=True)
    check = pasb.check_fit(StickLogisticClassifier(**SHORT), X, y)
    assert check.p_value < 1e-6
    assert check.worst["by"] == "size"
    assert "The model is wrong" in check.in_words()
    assert "size in [" in check.in_words()
    bends = pasb.check_fit(SoftplusClassifier(n_experts=2, n_layers=2, **SHORT), X, y)
    assert abs(bends.worst["z"]) < abs(check.worst["z"]) / 2


@pytest.mark.statistical(level=1e-7)
def test_a_model_that_is_right(seed):
    X, y = rows(seed, bent=False)
    check = pasb.check_fit(StickLogisticClassifier(**SHORT), pl.from_pandas(X), y)
    assert check.p_value > 1e-7
    frame = check.frame()
    assert isinstance(frame, pl.DataFrame)
    assert set(frame["class"]) == {"in", "out"}
    own = frame.filter((pl.col("by") == "noise") & (pl.col("class") == "in"))
    assert own["observed"].sum() == (y == "in").sum()
    assert own["rows"].sum() == 600


def test_levels_and_too_few_rows():
    X, y = rows(1, bent=False)
    tame = np.where(X["noise"] > 0, 1.0, 0.0)
    check = pasb.check_fit(StickLogisticClassifier(**SHORT), X.assign(tame=tame), y)
    intervals = {cell["interval"] for cell in check.cells if cell["by"] == "tame"}
    assert intervals == {"0.0", "1.0"}
    with pytest.raises(ValueError, match="too few rows"):
        pasb.check_fit(StickLogisticClassifier(**SHORT), X[:12], ["a", "b"] * 6, n_folds=2)
