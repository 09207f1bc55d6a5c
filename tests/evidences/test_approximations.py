"""The store of normal approximations: independent of who asks, bounded in size."""

from __future__ import annotations

import numpy as np

from pasb.binary import Logistic
from pasb.evidences.filling import evidence_lattice
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem


def test_approximations_do_not_depend_on_who_asked_first(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    rows = Rows.of(X, rng.integers(4, size=80), 4)
    problem = Problem(rows, Logistic())
    one, other = problem.approximations(), problem.approximations()
    one.lattice()
    other.known(None)
    for category, later in [(0, 0b1000), (2, 0b1011), (3, 0b0100)]:
        stick = ((category, later),)
        assert (one.gaussians(stick) == other.gaussians(stick)).all()


def test_store_stays_within_its_capacity(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 1))])
    store = Problem(Rows.of(X, rng.integers(6, size=40), 6), Logistic()).approximations()
    store.capacity = 10
    assert store.lattice() is None
    for later in range(1, 32):
        store.gaussians(((5, later),))
    assert len(store._stacked) <= 10


def clusters(seed, n_classes=4, n_each=20):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_each)
    X = rng.normal(size=(n_classes, 3))[y] * 1.5 + rng.normal(size=(len(y), 3))
    return X, y


def problem_of(seed, n_classes=5):
    X, y = clusters(seed, n_classes)
    return Problem(Rows.of(np.column_stack([np.ones(len(y)), X]), y, n_classes), Logistic())


def test_nothing_depends_on_the_number_of_threads(seed):
    problem = problem_of(seed)
    one, many = problem.approximations(1), problem.approximations(3)
    assert (evidence_lattice(one).sticks == evidence_lattice(many).sticks).all()
    assert (one.lattice().sticks == many.lattice().sticks).all()
    for left, right in zip(one.known(None)[1:], many.known(None)[1:], strict=True):
        assert (left == right).all()
    searched = [problem.approximations(n).searched_order(seed) for n in (1, 3)]
    assert (searched[0] == searched[1]).all()
