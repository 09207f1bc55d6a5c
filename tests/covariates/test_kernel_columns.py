"""Columns of a radial kernel, and which rows are its landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pasb.covariates.kernel_columns import choose_landmarks, kernel_columns


def test_kernel_columns_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, landmarks = rng.normal(size=(30, 4)), rng.normal(size=(11, 4))
    columns = kernel_columns(X, landmarks, 0.7)
    assert (columns[:, 0] == 1).all()
    assert columns[:, 1:] == pytest.approx(rbf_kernel(X, landmarks, gamma=0.7), rel=1e-12)
    far = kernel_columns(np.array([[1e200, 0, 0, 0], [np.inf, 0, 0, 0]]), landmarks, 2.0)
    assert (far[:, 1:] == 0).all()


def test_kernel_columns_do_not_depend_on_other_rows():
    rng = np.random.default_rng(1)
    X, landmarks = rng.normal(size=(301, 5)), rng.normal(size=(17, 5))
    whole = kernel_columns(X, landmarks, 0.3)
    for rows in (slice(0, 1), slice(7, 40), slice(299, 301)):
        assert np.array_equal(kernel_columns(X[rows], landmarks, 0.3), whole[rows])


def test_landmarks():
    rng = np.random.default_rng(2)
    X, categories = rng.normal(size=(100, 2)), np.repeat([0, 1, 2], [80, 18, 2])
    assert choose_landmarks(X, categories, None, 0).tolist() == list(range(100))
    few = choose_landmarks(X, categories, 20, 0)
    assert len(set(few)) == 20
    assert (np.diff(few) > 0).all()
    counts = np.bincount(categories[few], minlength=3)
    assert counts.min() >= 1
    assert counts[0] >= 15
    assert np.array_equal(few, choose_landmarks(X, categories, 20, 0))
    assert not np.array_equal(few, choose_landmarks(X, categories, 20, 1))
    X[50] = X[3]
    assert 50 not in choose_landmarks(X, categories, None, 0)
