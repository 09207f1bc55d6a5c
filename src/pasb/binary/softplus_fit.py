"""Penalised maximum likelihood of a softplus regression.

All latent variables integrate out, so the log-likelihood is a smooth function of coefficients
and weights (`pasb.binary.softplus_gradient`). Its maximum says how well a
category can be told from others by this model, which is what orders are compared by; the
maximum is a local one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pasb.binary.binary_model import PenalisedFits
from pasb.binary.softplus_gradient import gradient_space, value_and_gradient
from pasb.binary.stick_rows import StickRows, stick_rows
from pasb.numerics.rows import Rows

LOG_WEIGHTS = (-500.0, 50.0)  # what a fit may try
MOST_STEPS = 60
LEAST_PENALTY = 0.01  # precision


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
        n_padded = rows.blocks.shape[1]
        self.coef = np.zeros((n_experts * n_layers, n_padded))
        self.gradients = np.zeros((n_experts * n_layers, n_padded)), np.zeros(n_experts)

    def random_start(self, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: D102
        n_experts, _, n_columns = self.shape
        coef = rng.standard_normal(math.prod(self.shape)) / math.sqrt(n_columns)
        return np.concatenate([coef, np.full(n_experts, -math.log(n_experts))])

    def fit(  # noqa: D102
        self, roles: NDArray[np.int8], start: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        own = stick_rows(self.rows, roles)
        work = gradient_space(*self.shape[:2], own.blocks.shape[2])
        found = minimize(
            self._objective,
            start,
            args=(own, work),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.most_steps},
        )
        return -float(found.fun), found.x

    def _objective(
        self, point: NDArray[np.float64], own: StickRows, work: tuple
    ) -> tuple[float, NDArray[np.float64]]:
        n_experts, _, n_columns = self.shape
        vectors = point[:-n_experts].reshape(-1, n_columns)
        log_weight = np.clip(point[-n_experts:], *LOG_WEIGHTS)
        self.coef[:, :n_columns] = vectors
        value = value_and_gradient(own, self.coef, log_weight, work, *self.gradients)
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
