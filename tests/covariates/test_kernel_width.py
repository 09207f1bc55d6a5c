"""The width of a kernel by cross-validation: the search and the folds."""

from __future__ import annotations

import numpy as np

from pasb.covariates.kernel_width import MOST_ROWS, cross_validate, folds_of


def test_the_search_of_widths_ends_at_the_best():
    """Every third width, then two neighbours on each side; ties go to the lower loss."""
    tried = []

    def fit(width, train, test):
        tried.append(width)
        right = 0.79 - 0.01 * abs(np.log2(width) - 5)
        return np.column_stack([np.full(len(test), right), np.full(len(test), 1 - right)])

    categories = np.repeat([0, 1], [40, 10])
    scores = cross_validate(
        fit, categories, np.ones(50), [2.0**k for k in range(21)], n_folds=3, seed=0, n_jobs=2
    )
    assert min(scores).width == 2.0**5
    assert len(tried) == 3 * len(scores) <= 36


def test_folds():
    categories = np.repeat([0, 1, 2], [4000, 2000, 6])
    folds = folds_of(categories, np.arange(6006), 3, 0)
    assert len(folds) == 3
    tests = np.concatenate([test for _, test in folds])
    assert len(set(tests)) == len(tests) == MOST_ROWS
    for train, test in folds:
        assert not set(train) & set(test)
        assert set(categories[train]) == {0, 1, 2}
    assert folds_of(np.array([0, 1]), np.arange(2), 3, 0) == []
