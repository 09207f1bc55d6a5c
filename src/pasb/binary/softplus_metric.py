"""The metric of trajectories of a softplus stick: how sharply its posterior bends.

With J the derivatives of log lambda_i by coefficients and log-weights, the information of a row is
lambda^2 / (exp(lambda) - 1) times J J', and their sum plus the curvature of the prior is the
inverse of the covariance that a normal posterior would have there. It is positive definite at every
position, from a single one, which a covariance learned from draws is not. It is taken at a few
positions and averaged. Collinear covariates, experts that share their work and layers that undo
each other are all in it: on vowel and vehicle it gave two to five times the effective draws of a
diagonal metric for the same gradients (`benchmarks/softplus_trajectories.py`).

A matrix of all coefficients and log-weights up to `MOST_DENSE` of them, else one for each
coefficient vector. The other coordinates have a curvature each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pasb.binary.softplus_fit import shares, slopes_of_layer
from pasb.binary.softplus_link import LINEAR_BELOW, LOG_GREATEST, add_layer, log_rates
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, linear_predictors
from pasb.numerics.vector import vector_exp
from pasb.sticks import ABSENT

MOST_DENSE = 1000  # coefficients and log-weights
FIRST_SCALE = 0.3  # of every coordinate, before anything is known
LEAST_CURVATURE = 0.05  # of coordinates that are logs

# mypy: disable-error-code="call-arg"


class Metric(NamedTuple):
    """Position = factors times whitened coordinates: a block each, then one scale each.

    ``factors`` is (blocks, n, n) and covers the first coordinates, ``rest`` the others; a
    coordinate of scale zero does not move.
    """

    factors: NDArray[np.float64]
    rest: NDArray[np.float64]


@kernel
def slopes_of_block(block, labels, coef, log_weight, psi, log_q, slopes, fractions):
    """Derivatives of log lambda times the root of its information, for the rows of one block.

    `slopes` (experts x layers, BLOCK) are those by the predictors, `fractions` (experts, BLOCK)
    those by the log-weights. `psi` and `log_q` are scratch as for `value_and_gradient`.
    """
    n_experts, n_layers, _ = psi.shape
    flat = psi.reshape(n_experts * n_layers, BLOCK)
    log_rate, root, work = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    linear_predictors(block.reshape(1, block.shape[0], BLOCK), coef, flat)
    for k in range(n_experts):
        log_q[k, 0] = 0.0
        for t in range(n_layers):
            log_q[k, t + 1] = log_q[k, t]
            add_layer(psi[k, t], log_q[k, t + 1])
            psi[k, t] += log_q[k, t]
    log_rates(log_q[:, n_layers], log_weight, work, log_rate)
    for i in range(BLOCK):
        root[i] = 0.0
        if labels[i] != ABSENT and log_rate[i] < 6.5:  # beyond, exp(-lambda) is zero
            rate = vector_exp(min(log_rate[i], LOG_GREATEST))
            small = log_rate[i] < LINEAR_BELOW
            root[i] = np.sqrt(rate if small else rate * (rate / np.expm1(rate)))
    for k in range(n_experts):
        down = log_q[k, 0]
        shares(log_q[k, n_layers], log_weight[k], log_rate, root, down)
        fractions[k] = down
        for t in range(n_layers - 1, -1, -1):
            slopes_of_layer(psi[k, t], log_q[k, t + 1], work)
            down *= work
            slopes[k * n_layers + t] = down


def metric_of(rows, prior, positions: NDArray[np.float64], work) -> Metric:
    """The metric from the curvature at some positions; arguments as for `log_posterior`."""
    ard, _, rate_prior, _ = prior
    n_experts, n_layers, _ = work[2].shape
    n_vectors, n_columns = n_experts * n_layers, work[4]
    n_coef, n = n_vectors * n_columns, positions.shape[1]
    dense = n_coef + n_experts <= MOST_DENSE
    shape = (1, n_coef + n_experts) if dense else (n_vectors, n_columns)
    if len(positions) == 0:
        factors = np.tile(FIRST_SCALE * np.eye(shape[1]), (shape[0], 1, 1))
        rest = np.full(n - shape[0] * shape[1], FIRST_SCALE)
    else:
        curvature, diagonal = np.zeros((*shape, shape[1])), np.zeros(n)
        for position in positions:
            _add_information(rows, position, work, curvature, diagonal[n_coef : n_coef + n_experts])
            diagonal += _prior_curvature(prior, position, n_experts, n_layers, n_columns)
        covered = diagonal[: shape[0] * shape[1]].reshape(shape)
        factors = np.empty_like(curvature)
        for matrix, own, factor in zip(curvature, covered, factors, strict=True):
            matrix[np.diag_indices(shape[1])] += own
            lower = np.linalg.cholesky(matrix / len(positions))
            factor[:] = solve_triangular(lower, np.eye(shape[1]), lower=True).T
        rest = 1 / np.sqrt(diagonal[shape[0] * shape[1] :] / len(positions))
    if not (ard and rate_prior[0] > 0):
        stay = n_coef + n_experts - shape[0] * shape[1]
        rest[stay : stay + n_vectors] = 0.0  # rates that are fixed
    return Metric(factors, rest)


def _add_information(rows, position, work, curvature, of_weights) -> None:
    """Add that of all rows of a stick."""
    blocks, labels, used = rows
    coef, _, psi, log_q, n_columns = work
    n_experts, n_layers, _ = psi.shape
    n_vectors = n_experts * n_layers
    n_coef = n_vectors * n_columns
    coef[:, :n_columns] = position[:n_coef].reshape(n_vectors, n_columns)
    log_weight = position[n_coef : n_coef + n_experts].copy()
    slopes, fractions = np.zeros((n_vectors, BLOCK)), np.zeros((n_experts, BLOCK))
    for b in np.flatnonzero(used):
        own = labels[b * BLOCK : (b + 1) * BLOCK]
        slopes_of_block(blocks[b], own, coef, log_weight, psi, log_q, slopes, fractions)
        X = blocks[b, :n_columns]
        by_coef = slopes[:, None, :] * X
        if len(curvature) == 1 and curvature.shape[1] > n_coef:
            every = np.concatenate([by_coef.reshape(n_coef, BLOCK), fractions])
            curvature[0] += every @ every.T
        else:
            curvature += by_coef @ by_coef.transpose(0, 2, 1)
            of_weights += np.sum(fractions**2, axis=1)


def _prior_curvature(prior, position, n_experts, n_layers, n_columns) -> NDArray[np.float64]:
    """Of every coordinate by itself."""
    ard, shape, _, hypers = prior
    n_vectors = n_experts * n_layers
    n_coef = n_vectors * n_columns
    out = np.zeros(len(position))
    coef = position[:n_coef].reshape(n_vectors, n_columns)
    rate = np.exp(position[n_coef + n_experts : n_coef + n_experts + n_vectors])
    mass, scale = np.exp(position[-2:])
    if ard:
        square = 0.5 * coef**2
        inside = rate[:, None] + square
        out[:n_coef] = ((shape + 0.5) / inside).ravel()
        of_rates = np.sum((shape + 0.5) * rate[:, None] * square / inside**2, axis=1)
        out[n_coef + n_experts : -2] = of_rates + 1.0  # of a gamma prior, on average its shape
    else:
        out[:n_coef] = shape
        out[n_coef + n_experts : -2] = 1.0
    weight = np.exp(position[n_coef : n_coef + n_experts])
    out[n_coef : n_coef + n_experts] = scale * weight + LEAST_CURVATURE
    out[-2] = 1.0
    out[-1] = mass + hypers[3] * scale + LEAST_CURVATURE
    return out
