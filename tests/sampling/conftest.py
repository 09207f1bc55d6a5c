"""A run that nothing disturbed."""

from __future__ import annotations

import warnings

import pytest
from tests.sampling.small_runs import fit


@pytest.fixture(scope="module")
def whole():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()
