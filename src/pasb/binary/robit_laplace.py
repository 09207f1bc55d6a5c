"""Normal approximations of a robit stick, and proposals from them.

As for logistic regression (`pasb.binary.laplace`), with one difference: far on the wrong
side the log-likelihood of a t law is not concave, so a row's curvature is kept from falling
below a part of its expectation. The approximation is a proposal; whatever it misses, the
Metropolis-Hastings ratio puts right.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pasb.binary.laplace import Laplace, _factorise, _solve, pack
from pasb.binary.prior import CoefficientPrior
from pasb.binary.robit_kernels import newton_terms
from pasb.binary.t_law import t_law
from pasb.rows import BLOCK, Rows, linear_predictors, weighted_gram

# Takes linear predictors, fills curvatures and residuals, gives the log-likelihood.
Terms = Callable[[NDArray, NDArray, NDArray], float]


def laplace_robit(
    rows: Rows,
    labels: NDArray[np.float64],
    weights: NDArray[np.float64],
    prior: CoefficientPrior,
    df: float,
    start: NDArray[np.float64] | None = None,
) -> Laplace:
    """Mode and curvature of the posterior of a robit regression.

    Parameters
    ----------
    rows : Rows
    labels, weights : array of shape (rows of the blocks,)
        Labels in {0, 1}; a weight of zero leaves a row out.
    prior : CoefficientPrior
    df : float
        Degrees of freedom.
    start : array of shape (n_columns,), optional
        Where Newton's method starts.
    """
    law = t_law(df)

    def terms(eta, curvature, residual):
        return newton_terms(eta, labels, weights, *law, curvature, residual)

    used = np.asarray(weights.reshape(-1, BLOCK).any(axis=1))
    return laplace_by_newton(rows, used, prior, terms, start)


def laplace_by_newton(
    rows: Rows,
    used: NDArray[np.bool_],
    prior: CoefficientPrior,
    terms: Terms,
    start: NDArray[np.float64] | None,
    tolerance: float = 1e-7,
) -> Laplace:
    """Climb to a mode of the posterior, by steps that the likelihood's `terms` suggest.

    `used` says which blocks have a row that counts. It ends when half the squared Newton
    decrement is below `tolerance`.
    """
    blocks, n = rows.blocks, rows.n_columns
    n_blocks, n_padded, _ = blocks.shape
    gram, linear = np.zeros((n_padded, n_padded)), np.zeros(n_padded)
    scratch = np.zeros((n_padded, BLOCK))
    eta = np.zeros((1, n_blocks * BLOCK))
    curvature, residual = np.zeros_like(eta[0]), np.zeros_like(eta[0])
    padded_beta = np.zeros((1, n_padded))
    beta = padded_beta[0, :n]
    if start is not None:
        beta[:] = start
    scale, factor = np.zeros(n), np.zeros((n, n))

    def objective() -> float:
        linear_predictors(blocks, padded_beta, eta)
        return terms(eta[0], curvature, residual) + prior.log_density(beta)

    value = objective()
    for _ in range(200):
        weighted_gram(blocks, curvature, residual, used, scratch, gram, linear)
        alpha = prior.precision_at(beta)
        gradient = linear[:n] - alpha * beta
        _factorise(gram[:n, :n], alpha, scale, factor)
        step = _solve(factor, scale, gradient)
        if not float(gradient @ step) > 2 * tolerance:
            break
        here, length = beta.copy(), 1.0
        beta[:] = here + step
        proposed = objective()
        while not proposed >= value and length > 1e-6:
            length *= 0.5
            beta[:] = here + length * step
            proposed = objective()
        if not proposed >= value:
            beta[:] = here  # the factor is that of this point
            break
        value = proposed
    log_determinant = float(2 * np.sum(np.log(np.diag(factor)) - np.log(scale)))
    evidence = value + 0.5 * n * math.log(2 * math.pi) - 0.5 * log_determinant
    return Laplace(pack(beta, scale, factor, log_determinant, evidence), evidence)
