"""Choices that are made along the sticks, and a model of them."""

from __future__ import annotations

import pytest
from tests.choice.simulated_choices import fitted, simulated


@pytest.fixture(scope="package")
def data():
    return simulated(700, 5)


@pytest.fixture(scope="package")
def model(data):
    return fitted(data)
