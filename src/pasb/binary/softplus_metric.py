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

Arguments as in `pasb.binary.softplus_kernels`; `powers` (BLOCK) are the weights of the rows of a
block, and `by_row` (5, BLOCK) is work space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from pasb.binary.softplus_gradient import layers_of_block
from pasb.binary.softplus_link import LINEAR_BELOW
from pasb.binary.stick_rows import mark_block
from pasb.numerics.compiled import kernel

MOST_DENSE = 1000  # coefficients and log-weights
AT_ONCE = 64  # rows, whose slopes by all coefficients are held in memory
RIDGE = 1e-9  # of a curvature whose diagonal is one
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
def slopes_of_block(block, coef, log_weight, powers, psi, slopes, top, by_row):
    """Derivatives of log lambda times the root of its information, for the rows of one block.

    `slopes` (experts x layers, width) become those by the predictors, `top` (experts, width) those
    by the log-weights; arguments as for `layers_of_block`.
    """
    n_experts, n_layers = top.shape[0], psi.shape[0] // top.shape[0]
    layers_of_block(block, coef, log_weight, psi, slopes, top, by_row)
    log_rate, root = by_row[0], by_row[1]
    for i in range(root.size):
        root[i] = 0.0
        if powers[i] > 0.0 and log_rate[i] < 6.5:  # beyond, exp(-lambda) is zero
            rate = np.exp(log_rate[i])
            small = log_rate[i] < LINEAR_BELOW
            root[i] = np.sqrt(powers[i] * (rate if small else rate * (rate / np.expm1(rate))))
    for k in range(n_experts):
        top[k] *= root
        for t in range(k * n_layers, (k + 1) * n_layers):
            slopes[t] *= top[k]


def metric_of(rows, prior, positions: NDArray[np.float64], work) -> Metric:
    """The metric from the curvature at some positions; arguments as for `log_posterior`."""
    ard, _, rate_prior, _ = prior
    coef, _, space, n_columns, _, _ = work
    n_vectors, n_experts = len(coef), len(space[2])
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
            diagonal += prior_curvature(prior, position, n_experts, n_vectors, n_columns)
        covered = diagonal[: shape[0] * shape[1]].reshape(shape)
        for matrix, own in zip(curvature, covered, strict=True):
            matrix[np.diag_indices(shape[1])] += own
            matrix[:] = factor_of_inverse(matrix, len(positions))
        factors = curvature
        rest = 1 / np.sqrt(diagonal[shape[0] * shape[1] :] / len(positions))
    if not (ard and rate_prior[0] > 0):
        stay = n_coef + n_experts - shape[0] * shape[1]
        rest[stay : stay + n_vectors] = 0.0  # rates that are fixed
    return Metric(factors, rest)


def factor_of_inverse(matrix: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """F with F F' the inverse of a curvature that was added up over `n` positions; changes it.

    Covariates may differ by many orders of magnitude, so the diagonal is made one, and a little is
    added to it: a metric need not be precise, but must be positive definite.
    """
    scale = np.sqrt(np.diag(matrix))
    matrix /= scale
    matrix /= scale[:, None]
    matrix[np.diag_indices(len(matrix))] += RIDGE
    root, _ = dtrtri(np.linalg.cholesky(matrix), lower=1)
    return root.T * (np.sqrt(n) / scale)[:, None]


def _add_information(rows, position, work, curvature, of_weights) -> None:
    """Add that of all rows of a stick."""
    coef, _, (psi, slopes, top, by_row), n_columns, _, _ = work
    (n_vectors, _), n_experts, width = coef.shape, len(top), rows.blocks.shape[2]
    n_coef = n_vectors * n_columns
    coef[:, :n_columns] = position[:n_coef].reshape(n_vectors, n_columns)
    log_weight = position[n_coef : n_coef + n_experts].copy()
    dense = curvature.shape[1] > n_columns
    for b, block in enumerate(rows.blocks):
        if not mark_block(rows, b, by_row[3], by_row[4]):
            continue
        slopes_of_block(block, coef, log_weight, by_row[4], psi, slopes, top, by_row)
        for first in range(0, width, AT_ONCE):
            few = slice(first, first + AT_ONCE)
            by_coef = slopes[:, None, few] * block[:n_columns, few]
            if dense:
                every = np.concatenate([by_coef.reshape(n_coef, -1), top[:, few]])
                curvature[0] += every @ every.T
            else:
                curvature += by_coef @ by_coef.transpose(0, 2, 1)
                of_weights += np.sum(top[:, few] ** 2, axis=1)


def prior_curvature(prior, position, n_experts, n_vectors, n_columns) -> NDArray[np.float64]:
    """Of every coordinate by itself."""
    ard, shape, _, hypers = prior
    n_coef = n_vectors * n_columns
    out = np.zeros(len(position))
    coef = position[:n_coef].reshape(n_vectors, n_columns)
    rate = np.exp(position[n_coef + n_experts : n_coef + n_experts + n_vectors])
    mass, inverse_scale = np.exp(position[-2:])
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
    out[n_coef : n_coef + n_experts] = inverse_scale * weight + LEAST_CURVATURE
    out[-2] = 1.0
    out[-1] = mass + hypers[3] * inverse_scale + LEAST_CURVATURE
    return out
