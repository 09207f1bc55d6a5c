"""Sums over rows that are elsewhere: those of kernels in memory, and independent of company."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary.asked_laplace import climbed
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.laplace import laplace
from pasb.binary.row_requests import (
    NEWTON,
    SLOPE,
    VALUE,
    Request,
    added,
    answered,
    stacked,
    unstacked,
)
from pasb.binary.slopes import slopes
from pasb.binary.t_link import LOGISTIC_LINK, t_link
from pasb.numerics.asking import answered_by, together
from pasb.numerics.rows import BLOCK, Rows
from pasb.sticks import ABSENT, FAILURE, SUCCESS

LINKS = {"logistic": LOGISTIC_LINK, "robit": t_link(6.0), "probit": t_link(np.inf)}
FLAT = (False, 1e-300, 1.0)  # a prior that adds nothing


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(900), rng.normal(size=(900, 4))])
    y = rng.choice(4, 900, p=[0.5, 0.3, 0.19, 0.01])
    return Rows.of(X, y, 4, rng.choice([0.5, 1.0, 2.0], 900))


ROLES = np.array([FAILURE, ABSENT, SUCCESS, FAILURE], dtype=np.int8)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_answers_are_those_of_rows_in_memory(rows, link):
    coef = np.random.default_rng(2).normal(size=(3, 5)) * 0.5
    requests = [Request(kind, ROLES, coef) for kind in (VALUE, SLOPE, NEWTON)]
    value, slope, newton = unstacked(requests, answered(rows, link, stacked(requests)))
    regression = ((rows.blocks, rows.weights, rows.bounds), FLAT, link)
    for k in range(3):
        padded, gradient, sums = np.zeros(8), np.zeros(8), np.zeros(4)
        padded[:5] = coef[k]
        slopes(regression, ROLES, padded, np.zeros(BLOCK), np.zeros(BLOCK), gradient, sums)
        np.testing.assert_allclose(value.sums[k], sums, rtol=1e-12)
        np.testing.assert_allclose(slope.slope[k], gradient[:5], rtol=1e-9)
        np.testing.assert_allclose(newton.slope[k], gradient[:5], rtol=1e-9)
        np.testing.assert_allclose(newton.sums[k], sums, rtol=1e-12)
    assert (value.sums[:, 1] == 0).all()


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_the_bits_do_not_depend_on_company(rows, link):
    coef = np.random.default_rng(3).normal(size=(5, 5))
    everyone = np.array([FAILURE, FAILURE, SUCCESS, FAILURE], dtype=np.int8)
    plain = Request(VALUE, ROLES, coef)
    many = [plain, Request(SLOPE, everyone, coef), plain]
    first, slope, again = unstacked(many, answered(rows, link, stacked(many)))
    assert np.array_equal(first.sums, again.sums)
    present = ROLES != ABSENT
    # where a chain is after a trajectory, and what it finds again when it is resumed
    assert np.array_equal(first.sums[:, present], slope.sums[:, present])
    for k in range(5):
        alone = [Request(VALUE, ROLES, coef[k : k + 1])]
        assert np.array_equal(answered(rows, link, stacked(alone))[0].sums[0], first.sums[k])
    locked = [one._replace(roles=one.roles.copy()) for one in stacked(many)]
    for one in locked:
        one.roles.flags.writeable = False
    assert np.array_equal(answered(rows, link, locked)[0].sums[:5], first.sums)


def test_newton_finds_the_mode_for_many_sticks_at_once(rows):
    prior = CoefficientPrior(True, 2.0, 8.0)
    link, n_passes = LOGISTIC_LINK, []

    def ask(requests):
        n_passes.append(len(requests))
        return unstacked(requests, answered(rows, link, stacked(requests)))

    others = ROLES.copy()
    others[1] = FAILURE
    both = [climbed(roles, prior, np.zeros(5)) for roles in (ROLES, others)]
    found = answered_by(ask, together(both))
    assert max(n_passes) == 2
    assert len(n_passes) < 12
    for one, roles in zip(found, (ROLES, others), strict=True):
        known = laplace(rows, roles, prior, link, tolerance=1e-10)
        np.testing.assert_allclose(one.mode, known.mode, atol=1e-3)
        assert one.log_evidence == pytest.approx(known.log_evidence, abs=1e-3)


def test_sums_of_parts_add_up(rows):
    requests = [Request(NEWTON, ROLES, np.ones((1, 5)) * 0.1)]
    (whole,) = answered(rows, LOGISTIC_LINK, stacked(requests))
    table = rows.blocks.transpose(0, 2, 1).reshape(-1, 8)[:900, :5]
    halves = []
    for part in (slice(0, None, 2), slice(1, None, 2)):
        own = Rows.of(table[part], rows.categories[part], 4, rows.weights[part])
        halves.append(answered(own, LOGISTIC_LINK, stacked(requests)))
    (total,) = added(*halves)
    for one, other in zip(whole, total, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
