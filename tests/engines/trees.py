"""A small table, in memory and in files, and fits of it that are compared."""

from __future__ import annotations

import numpy as np
import pytest

from pasb import StickLogisticClassifier

N = 700
SMALL = 96  # rows of a part, so that there are several


def trees():
    """Three covariates, and the names of trees."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 3))
    y = np.argmax(X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(N, 3)), axis=1)
    return X, np.array(["ash", "birch", "cedar"])[y]


def model(engine="blocks", kind=StickLogisticClassifier, **settings):
    usual = {"n_chains": 2, "n_warmup": 5, "n_draws": 40, "random_state": 3, "progress": False}
    return kind(engine=engine, **(usual | settings))


def same(one, other):
    return (
        np.array_equal(one.draws_.order, other.draws_.order)
        and np.array_equal(one.draws_.parameters["coef"], other.draws_.parameters["coef"])
        and np.array_equal(one.draws_.log_likelihood, other.draws_.log_likelihood)
    )


def fit_in_blocks():
    """The same draws that a cluster shall make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pasb.engines.workshop.ROWS_OF_A_PART", SMALL)
        return model().fit(*trees())
