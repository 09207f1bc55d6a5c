"""Rows in blocks: weights, and sums over them against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.numerics.rows import (
    BLOCK,
    Rows,
    blocked,
    linear_predictors,
    padded,
    unblocked,
    weighted_gram,
)


class TestRows:
    def test_weights_are_those_given_or_ones(self):
        X, y = np.ones((6, 1)), np.array([2, 0, 1, 0, 1, 2])
        weights = np.array([0.5, 1.0, 2.0, 3.0, 1.0, 1.0])
        assert Rows.of(X, y, 3, weights).weights.tolist() == [1.0, 3.0, 2.0, 1.0, 0.5, 1.0]
        for ones in (None, np.ones(6), np.ones(6, dtype=int)):
            rows = Rows.of(X, y, 3, ones)
            assert rows.given_weights is None  # no memory for what nobody may ask for
            assert rows.weights.dtype == np.float64
            assert (rows.weights == 1).all()
            assert rows.n_rows == len(rows.weights) == 6

    def test_some_columns(self):
        rng = np.random.default_rng(0)
        X, y, weights = rng.normal(size=(300, 7)), np.arange(300) % 3, rng.random(300)
        seen = np.array([True, False, True, True, False, True, True])
        some, expected = Rows.of(X, y, 3, weights).of_columns(seen), Rows.of(X[:, seen], y, 3)
        np.testing.assert_array_equal(some.blocks, expected.blocks)
        assert some.n_columns == 5
        np.testing.assert_array_equal(some.weights, Rows.of(X, y, 3, weights).weights)

    def test_some_rows_keep_their_weights(self):
        y = np.arange(100) % 2
        rows = Rows.of(np.ones((100, 1)), y, 2, 1.0 + np.arange(100))
        few = rows.at_most(50)
        assert few.n_rows == 50
        assert np.isin(few.weights, rows.weights).all()
        assert (few.weights[few.categories == 1] % 2 == 0).all()
        assert Rows.of(np.ones((100, 1)), y, 2).at_most(50).given_weights is None

    @pytest.mark.parametrize(("n", "p"), [(1, 1), (5, 9), (256, 4), (700, 37)])
    def test_sums_agree_with_numpy(self, n, p, seed):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n, p)), rng.integers(3, size=n)
        rows = Rows.of(X, y, 3)
        n_blocks, n_padded, _ = rows.blocks.shape
        ordered = X[np.argsort(y, kind="stable")]
        assert (unblocked(rows.blocks, n, p) == ordered).all()
        assert (rows.categories == np.sort(y)).all()

        w, v = np.zeros((2, n_blocks * BLOCK))
        w[:n], v[:n] = rng.random(n), rng.normal(size=n)
        gram, linear = np.zeros((n_padded, n_padded)), np.zeros(n_padded)
        scratch, used = np.zeros((n_padded, BLOCK)), np.ones(n_blocks, dtype=bool)
        weighted_gram(rows.blocks, w, v, used, scratch, gram, linear)
        expected = (ordered * w[:n, None]).T @ ordered
        assert np.tril(gram[:p, :p]) == pytest.approx(np.tril(expected))
        assert linear[:p] == pytest.approx(ordered.T @ v[:n])

        coef = rng.normal(size=(2, p))
        eta = np.empty((2, n_blocks * BLOCK))
        linear_predictors(rows.blocks, padded(coef, n_padded), eta)
        assert eta[:, :n] == pytest.approx(coef @ ordered.T)

    def test_a_row_does_not_see_its_neighbours(self, seed):
        rng = np.random.default_rng(seed)
        X, coef = rng.normal(size=(300, 7)), rng.normal(size=(1, 7))
        whole, single = np.empty((1, 512)), np.empty((1, 256))
        linear_predictors(blocked(X), padded(coef, 8), whole)
        for i in (0, 17, 255, 256, 299):
            linear_predictors(blocked(X[i : i + 1]), padded(coef, 8), single)
            assert single[0, 0] == whole[0, i]


def test_a_predictor_does_not_depend_on_its_neighbours(seed):
    """Vectors go through in pairs, and the last of an odd number alone."""
    rng = np.random.default_rng(seed)
    blocks = rng.normal(size=(2, 8, 256))
    coef = padded(rng.normal(size=(5, 7)), 8)
    together, alone = np.empty((2, 5, 512))
    linear_predictors(blocks, coef, together)
    for k in range(5):
        linear_predictors(blocks, coef[k : k + 1], alone[k : k + 1])
    assert np.array_equal(together, alone)
    assert np.allclose(together[:, :256], coef @ blocks[0], rtol=1e-13)
