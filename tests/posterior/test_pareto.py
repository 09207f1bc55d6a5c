from __future__ import annotations

import warnings

import numpy as np
import pytest

from pasb.posterior.pareto import good_shape, smoothed


def test_the_weights_of_arviz(seed):
    from arviz_stats.base import array_stats

    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(1000, 6)) * np.array([0.1, 0.5, 1, 2, 4, 8])
    weights, k = smoothed(logs, 0.7)
    for row in range(6):
        theirs, their_k = array_stats.psislw(-logs[:, row], r_eff=0.7)  # of log-likelihoods
        np.testing.assert_allclose(np.sort(weights[:, row]), np.sort(theirs.ravel()), atol=1e-7)
        assert k[row] == pytest.approx(float(their_k), abs=1e-7)


def test_equal_weights_and_few_draws():
    weights, k = smoothed(np.zeros((100, 1)))
    np.testing.assert_allclose(np.exp(weights), 0.01)
    assert k[0] == -np.inf
    assert smoothed(np.random.default_rng(0).normal(size=(10, 1)))[1][0] == np.inf
    assert good_shape(4000) == 0.7
    assert good_shape(100) == pytest.approx(0.5)


def test_weights_beyond_what_numbers_hold():
    logs = np.full((400, 1), -700.0)
    logs[-60:, 0] = np.linspace(-690, 0, 60)  # each far larger than the one before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights, k = smoothed(logs)
    assert k[0] > 10 * good_shape(400)
    np.testing.assert_allclose(np.exp(weights).sum(axis=0), 1.0)
