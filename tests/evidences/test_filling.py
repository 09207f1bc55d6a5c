"""A lattice filled with evidences alone has the evidences of the store."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.evidences.filling import evidence_lattice
from pasb.numerics.rows import Rows
from pasb.orders import Lattice
from pasb.sampling.problem import Problem


def clusters(seed, n_classes=4, n_each=20):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_each)
    X = rng.normal(size=(n_classes, 3))[y] * 1.5 + rng.normal(size=(len(y), 3))
    return X, y


def problem_of(seed, n_classes=5):
    X, y = clusters(seed, n_classes)
    return Problem(Rows.of(np.column_stack([np.ones(len(y)), X]), y, n_classes), Logistic())


def test_starts_from_neighbours_give_the_same_evidences(seed):
    store = problem_of(seed).approximations()
    filled = evidence_lattice(store).sticks
    expected = Lattice.of(5, store.log_evidence).sticks
    known = np.isfinite(expected)
    assert (np.isfinite(filled) == known).all()
    assert filled[known] == pytest.approx(expected[known], abs=0.01)
