"""Stretches leave the posterior of a stick as it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import ks_2samp

from pasb.binary import Logistic
from pasb.binary.bent_normal import pack
from pasb.binary.binary_model import Keys
from pasb.binary.linear_kernels import LinearSpace
from pasb.binary.stretch import stretch, stretch_along
from pasb.numerics.rows import Rows
from pasb.sticks import FAILURE, SUCCESS

ROLES = np.array([SUCCESS, FAILURE], dtype=np.int8)


@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("along", [False, True])
def test_posterior_draws_stay_posterior_draws(along, seed, level):
    """Draws from a grid, stretched a few times, against other draws from it."""
    x = np.array([-1.0, -0.2, 0.1, 0.4, 0.8, 1.5])
    y = np.array([1, 1, 0, 1, 0, 0])
    rows = Rows.of(np.column_stack([np.ones(6), x]), y, 2)
    own = Logistic(rate=2.0).sampler(rows)
    u = np.linspace(-3.2, 3.2, 401)
    grid = np.stack(np.meshgrid(np.sinh(u), np.sinh(u), indexing="ij"), axis=-1).reshape(-1, 2)
    eta = (grid[:, :1] + grid[:, 1:] * x) * np.where(y == 0, 1, -1)
    log_density = log_expit(eta).sum(axis=1) + np.log(np.cosh(np.arcsinh(grid))).sum(axis=1)
    log_density -= 2.5 * np.log(2.0 + 0.5 * grid**2).sum(axis=1)
    weight = np.exp(log_density - log_density.max())
    rng = np.random.default_rng(seed)
    n = 6000
    chosen = rng.choice(len(grid), 2 * n, p=weight / weight.sum())
    place = np.arcsinh(grid[chosen]) + rng.uniform(-0.008, 0.008, size=(2 * n, 2))
    draws, others = np.split(np.sinh(place), 2)
    space = LinearSpace.of(rows)
    gaussian = pack(np.zeros(2), np.ones(2), np.array([[1.0, 0.0], [-0.6, 0.8]]), 0.0, 0.0)
    moved = 0
    for i, coef in enumerate(draws):
        key = Keys(seed, 0, i).at(0)
        if along:
            padded = space.proposed[0]
            how = (own.regression, gaussian, padded, space.pair, ROLES, np.int64(6), key)
            moved += stretch_along(*how, coef)
        else:
            padded = np.zeros(rows.blocks.shape[1])
            moved += stretch(own.regression, padded, space.pair[0], ROLES, np.int64(6), key, coef)
    assert moved > n
    for f in (lambda b: b[:, 0], lambda b: b[:, 1], lambda b: b[:, 0] - b[:, 1]):
        assert ks_2samp(f(draws), f(others)).pvalue > level / 3
