"""The posterior over orders where rows have different choices, by quadrature over all sticks.

Intercepts only and a standard normal prior, as in `calibration.exact_orders`. Nothing is used of
how sticks fall apart: for every order, and every node of a grid over all sticks, each row walks
along the categories that it has.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import expit

from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.numerics.rows import Rows, blocked
from pasb.orders import enumerate_orders
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper

NODES = 30

# (category, what was available, how often): mixed patterns; rows with one category, which inform
# nothing; patterns that occur once. In those "apart", categories 0 and 2 of three, and 0 and 1 as
# well as 2 and 3 of four, are never available together: sticks may be left without any row.
CASES = {
    "three": [
        (0, (1, 1, 0), 5),
        (1, (1, 1, 0), 1),
        (1, (0, 1, 1), 2),
        (2, (0, 1, 1), 4),
        (2, (1, 1, 1), 1),
        (0, (1, 0, 0), 3),
    ],
    "four": [
        (0, (1, 1, 1, 1), 3),
        (1, (1, 1, 0, 0), 2),
        (2, (1, 0, 1, 1), 4),
        (3, (0, 0, 1, 1), 1),
        (3, (1, 1, 1, 1), 2),
        (0, (1, 0, 0, 1), 2),
        (1, (0, 1, 1, 0), 1),
        (2, (0, 0, 1, 0), 2),
    ],
    "three, apart": [
        (0, (1, 1, 0), 5),
        (1, (1, 1, 0), 1),
        (1, (0, 1, 1), 2),
        (2, (0, 1, 1), 4),
        (0, (1, 0, 0), 1),
    ],
    "four, apart": [
        (0, (1, 0, 1, 0), 4),
        (2, (1, 0, 1, 0), 1),
        (3, (1, 0, 0, 1), 3),
        (0, (1, 0, 0, 1), 1),
        (1, (0, 1, 1, 0), 2),
        (2, (0, 1, 1, 0), 3),
        (1, (0, 1, 0, 1), 3),
        (3, (0, 1, 0, 1), 1),
    ],
}


def probability(category, available, order, accept):
    """Of a category, for stopping probabilities (category, ...) of the sticks."""
    left = np.ones(accept.shape[1:])
    has = [c for c in order if available[c]]
    for c in has[:-1]:
        if c == category:
            return left * accept[c]
        left = left * (1 - accept[c])
    return left if category == has[-1] else 0 * left


def exact_posterior(case, stops=expit):
    """Orders, their probabilities, and the mean probabilities with everything available.

    `stops` is the probability of stopping at a stick, from its intercept.
    """
    n = len(case[0][1])
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    grid = np.array(list(itertools.product(stops(nodes), repeat=n - 1))).T
    mass = np.array([np.prod(w) for w in itertools.product(weights, repeat=n - 1)])
    orders = enumerate_orders(n)
    evidence, means = np.empty(len(orders)), np.empty((len(orders), n))
    for k, order in enumerate(orders):
        accept = np.zeros((n, len(mass)))
        accept[order[:-1]] = grid
        likelihood = mass.copy()
        for category, available, times in case:
            likelihood *= probability(category, available, order, accept) ** times
        evidence[k] = likelihood.sum()
        everything = np.ones(n)
        for c in range(n):
            means[k, c] = likelihood @ probability(c, everything, order, accept) / evidence[k]
    evidence /= evidence.sum()
    return orders, evidence, evidence @ means


def problem_of(case, model=None, **construction):
    """The same as the sampler gets it."""
    y = np.repeat([category for category, _, _ in case], [times for *_, times in case])
    available = np.repeat([own for _, own, _ in case], [times for *_, times in case], axis=0) == 1
    rows = Rows.of(np.ones((len(y), 1)), y, available.shape[1], available=available)
    return Problem(rows, model or Logistic(precision=1.0), n_swaps=20, **construction)


def visited(
    problem, seed, n_sweeps, n_warmup=200, n_chains=4, n_batches=20, sweeper=None, stops=expit
):
    """Frequencies of orders, and mean probabilities with all available, (batches, ...)."""
    n = problem.rows.n_categories
    index = {tuple(order): k for k, order in enumerate(enumerate_orders(n))}
    frequencies = np.zeros((n_chains, n_batches, len(index)))
    means = np.zeros((n_chains, n_batches, n))
    everything = np.ones(n)
    size = (n_sweeps - n_warmup) // n_batches
    for chain in range(n_chains):
        own = Sweeper(problem, n_warmup=n_warmup) if sweeper is None else sweeper(problem)
        state = own.start(Keys(seed, chain, 0))
        for sweep in range(1, n_warmup + size * n_batches + 1):
            own.sweep(state, Keys(seed, chain, sweep))
            if sweep > n_warmup:
                place = chain, (sweep - n_warmup - 1) // size
                frequencies[(*place, index[tuple(state.order)])] += 1 / size
                accept = stops(state.parameters["coef"][:, 0])
                if problem.direction == "reverse":
                    accept = 1 - accept
                for c in range(n):
                    p = probability(c, everything, state.order, accept)
                    means[(*place, c)] += float(p) / size
    return frequencies.reshape(-1, len(index)), means.reshape(-1, n)


def stick_by_stick(model, X, available):
    """Probabilities under each draw, (draws, rows, classes): one row, one draw, one stick a time.

    `available` is (rows, classes); a row walks along the sticks of the classes that it has.
    """
    fitted = model.fitted_
    predictor, inner = fitted.predictor(), fitted.inner_rows(X)[:]
    logs = fitted.binary.log_probabilities(predictor.parameters, blocked(inner))
    success, failure = (np.exp(each)[:, :, : len(inner)] for each in logs)
    out = np.zeros((len(predictor.orders), len(inner), len(fitted.classes)))
    for d, order in enumerate(predictor.orders):
        stop, go_on = (failure, success) if predictor.reverse[d] else (success, failure)
        for i, own in enumerate(np.asarray(available, dtype=bool)):
            left, has = 1.0, [c for c in order if own[c]]
            for c in has[:-1]:
                out[d, i, c] = left * stop[d, c, i]
                left *= go_on[d, c, i]
            out[d, i, has[-1]] = left
    return out
