"""A small fitted model for pictures."""

from __future__ import annotations

import warnings

import pytest

from pasb import StickLogisticClassifier, datasets


@pytest.fixture(scope="package")
def small_model():
    """A model of iris, with the rows it was fitted to as its attribute `rows`."""
    iris = datasets.load("iris")
    rows = iris.frame()[["sepal_length", "petal_length"]], iris.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = StickLogisticClassifier(
            n_chains=2, n_warmup=60, n_draws=60, random_state=1, progress=False
        ).fit(*rows)
    model.rows = rows
    return model
