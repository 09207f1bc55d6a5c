"""Sticks with covariates of alternatives: orders and coefficients against quadrature."""

from __future__ import annotations

import itertools
from itertools import product

import numpy as np
import pytest
from calibration import geweke
from calibration.exact_availability import probability
from calibration.exact_orders import deviations
from scipy.stats import norm

from pasb.binary.binary_model import Keys
from pasb.binary.choice_logistic import ChoiceLogistic
from pasb.numerics.rows import Rows
from pasb.orders import enumerate_orders
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

# location and scale of intercepts, and of the slopes of three categories
OWN = {
    True: ((0.4, 1.2), ((-0.9, 0.5),) * 3),
    False: ((0.4, 1.2), ((-0.9, 0.5), (0.6, 0.8), (0.0, 1.0))),
}
USUAL = (0.0, 1.0), ((0.0, 1.0),) * 4


def data(seed, generic, n=3, priors=None):
    """Eight rows with a covariate of alternatives, some without all of them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(8, n))
    y = np.arange(8) % n
    available = np.ones((8, n), dtype=bool)
    for row, further in ((0, 1), (3, 2), (5, 1)):
        available[row, (y[row] + further) % n] = False
    model = ChoiceLogistic(n_alternatives=n, generic=(generic,), precision=1.0, priors=priors)
    rows = Rows.of(np.column_stack([np.ones(8), z]), y, n, available=available)
    return z, y, available, Problem(rows, model, n_swaps=20)


# dimensions and nodes of the quadrature: intercepts, and one slope or one a stick
NODES = {(3, True): (3, 40), (3, False): (4, 20), (4, True): (4, 16), (4, False): (6, 7)}


def exact(z, y, available, generic, prior=USUAL):
    """Probabilities of orders, and the posterior mean of the last row's probabilities."""
    n = z.shape[1]
    n_dimensions, n_nodes = NODES[n, generic]
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    weights = weights / weights.sum()
    grid = np.array(list(itertools.product(nodes, repeat=n_dimensions))).T
    mass = np.prod(np.array(list(itertools.product(weights, repeat=n_dimensions))), axis=1)
    orders = enumerate_orders(n)
    evidence, means = np.empty(len(orders)), np.empty((len(orders), n))
    for k, order in enumerate(orders):
        intercept, slope = np.zeros((2, n, grid.shape[1]))
        (centre, scale), slopes = prior
        own = np.array(slopes)[order[:-1]]
        intercept[order[:-1]] = centre + scale * grid[: n - 1]
        slope[order[:-1]] = own[:, :1] + own[:, 1:] * grid[n - 1 :]
        likelihood = mass.copy()
        for i in range(len(y)):
            accept = 1 / (1 + np.exp(-intercept - slope * z[i][:, None]))
            likelihood *= probability(y[i], available[i], order, accept)
        evidence[k] = likelihood.sum()
        for c in range(n):
            means[k, c] = likelihood @ probability(c, np.ones(n), order, accept) / evidence[k]
    evidence /= evidence.sum()
    return orders, evidence, evidence @ means


QUICK = [(3, False, False), (3, True, True), (4, True, False), (4, False, True)]


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize(
    ("n", "generic", "swaps_only"),
    [
        pytest.param(
            *case,
            id=f"{case[0]}-{'generic' if case[1] else 'specific'}-{'swap' if case[2] else 'infer'}",
            marks=[] if case in QUICK else [pytest.mark.slow],
        )
        for case in product((3, 4), (True, False), (False, True))
    ],
)
def test_posterior_of_orders_and_coefficients(n, generic, swaps_only, seed, level):
    z, y, available, problem = data(seed, generic, n)
    if swaps_only:
        problem = Problem(problem.rows, problem.model, n_swaps=20, swaps_only=True)
    compare(problem, z, exact(z, y, available, generic), seed, level)


@pytest.mark.statistical(level=1e-7)
@pytest.mark.parametrize("generic", [True, False], ids=["generic", "specific"])
def test_posterior_under_priors_of_columns(generic, seed, level):
    prior = OWN[generic]
    plain = [("normal", *numbers) for numbers in (prior[0], *prior[1])]
    z, y, available, problem = data(seed, generic, priors=plain)
    found = exact(z, y, available, generic, prior)
    usual = exact(z, y, available, generic)
    assert np.abs(found[1] - usual[1]).max() > 0.02  # the priors matter
    compare(problem, z, found, seed, level)


