"""Penalised maximum likelihood of a softplus regression.

All latent variables integrate out, so the log-likelihood is a smooth function of coefficients
and weights, with the gradient by the chain rule, layer by layer. Its maximum says how well a
category can be told from others by this model, which is what orders are compared by; the
maximum is a local one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pasb.binary.binary_model import PenalisedFits
from pasb.binary.softplus_kernels import mark_rows
from pasb.binary.softplus_link import LINEAR_BELOW, LOG_GREATEST, add_layer, log_rates
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, Rows, linear_predictors
from pasb.numerics.vector import vector_exp, vector_softplus
from pasb.sticks import ABSENT, SUCCESS

LOG_LEAST_RATE = -600.0
LOG_WEIGHTS = (-500.0, 50.0)  # what a fit may try
MOST_STEPS = 60
LEAST_PENALTY = 0.01  # precision


@elementwise
def slopes_of_layer(predictor, log_q, out):
    """d log q_t / d psi_t, from psi_t + log q_(t-1) and log q_t."""
    for i in range(predictor.size):
        x = predictor[i]
        # 1 - exp(-q_t) over q_t
        ratio = (1.0 - vector_exp(-vector_softplus(x))) * vector_exp(-log_q[i])
        out[i] = 1.0 if x < LINEAR_BELOW else ratio


@elementwise
def shares(log_q, log_weight, log_rate, slope, out):
    """Derivative by the log of an expert's r_k q_T: its share of the rate times `slope`."""
    for i in range(log_q.size):
        out[i] = slope[i] * vector_exp(log_weight + log_q[i] - log_rate[i])


@kernel
def likelihood_terms(log_rate, labels, slope):
    """Log-likelihood of one block; `slope` becomes its derivative by log lambda."""
    total = 0.0
    for i in range(BLOCK):
        slope[i] = 0.0
        if labels[i] == ABSENT:
            continue
        log_lambda = min(max(log_rate[i], LOG_LEAST_RATE), LOG_GREATEST)
        rate = math.exp(log_lambda)
        if labels[i] != SUCCESS:
            total -= rate
            slope[i] = -rate
        elif log_lambda < LINEAR_BELOW:
            total += log_rate[i]
            slope[i] = 1.0
        else:
            total += math.log(-math.expm1(-rate))
            slope[i] = rate / math.expm1(rate) if rate < 700.0 else 0.0
    return total


@kernel
def value_and_gradient(blocks, labels, used, coef, log_weight, psi, log_q, grad_coef, grad_weight):
    """Log-likelihood, and its gradient by coefficients and log-weights.

    `coef` and `grad_coef` are (experts x layers, padded columns); `psi` (experts, layers,
    BLOCK) and `log_q` (experts, layers + 1, BLOCK) are scratch.
    """
    n_experts, n_layers, _ = psi.shape
    flat = psi.reshape(n_experts * n_layers, BLOCK)
    grad_coef[:, :] = 0.0
    grad_weight[:] = 0.0
    log_rate, slope, work = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total = 0.0
    for b in range(blocks.shape[0]):
        if not used[b]:
            continue
        linear_predictors(blocks[b : b + 1], coef, flat)
        for k in range(n_experts):
            log_q[k, 0] = 0.0
            for t in range(n_layers):
                log_q[k, t + 1] = log_q[k, t]
                add_layer(psi[k, t], log_q[k, t + 1])
                psi[k, t] += log_q[k, t]
        log_rates(log_q[:, n_layers], log_weight, work, log_rate)
        total += likelihood_terms(log_rate, labels[b * BLOCK : (b + 1) * BLOCK], slope)
        for k in range(n_experts):
            down = log_q[k, 0]  # q_0 is not needed any more
            shares(log_q[k, n_layers], log_weight[k], log_rate, slope, down)
            grad_weight[k] += np.sum(down)
            for t in range(n_layers - 1, -1, -1):
                # not in place, which the compiler would not vectorise
                slopes_of_layer(psi[k, t], log_q[k, t + 1], work)
                down *= work
                psi[k, t] = down
        grad_coef += np.dot(flat, blocks[b].T)
    return total


class SoftplusFits(PenalisedFits):
    """Fits of one table: its work space, and the penalty.

    The penalty on coefficients is that of normal priors; the weights have their gamma prior
    with a mass and a rate of 1.

    Parameters
    ----------
    rows : Rows
    n_experts, n_layers : int
    precision : float
        Of the normal priors.
    most_steps : int, default=MOST_STEPS
    """

    def __init__(
        self,
        rows: Rows,
        n_experts: int,
        n_layers: int,
        precision: float,
        most_steps: int = MOST_STEPS,
    ):
        self.rows, self.precision, self.most_steps = rows, precision, most_steps
        self.shape = (n_experts, n_layers, rows.n_columns)
        n_blocks, n_padded, _ = rows.blocks.shape
        self.labels = np.zeros(n_blocks * BLOCK, dtype=np.int8)
        self.used = np.zeros(n_blocks, dtype=np.bool_)
        self.coef = np.zeros((n_experts * n_layers, n_padded))
        self.scratch = (
            np.zeros((n_experts, n_layers, BLOCK)),
            np.zeros((n_experts, n_layers + 1, BLOCK)),
        )
        self.gradients = np.zeros((n_experts * n_layers, n_padded)), np.zeros(n_experts)

    def random_start(self, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: D102
        n_experts, _, n_columns = self.shape
        coef = rng.standard_normal(math.prod(self.shape)) / math.sqrt(n_columns)
        return np.concatenate([coef, np.full(n_experts, -math.log(n_experts))])

    def fit(  # noqa: D102
        self, roles: NDArray[np.int8], start: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        mark_rows(self.rows.bounds, roles, self.labels, self.used)
        found = minimize(
            self._objective,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.most_steps},
        )
        return -float(found.fun), found.x

    def _objective(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        n_experts, _, n_columns = self.shape
        vectors = point[:-n_experts].reshape(-1, n_columns)
        log_weight = np.clip(point[-n_experts:], *LOG_WEIGHTS)
        self.coef[:, :n_columns] = vectors
        value = value_and_gradient(
            self.rows.blocks,
            self.labels,
            self.used,
            self.coef,
            log_weight,
            *self.scratch,
            *self.gradients,
        )
        grad_coef, grad_weight = self.gradients
        weight = np.exp(log_weight)
        value += np.sum(log_weight / n_experts - weight)
        value -= 0.5 * self.precision * np.sum(vectors**2)
        gradient = np.concatenate(
            [
                (grad_coef[:, :n_columns] - self.precision * vectors).ravel(),
                grad_weight + 1 / n_experts - weight,
            ]
        )
        return -value, -gradient
