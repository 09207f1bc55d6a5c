"""Hyperplanes of several draws: where they come from, and who sees them."""

from __future__ import annotations

import numpy as np

from pasb.covariates.hyperplanes import Hyperplanes
from pasb.covariates.scaling import Scaling

N_CATEGORIES, N_EXPERTS, N_LAYERS, N_COLUMNS = 3, 2, 2, 5
DIRECTIONS = ("forward", "forward", "reverse", "reverse")
CHAINS = (0, 1, 0, 1)


def hyperplanes():
    rng = np.random.default_rng(0)
    orders = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
    coef = rng.normal(size=(4, N_CATEGORIES, N_EXPERTS, N_LAYERS, N_COLUMNS))
    active = np.ones((4, N_CATEGORIES, N_EXPERTS))
    active[1, 1, 0] = 0
    scaling = Scaling(np.arange(4.0), np.arange(1.0, 5.0))
    return coef, Hyperplanes.of(scaling, DIRECTIONS, orders, coef, active, CHAINS)


def test_those_of_active_experts_on_sticks_with_their_chain():
    coef, planes = hyperplanes()
    assert len(planes.vectors) == 4 * 2 * N_EXPERTS * N_LAYERS - N_LAYERS
    for vector, (direction, category, expert, layer, chain) in zip(
        planes.vectors, planes.tags, strict=True
    ):
        draw = 2 * direction + chain
        np.testing.assert_array_equal(vector, coef[draw, category, expert, layer])
    assert ((planes.tags[:, :3] == [0, 1, 0]).all(axis=1) & (planes.tags[:, 4] == 1)).sum() == 0
    planes.check(N_COLUMNS - 1, N_CATEGORIES)


def test_names_tell_chains_apart():
    _, planes = hyperplanes()
    names = planes.names(np.array(["ash", "oak", "yew"]))
    assert len(set(names)) == len(planes.vectors)
    assert names[0] == "softplus forward ash expert 1 layer 1 chain 1"
    first = planes.only(planes.tags[:, 4] == 0, np.ones(N_COLUMNS, dtype=bool))
    assert first.names(np.array(["ash", "oak", "yew"]))[0] == names[0].removesuffix(" chain 1")


def test_every_column_behind_the_covariates_has_one_chain():
    _, planes = hyperplanes()
    seen = np.array([planes.seen_by(chain, 3) for chain in (0, 1)])
    assert seen[:, :4].all()
    assert (seen[:, 4:].sum(axis=0) == 1).all()
    assert seen.sum(axis=1).tolist() == [4 + 16, 4 + 14]


def test_columns_that_are_zero_can_be_left_out():
    _, planes = hyperplanes()
    columns = np.array([True, True, False, True, False])
    planes.vectors[:, ~columns] = 0
    own = planes.tags[:, 4] == 1
    some = planes.only(own, columns)
    some.check(2, N_CATEGORIES)
    X = np.random.default_rng(1).normal(size=(7, 4))
    whole = planes.behind(X, X)[:, 4:][:, own]
    narrow = X[:, columns[1:]]
    np.testing.assert_allclose(some.behind(narrow, narrow)[:, 2:], whole, rtol=1e-12)
