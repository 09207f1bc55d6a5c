"""Averages in blocks, whatever the groups and however many rows."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.effects import streaming
from pasb.effects.streaming import Grouping, averages, of_each_row
from pasb.numerics.rows import BLOCK


def evaluation(values):
    """Quantities (draws, measures, classes, rows), two draws at a time, rows padded."""

    def evaluate(rows):
        part = values[..., rows]
        out = np.full((*part.shape[:3], -(-part.shape[3] // BLOCK) * BLOCK), 7.0)
        out[..., : part.shape[3]] = part
        for start in range(0, len(values), 2):
            yield slice(start, min(start + 2, len(values))), out[start : start + 2]

    return evaluate


@pytest.mark.parametrize("n_rows", [1, 255, 1024, 2500])
def test_groups_and_weights(n_rows, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(5, 2, 3, n_rows))
    of_row = np.arange(n_rows) % 4 if n_rows > 4 else np.zeros(n_rows, dtype=np.int64)
    labels = [(k,) for k in np.unique(of_row)]
    weights = rng.random(n_rows) + 0.1
    found = averages(evaluation(values), Grouping(labels, of_row, weights), 5, 2)
    for group in range(len(labels)):
        own = of_row == group
        expected = np.average(values[..., own], axis=-1, weights=weights[own])
        np.testing.assert_allclose(found[group], expected)


def test_rows_one_after_the_other(monkeypatch, seed):
    monkeypatch.setattr(streaming, "NUMBERS_AT_ONCE", 300)
    values = np.random.default_rng(seed).normal(size=(5, 2, 3, 40))
    parts = list(of_each_row(evaluation(values), 40, 5, 6))
    assert len(parts) == 4
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts], axis=-1), values)
