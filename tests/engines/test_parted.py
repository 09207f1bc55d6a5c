"""Chains on rows in parts: what a search costs with many classes."""

from __future__ import annotations

import numpy as np
import pytest

import pasb
from pasb.evidences.asked_sticks import SAMPLE_ROWS, sample_rows


def test_orders_are_searched_on_fewer_rows_with_many_classes():
    assert [sample_rows(n) for n in (2, 8, 200, 1000)] == [SAMPLE_ROWS] * 4
    assert sample_rows(26) == SAMPLE_ROWS * 8 // 26
    assert sample_rows(60) == 6000  # at least 100 a class
    many = [sample_rows(n) for n in range(9, 40)]
    assert many == sorted(many, reverse=True)


@pytest.mark.filterwarnings("ignore")  # so few draws
def test_more_classes_than_whole_orders_are_drawn_of():
    """From 58 classes on plain swaps alone move the order."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(60, 2))[y] * 2 + rng.normal(size=(360, 2))
    model = pasb.StickLogisticClassifier(
        engine="blocks", n_chains=1, n_warmup=2, n_draws=3, random_state=0, progress=False
    )
    fitted = model.fit(X, y)
    assert np.isfinite(fitted.draws_.log_likelihood).all()
    assert sorted(fitted.order_) == list(range(60))


@pytest.mark.filterwarnings("ignore")  # so few draws
def test_an_order_may_be_an_array():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    settings = {"engine": "blocks", "n_chains": 1, "n_warmup": 2, "n_draws": 4, "random_state": 0}
    model = pasb.StickLogisticClassifier(order=np.array([2, 0, 1]), progress=False, **settings)
    assert np.all(model.fit(X, y).draws_.order == [2, 0, 1])