def compare(problem, z, expected, seed, level):
    """Chains against what quadrature says of orders and of the last row's probabilities."""
    orders, probabilities, mean = expected
    n, swaps_only = z.shape[1], problem.swaps_only
    index = {tuple(order): k for k, order in enumerate(orders)}
    n_batches, size, n_warmup = 40, 60 if swaps_only else 30, 100
    frequencies = np.zeros((2, n_batches, len(orders)))
    means = np.zeros((2, n_batches, n))
    for chain in range(2):
        sweeper = Sweeper(problem, n_warmup=n_warmup)
        state = sweeper.start(Keys(seed, chain, 0))
        for sweep in range(1, n_warmup + size * n_batches + 1):
            sweeper.sweep(state, Keys(seed, chain, sweep))
            if sweep > n_warmup:
                place = chain, (sweep - n_warmup - 1) // size
                frequencies[(*place, index[tuple(state.order)])] += 1 / size
                coef = state.parameters["coef"]
                eta = coef[:, 0] + coef[np.arange(n), 1 + np.arange(n)] * z[-1]
                accept = 1 / (1 + np.exp(-eta))
                for c in range(n):
                    p = probability(c, np.ones(n), state.order, accept)
                    means[(*place, c)] += float(p) / size
    limit = 1.3 * norm.isf(level / 2 / (len(orders) + n))
    assert np.abs(deviations(frequencies, probabilities)).max() < limit
    assert np.abs(deviations(means, mean)).max() < limit


def test_what_a_category_does_not_see_is_zero(seed):
    _, _, _, problem = data(seed, generic=True)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(seed, 0, 0))
    for sweep in range(1, 20):
        sweeper.sweep(state, Keys(seed, 0, sweep))
        coef = state.parameters["coef"]
        own = coef[:, 1:][np.eye(3, dtype=bool)]
        assert (coef[:, 1:][~np.eye(3, dtype=bool)] == 0).all()
        assert (own == own[0]).all()


def test_simulated_parameters_have_the_same_shape(seed):
    model = ChoiceLogistic(n_alternatives=3, generic=(True, False))
    drawn = model.simulate_categories(2 + 6, 3, np.random.default_rng(seed))
    seen = np.zeros((3, 8), dtype=bool)
    for c in range(3):
        seen[c, model.columns(c, 8)] = True
    assert ((drawn["coef"] != 0) == seen).all()
    assert len(set(drawn["coef"][np.arange(3), 2 + np.arange(3)])) == 1
    assert len(set(drawn["coef"][np.arange(3), 5 + np.arange(3)])) == 3


@pytest.mark.statistical(level=1e-8)
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "sampled"])
@pytest.mark.parametrize("generic", [True, False], ids=["generic", "specific"])
def test_sweeps_leave_the_joint_distribution_as_it_is(generic, fixed, seed, level):
    own = [("t", 3.0, -1.0, 0.6), ("normal", 0.7, 0.8), ("t", 5.0, 0.5, 1.0)]
    priors = [("normal", 0.5, 1.2), *(own[:1] * 3 if generic else own)]
    model = ChoiceLogistic(n_alternatives=3, generic=(generic,), priors=priors)
    table = np.column_stack([np.ones(10), np.random.default_rng(3).normal(size=(10, 3))])
    assert geweke.deviation(model, 400 if fixed else 200, seed, fixed=fixed, table=table).p > level


@pytest.mark.parametrize(
    ("priors", "match"),
    [
        ([("horseshoe", 1.0)] * 4, "no horseshoe"),
        ([("normal", 0.0, 1.0)] * 3 + [("normal", 0.0, 2.0)], "one generic coefficient"),
    ],
)
def test_priors_that_are_not_possible(priors, match):
    with pytest.raises(ValueError, match=match):
        ChoiceLogistic(n_alternatives=3, generic=(True,), priors=priors).check()


def test_priors_that_do_not_fit_the_columns(seed):
    _, _, _, problem = data(seed, True, priors=[("normal", 0.0, 1.0)] * 7)
    with pytest.raises(ValueError, match="each of the 4 columns"):
        Sweeper(problem)
