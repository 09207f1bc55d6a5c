"""Laplace approximation of a binary logistic regression with a normal prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pasb.gaussian import equilibrated_cholesky
from pasb.rows import BLOCK, Rows, elementwise, linear_predictors, weighted_gram
from pasb.vector import vector_exp, vector_softplus


class Laplace(NamedTuple):
    """A normal approximation of a posterior, and the evidence that goes with it."""

    mode: NDArray[np.float64]
    precision: NDArray[np.float64]
    log_determinant: float  # of the precision
    log_evidence: float

    def log_density(self, at: NDArray[np.float64]) -> float:
        """Log of the normal density, without the constant that depends on the size only."""
        away = at - self.mode
        return 0.5 * self.log_determinant - 0.5 * float(away @ self.precision @ away)


@elementwise
def _newton_terms(eta, labels, weights, curvature, residual):
    """Curvatures and residuals of every row; returns the log-likelihood."""
    total = 0.0
    for i in range(eta.size):
        p = 1.0 / (1.0 + vector_exp(-eta[i]))
        curvature[i] = weights[i] * p * (1.0 - p)
        residual[i] = weights[i] * (labels[i] - p)
    for i in range(eta.size):
        total += weights[i] * (labels[i] * eta[i] - vector_softplus(eta[i]))
    return total


def laplace_logistic(
    rows: Rows,
    labels: NDArray[np.float64],
    weights: NDArray[np.float64],
    alpha: NDArray[np.float64],
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-8,
) -> Laplace:
    """Mode and curvature of a logistic regression with prior N(0, diag(alpha)^-1).

    Parameters
    ----------
    rows : Rows
    labels, weights : array of shape (rows of the blocks,)
        Labels in {0, 1}; a weight of zero leaves a row out.
    alpha : array of shape (n_columns,)
    start : array of shape (n_columns,), optional
        Where Newton's method starts.
    tolerance : float
        Stop when half the squared Newton decrement is below this.

    Returns
    -------
    Laplace
    """
    blocks, n_columns = rows.blocks, rows.n_columns
    n_blocks, n_padded, _ = blocks.shape
    used = weights.reshape(n_blocks, BLOCK).any(axis=1)
    gram = np.zeros((n_padded, n_padded))
    linear = np.zeros(n_padded)
    scratch = np.zeros((n_padded, BLOCK))
    eta = np.zeros((1, n_blocks * BLOCK))
    curvature, residual = np.zeros_like(eta[0]), np.zeros_like(eta[0])
    beta = np.zeros((1, n_padded))
    if start is not None:
        beta[0, :n_columns] = start
    scale, factor = np.zeros(n_columns), np.zeros((n_columns, n_columns))

    def objective() -> float:
        linear_predictors(blocks, beta, eta)
        fit = _newton_terms(eta[0], labels, weights, curvature, residual)
        return fit - 0.5 * float(alpha @ beta[0, :n_columns] ** 2)

    value = objective()
    for _ in range(100):
        weighted_gram(blocks, curvature, residual, used, scratch, gram, linear)
        precision = gram[:n_columns, :n_columns] + np.diag(alpha)
        gradient = linear[:n_columns] - alpha * beta[0, :n_columns]
        if not equilibrated_cholesky(precision, scale, factor):
            break
        step = _solve(factor, scale, gradient)
        decrement = float(gradient @ step)
        if decrement < 2 * tolerance:
            break
        here, length = beta[0, :n_columns].copy(), 1.0
        while True:
            beta[0, :n_columns] = here + length * step
            proposed = objective()
            if proposed >= value or length < 1e-6:
                break
            length *= 0.5
        value = proposed
    precision = np.tril(gram[:n_columns, :n_columns]) + np.diag(alpha)
    precision += np.tril(precision, -1).T
    log_determinant = float(2 * np.sum(np.log(np.diag(factor)) - np.log(scale)))
    evidence = value + 0.5 * float(np.sum(np.log(alpha))) - 0.5 * log_determinant
    return Laplace(beta[0, :n_columns].copy(), precision, log_determinant, evidence)


def _solve(factor, scale, right):
    """Solve the equilibrated system whose lower Cholesky factor is given."""
    inner = solve_triangular(factor, right * scale, lower=True, check_finite=False)
    return scale * solve_triangular(factor, inner, lower=True, trans=1, check_finite=False)
