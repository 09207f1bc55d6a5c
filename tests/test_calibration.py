"""Simulation-based calibration: run by `make calibrate`.

Draw parameters and data from prior and model, sample the posterior, and rank the truth
among the draws: the ranks are uniform if and only if the posterior is right (Talts,
Betancourt, Simpson, Vehtari and Gelman 2018). The quantities are class probabilities at
two covariate values and the log-likelihood, which mean the same in every order.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from pasb.binary import Logistic
from pasb.binary.base import Keys
from pasb.rows import Rows, blocked
from pasb.sticks import log_probabilities, simulate_categories
from pasb.sweep import Problem, Sweeper

N_CATEGORIES, N_ROWS = 3, 40
N_DRAWS, EVERY, WARMUP = 99, 6, 120
N_REPLICATES, N_BINS = 600, 20

X = np.column_stack([np.ones(N_ROWS), np.linspace(-1.7, 1.7, N_ROWS)])
PLACES = blocked(np.array([[1.0, -1.0], [1.0, 0.6]]))


def probabilities(model, coef, order, where, n):
    success, failure = model.log_probabilities({"coef": coef[None]}, where)
    return np.exp(log_probabilities(success[0, :, :n], failure[0, :, :n], order))


def quantities(model, coef, order, y):
    at_places = probabilities(model, coef, order, PLACES, 2)
    own = probabilities(model, coef, order, blocked(X), N_ROWS)[y, np.arange(N_ROWS)]
    return np.append(at_places.ravel(), np.log(own).sum())


def ranks_of_one_replicate(model, fixed, seed, replicate):
    rng = np.random.default_rng([seed, replicate])
    order = np.array([2, 0, 1]) if fixed else rng.permutation(N_CATEGORIES)
    coef = np.array([model.simulate(2, rng)["coef"] for _ in range(N_CATEGORIES)])
    success, failure = model.log_probabilities({"coef": coef[None]}, blocked(X))
    y = simulate_categories(success[0, :, :N_ROWS], failure[0, :, :N_ROWS], order, rng=rng)
    truth = quantities(model, coef, order, y)
    problem = Problem(Rows.of(X, y, N_CATEGORIES), model, fixed_order=order if fixed else None)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(seed, replicate, 0))
    below = np.zeros(len(truth))
    for sweep in range(1, WARMUP + N_DRAWS * EVERY + 1):
        sweeper.sweep(state, Keys(seed, replicate, sweep))
        if sweep > WARMUP and (sweep - WARMUP) % EVERY == 0:
            below += quantities(model, state.parameters["coef"], state.order, y) < truth
    return below


@pytest.mark.slow
@pytest.mark.statistical(level=1e-6)
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "inferred"])
@pytest.mark.parametrize("moves", ["mixed", "gibbs"])
def test_ranks_are_uniform(moves, fixed, seed, level):
    model = Logistic(moves=moves, shape=3.0, rate=3.0)
    ranks = np.array([ranks_of_one_replicate(model, fixed, seed, k) for k in range(N_REPLICATES)])
    expected = N_REPLICATES / N_BINS
    for column in ranks.T:
        counts = np.bincount((column * N_BINS // (N_DRAWS + 1)).astype(int), minlength=N_BINS)
        statistic = np.sum((counts - expected) ** 2 / expected)
        assert statistic < chi2.isf(level / ranks.shape[1], N_BINS - 1), counts
