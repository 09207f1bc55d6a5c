"""Stick breaking: Theorem 1 and its Corollary by simulation, logs that sum to one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from pasb.orders import enumerate_orders
from pasb.sticks import (
    accept_reject,
    log_probabilities,
    probabilities_of_draws,
    simulate_categories,
)


def logs(eta):
    return -np.logaddexp(0, -eta), -np.logaddexp(0, eta)


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("n_categories", [2, 4])
def test_the_augmented_construction_has_the_stated_probabilities(
    direction, n_categories, seed, level
):
    """Draw every stick's Bernoulli variable and count where rows end up."""
    rng = np.random.default_rng(seed)
    orders = enumerate_orders(n_categories)
    n = 20_000
    for order in orders:
        success, failure = logs(rng.normal(size=(n_categories, 1)))
        accept, reject = accept_reject(success, failure, direction)
        expected = n * np.exp(log_probabilities(accept, reject, order))[:, 0]
        wide = np.repeat(success, n, axis=1), np.repeat(failure, n, axis=1)
        y = simulate_categories(*wide, order, direction, rng=rng)
        observed = np.bincount(y, minlength=n_categories)
        statistic = np.sum((observed - expected) ** 2 / expected)
        assert statistic < chi2.isf(level / len(orders), n_categories - 1)


def test_theorem_1_written_out():
    """p = pi_2, (1 - pi_2) pi_0, (1 - pi_2)(1 - pi_0) for the order 2, 0, 1."""
    pi = np.array([0.3, 0.9, 0.2])
    p = np.exp(log_probabilities(np.log(pi), np.log1p(-pi), [2, 0, 1]))
    assert p == pytest.approx([0.8 * 0.3, 0.8 * 0.7, 0.2])


def test_reverse_is_forward_with_success_and_failure_swapped(seed):
    eta = np.random.default_rng(seed).normal(size=(4, 7))
    order = [3, 1, 0, 2]
    reverse = log_probabilities(*accept_reject(*logs(eta), "reverse"), order)
    forward_of_minus = log_probabilities(*accept_reject(*logs(-eta), "forward"), order)
    assert reverse == pytest.approx(forward_of_minus)


def test_reference_stick_is_not_used():
    accept, reject = logs(np.zeros((3, 1)))
    accept[1], reject[1] = np.nan, np.nan
    assert np.isfinite(log_probabilities(accept, reject, [2, 0, 1])).all()


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_logs_sum_to_one_and_stay_finite(size, direction, seed):
    rng = np.random.default_rng(seed)
    eta = rng.uniform(-size, size, (6, 500))
    for order in (np.arange(6), rng.permutation(6)):
        log_p = log_probabilities(*accept_reject(*logs(eta), direction), order)
        assert np.isfinite(log_p).all()
        assert np.abs(logsumexp(log_p, axis=0)).max() < 1e-11


def test_kernel_agrees_with_the_plain_function(seed):
    rng = np.random.default_rng(seed)
    eta = rng.normal(scale=5, size=(3, 4, 256))
    success, failure = logs(eta)
    orders = np.array([rng.permutation(4) for _ in range(3)])
    reverse = np.array([False, True, False])
    out = np.empty_like(eta)
    on_sticks = (
        np.take_along_axis(part, orders[:, :-1, None], axis=1) for part in (success, failure)
    )
    probabilities_of_draws(*on_sticks, reverse, orders, out)
    for d in range(3):
        direction = "reverse" if reverse[d] else "forward"
        expected = log_probabilities(*accept_reject(success[d], failure[d], direction), orders[d])
        assert out[d] == pytest.approx(np.exp(expected))


def test_unknown_direction_is_named():
    with pytest.raises(ValueError, match="direction must be 'forward' or 'reverse', not 'back'"):
        accept_reject(np.zeros(1), np.zeros(1), "back")
