"""Evidences by penalised fits: a lattice of them, and rows that are left out."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import Softplus
from pasb.evidences import penalised
from pasb.evidences.penalised import FittedEvidences
from pasb.numerics.rows import Rows
from pasb.sticks import Roles

MODEL = Softplus(n_experts=1, n_layers=2)
ROLES = Roles.of("forward", False)


def clusters(n_classes, n_each, seed=0):
    """Along a line, the first class far from the others."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_each)
    x = np.where(y == 0, -6.0, y) + 0.3 * rng.normal(size=len(y))
    return Rows.of(np.column_stack([np.ones(len(y)), x]), y, n_classes)


@pytest.fixture(scope="module")
def store():
    return FittedEvidences(MODEL, clusters(4, 15), ROLES)


def test_the_lattice_holds_the_evidence_of_every_stick(store):
    lattice = store.lattice()
    assert lattice is store.lattice()
    for category in range(4):
        for later in range(1, 16):
            if not later >> category & 1:
                assert lattice.sticks[category, later] == store.log_evidence(category, later)
    order = np.array([0, 3, 1, 2])
    sticks = [(0, 0b1110), (3, 0b0110), (1, 0b0100)]
    expected = sum(store.log_evidence(*stick) for stick in sticks)
    assert store.evidence_of_order(order) == pytest.approx(expected)


def test_evidences_do_not_depend_on_threads_or_on_who_asked_first(store):
    other = FittedEvidences(MODEL, clusters(4, 15), ROLES, n_jobs=3)
    assert other.log_evidence(2, 0b0010) == store.lattice().sticks[2, 0b0010]
    assert (other.lattice().sticks == store.lattice().sticks).all()


def test_the_clearest_category_comes_first(store):
    """No randomness but that of fixed starts: the first class is apart by many spreads."""
    assert store.first_order()[0] == 0
    assert (store.first_order() == store.by_separation()).all()


def test_too_many_categories_have_no_lattice(monkeypatch):
    monkeypatch.setattr(penalised, "LATTICE_LIMIT", 3)
    assert FittedEvidences(MODEL, clusters(4, 3), ROLES).lattice() is None


def test_evidences_of_some_rows_are_scaled_up(monkeypatch):
    monkeypatch.setattr(penalised, "MOST_ROWS", 80)
    rows = clusters(4, 60)
    store = FittedEvidences(MODEL, rows, ROLES)
    assert store.counts.tolist() == [20, 20, 20, 20]
    assert store.factor == 3.0
    alone = FittedEvidences(MODEL, rows.at_most(80), ROLES)
    assert store.log_evidence(1, 0b1100) == pytest.approx(3 * alone.log_evidence(1, 0b1100))
