"""Kernels that all linear models share."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary.linear_kernels import present_predictors
from pasb.numerics.rows import linear_predictors
from pasb.sticks import ABSENT, FAILURE


@pytest.mark.parametrize(
    ("absent", "used"),
    [([0], [0, 1, 2, 3, 4]), ([1], [0, 2, 3, 4]), ([1, 4], [0, 2, 3]), ([0, 1, 2], [2, 3, 4])],
)
def test_predictors_of_the_rows_that_are_present(absent, used, seed):
    """As those of all rows; blocks without such a row are left alone."""
    rng = np.random.default_rng(seed)
    blocks, coef = rng.normal(size=(5, 8, 256)), rng.normal(size=8)
    bounds = np.array([0, 100, 700, 700, 1000, 1100])
    roles = np.full(5, FAILURE, dtype=np.int8)
    roles[absent] = ABSENT
    everyone, present = np.full((2, 5 * 256), np.nan)
    linear_predictors(blocks, coef[None], everyone[None])
    present_predictors(blocks, bounds, roles, coef, present)
    same = present == everyone
    assert [k for k in range(5) if same[256 * k : 256 * (k + 1)].all()] == used
    assert np.isnan(present[~same]).all()
