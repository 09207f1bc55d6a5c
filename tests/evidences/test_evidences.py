"""Orders to start from: searched, peeled, and by separation."""

from __future__ import annotations

import numpy as np
import pytest

from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.errors import TimeBudgetError
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper


def test_many_categories_start_from_a_searched_order(seed):
    """Twelve clusters on a grid: inner ones can only be split off after the outer ones."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(12), 25)
    centres = np.array([[a, b] for a in range(4) for b in range(3)], dtype=float)
    X = centres[y] + rng.normal(scale=0.2, size=(len(y), 2))
    rows = Rows.of(np.column_stack([np.ones(len(y)), X - X.mean(axis=0)]), y, 12)
    problem = Problem(rows, Logistic())
    store = problem.approximations()
    assert store.lattice() is None
    order = store.searched_order(seed)
    reached = store.evidence_of_order(order)
    others = [rng.permutation(12) for _ in range(40)]
    assert reached >= store.evidence_of_order(store.by_separation())
    assert reached > max(map(store.evidence_of_order, others)) + 20
    assert order[0] not in (4, 7)  # the two in the middle
    starts = [Sweeper(problem, store).start(Keys(seed, k, 0)).order for k in range(2)]
    assert all((start == order).all() for start in starts)


def test_what_stands_in_the_way_is_peeled_off_first(seed):
    """Nine clusters in a ring, which no cut can tell from them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(10), [100] + 9 * [40])
    angle = rng.uniform(0, 2 * np.pi, 100)
    ring = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    centres = np.array([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)], dtype=float)
    inner = centres[y[100:] - 1] + rng.normal(scale=0.1, size=(360, 2))
    rows = Rows.of(np.column_stack([np.ones(460), np.concatenate([ring, inner])]), y, 10)
    store = Problem(rows, Logistic()).approximations()
    peeled = store.peeled()
    assert peeled[0] == 0
    assert sorted(peeled) == list(range(10))
    gain = store.evidence_of_order(peeled) - store.evidence_of_order(store.by_separation())
    assert gain > 300


def test_a_frequent_and_clear_category_comes_first(seed):
    """Rare categories have more to gain per row; that must not put them first."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(10), [200] + [6] * 9)
    X = np.where(y == 0, -3.0, 3.0) + rng.normal(size=len(y))
    rows = Rows.of(np.column_stack([np.ones(len(y)), X, rng.normal(size=len(y))]), y, 10)
    assert Problem(rows, Logistic()).approximations().by_separation()[0] == 0


@pytest.mark.parametrize("known", [False, True])
def test_a_search_ends_when_its_time_is_up_and_may_go_on(seed, known):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(9), 12)
    X = np.column_stack([np.ones(len(y)), rng.normal(size=(9, 2))[y] + rng.normal(size=(108, 2))])
    problem = Problem(Rows.of(X, y, 9), Logistic())
    store, looks = problem.approximations(), []
    # the first 60 looks are those of the order to start from; scouts come last
    store.time_is_up = lambda: looks.append(1) or len(looks) > (9000 if known else 60)
    if known:
        store.searched_order(0)
        looks.extend(9000 * [1])
    with pytest.raises(TimeBudgetError, match="while orders were searched"):
        store.known(None)
    store.time_is_up = lambda: False
    order = store.searched_order(0)
    assert (order == problem.approximations().searched_order(0)).all()


def test_a_search_fits_no_stick_twice(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(9), 12)
    rows = Rows.of(np.column_stack([np.ones(108), rng.normal(size=(108, 2))]), y, 9)
    store, fitted = Problem(rows, Logistic()).approximations(), []
    fit = store.sampler.approximate

    def counted(roles, start):
        fitted.append(roles.tobytes())
        return fit(roles, start)

    monkeypatch.setattr(store.sampler, "approximate", counted)
    sticks = store.plausible()
    store.gaussians(tuple(sticks.pairs))
    # one category against all others: from nothing, and once more from there
    assert len(fitted) <= len(set(fitted)) + 9
