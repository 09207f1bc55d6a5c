"""Tail quantiles are those of NumPy, whatever the number of draws and of ties among them."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.numerics.tail_quantiles import means, select, tail_quantiles

TAILS = [(0.05, 0.95), (0.25, 0.75), (0.005, 0.995), (1e-9, 1 - 1e-9), (0.4999, 0.5001)]
SHAPES = {
    "smooth": lambda rng, shape: rng.beta(2, 5, shape),
    "at the ends": lambda rng, shape: rng.beta(0.02, 0.02, shape),
    "ties": lambda rng, shape: np.round(rng.beta(2, 5, shape), 1),
    "two values": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "constant": lambda rng, shape: np.full(shape, 0.3),
    "nearly constant": lambda rng, shape: 1 - 1e-16 * rng.integers(0, 40, shape),
    "rising": lambda rng, shape: np.sort(rng.random(shape), axis=-1),
    "tiny": lambda rng, shape: 1e-300 * rng.random(shape),
    # every sixteenth draw is in the sample, which then misleads
    "periodic": lambda rng, shape: np.broadcast_to(np.arange(shape[-1]) % 16 / 16, shape).copy(),
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 63, 64, 65, 500, 4000])
def test_as_numpy(kind, n, seed):
    values = SHAPES[kind](np.random.default_rng(seed), (3, 2, n))
    before = values.copy()
    for tails in TAILS:
        lower, upper = np.empty((2, 3, 2))
        tail_quantiles(values, *tails, lower, upper)
        expected = np.quantile(values, tails, axis=2)
        np.testing.assert_allclose(lower, expected[0], rtol=1e-14, atol=0)
        np.testing.assert_allclose(upper, expected[1], rtol=1e-14, atol=0)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("n", [1, 2, 9, 200])
def test_select(n, seed):
    rng = np.random.default_rng(seed)
    for values in (rng.random(n), rng.integers(0, 4, n).astype(float)):
        for k in range(n):
            a = values.copy()
            select(a, 0, n - 1, k)
            assert a[k] == np.sort(values)[k]
            assert (a[:k] <= a[k]).all()
            assert (a[k:] >= a[k]).all()
            np.testing.assert_array_equal(np.sort(a), np.sort(values))


def test_means_add_up_to_one(seed):
    values = np.random.default_rng(seed).random((4, 3, 1001))
    out = np.empty((4, 3))
    means(values, out)
    plain = values.mean(axis=2)
    np.testing.assert_allclose(out, plain / plain.sum(axis=1, keepdims=True), rtol=1e-13)
