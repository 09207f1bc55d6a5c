"""The posterior over orders by quadrature, and how far chains are from it.

With intercepts only and a normal prior, standard by default, the evidence of a stick is a
one-dimensional integral, so the posterior over all orders follows by quadrature.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary import Logistic
from pasb.binary.binary_model import Keys
from pasb.numerics.rows import Rows
from pasb.orders import enumerate_orders
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper


def exact_order_posterior(counts, location=0.0, scale=1.0, direction="forward"):
    """Posterior over orders: intercepts only, normal prior, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    weights = weights / weights.sum()
    nodes = (location + scale * nodes) * (1 if direction == "forward" else -1)
    log_p, log_q = -np.logaddexp(0, -nodes), -np.logaddexp(0, nodes)

    def evidence(successes, failures):
        return np.sum(weights * np.exp(successes * log_p + failures * log_q))

    orders = enumerate_orders(len(counts))
    joint = np.array(
        [
            math.prod(evidence(counts[o[j]], counts[o[j + 1 :]].sum()) for j in range(len(o) - 1))
            for o in orders
        ]
    )
    return orders, joint / joint.sum()


def visited_orders(
    counts,
    seed,
    n_sweeps,
    n_chains=4,
    n_swaps=20,
    sweeper=Sweeper,
    model=None,
    **construction,
):
    """Frequencies of the orders in each of several chains, warm-up left out."""
    counts = np.asarray(counts)
    y = np.repeat(np.arange(len(counts)), counts)
    rows = Rows.of(np.ones((len(y), 1)), y, len(counts))
    model = Logistic(precision=1.0) if model is None else model
    problem = Problem(rows, model, n_swaps=n_swaps, **construction)
    orders = enumerate_orders(len(counts))
    index = {tuple(order): k for k, order in enumerate(orders)}
    frequencies = np.zeros((n_chains, 20, len(orders)))
    for chain in range(n_chains):
        own = sweeper(problem)
        state = own.start(Keys(seed, chain, 0))
        for sweep in range(1, n_sweeps + 1):
            own.sweep(state, Keys(seed, chain, sweep))
            if sweep > 200:
                batch = (sweep - 201) * 20 // (n_sweeps - 200)
                frequencies[chain, batch, index[tuple(state.order)]] += 1
    return orders, frequencies / ((n_sweeps - 200) / 20)


def deviations(frequencies, expected):
    """Deviation of each order's frequency from the truth, in standard errors by batches."""
    batches = frequencies.reshape(-1, frequencies.shape[-1])
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    return (batches.mean(axis=0) - expected) / error
