"""Scouts: better approximations where the mode misleads, good ones stay good."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_expit

from pasb.binary import Logistic
from pasb.binary.bent_normal import unpacked
from pasb.binary.scout import mirrored
from pasb.numerics.rows import Rows
from pasb.sticks import FAILURE, SUCCESS

ROLES = np.array([SUCCESS, FAILURE], dtype=np.int8)


def separated(n=40):
    x = np.linspace(-1, 1, n)
    table = np.column_stack([np.ones(n), x])
    return Rows.of(table, (x < 0).astype(int), 2)


def test_a_scout_finds_the_evidence_where_the_mode_misleads():
    """One column without the constant: the evidence by quadrature."""
    x = np.linspace(0.1, 1, 30)
    rows = Rows.of(x[:, None] * np.repeat([1, -1], 15)[:, None], np.repeat([0, 1], 15), 2)
    own = Logistic(rate=8.0).sampler(rows)
    first = own.approximate(ROLES, None)
    found = own.explore(ROLES, first.packed)

    def posterior(b):
        return np.exp(log_expit(x * b).sum() + own.prior.log_density(np.array([b])))

    exact = np.log(quad(posterior, -20, 5000, points=[0, 10, 100], limit=1000, epsabs=0)[0])
    assert found.packed[-1] == pytest.approx(exact, abs=0.5)


def test_a_scout_depends_on_nothing_but_the_stick():
    own = Logistic().sampler(separated())
    first = own.approximate(ROLES, None).packed
    kept = first.copy()
    one, other = own.explore(ROLES, first), own.explore(ROLES, first)
    assert (one.packed == other.packed).all()
    assert one[1:] == other[1:]
    assert (first == kept).all()


def test_a_good_approximation_stays_good(seed):
    rng = np.random.default_rng(seed)
    table = np.column_stack([np.ones(4000), rng.normal(size=(4000, 2))])
    own = Logistic(precision=1.0).sampler(Rows.of(table, rng.integers(2, size=4000), 2))
    first = own.approximate(ROLES, None)
    found = own.explore(ROLES, first.packed)
    assert found.n_leaps == 0
    assert found.n_steps <= 3
    assert found.packed[-1] == pytest.approx(first.log_evidence, abs=0.1)


def test_mirror_images():
    own = Logistic().sampler(separated())
    found = own.explore(ROLES, own.approximate(ROLES, None).packed)
    image = mirrored(found)
    assert (unpacked(image.packed)[0] == -unpacked(found.packed)[0]).all()
    assert (image.packed[2:] == found.packed[2:]).all()
    assert image[1:] == found[1:]
