"""The evidence of a stick by importance sampling around its normal approximation.

The normal approximation misses the skew of the likelihood, by about 0.3 P^2 / N for P columns and N
rows. Draws from a multivariate t distribution around the mode, weighted by posterior over
proposal, do not: their average is unbiased whatever the approximation. The same random numbers
serve all sticks, in pairs that mirror each other, so that comparisons of sticks are less noisy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from pasb.binary.bent_normal import unpacked
from pasb.binary.laplace import Laplace
from pasb.binary.linear import LinearModel
from pasb.numerics.rows import Rows, unblocked
from pasb.sticks import ABSENT, SUCCESS

DEGREES = 6.0  # of freedom of the proposal
SMALL_ERROR = 0.02  # of a log-evidence, for which no draws are made
ERROR_RATE = 0.3  # the error of a normal approximation is about this times P^2 / N
ROWS_AT_ONCE = 2048


class ImportanceSampler:
    """Evidences of the sticks of one table.

    Parameters
    ----------
    model : LinearModel
    rows : Rows
    n_draws : int
        Weights that are averaged, an even number.
    """

    def __init__(self, model: LinearModel, rows: Rows, n_draws: int):
        self.model, self.n_draws = model, n_draws
        self.table = unblocked(rows.blocks, rows.n_rows, rows.n_columns)
        self.groups, self.weights = rows.group_of_rows, rows.weights
        rng, n = np.random.default_rng(0), rows.n_columns
        half = rng.standard_normal((n_draws // 2, n))
        stretch = np.sqrt(DEGREES / rng.chisquare(DEGREES, (n_draws // 2, 1)))
        self.steps = np.concatenate([half * stretch, -half * stretch])
        square = (self.steps**2).sum(axis=1)
        self.log_density = (  # of the steps
            gammaln((DEGREES + n) / 2)
            - gammaln(DEGREES / 2)
            - n / 2 * math.log(DEGREES * math.pi)
            - (DEGREES + n) / 2 * np.log1p(square / DEGREES)
        )

    def is_needed(self, roles: NDArray[np.int8]) -> bool:
        """Whether the normal approximation of a stick errs by more than a little."""
        n_rows = int((roles[self.groups] != ABSENT).sum())
        return ERROR_RATE * self.table.shape[1] ** 2 > SMALL_ERROR * n_rows

    def log_evidence(self, found: Laplace, roles: NDArray[np.int8]) -> tuple[float, float]:
        """The log-evidence of a stick, and its standard error."""
        mode, scale, factor, log_determinant, _ = unpacked(found.packed)
        moved = solve_triangular(factor, self.steps.T, lower=True, trans="T").T
        coef = mode + scale * moved
        logs = self._log_likelihood(coef, roles)
        logs += np.array([self.model.prior.log_density(own) for own in coef])
        logs -= self.log_density + 0.5 * log_determinant
        half = self.n_draws // 2
        pairs = np.logaddexp(logs[:half], logs[half:]) - math.log(2)
        value = float(logsumexp(pairs) - math.log(half))
        spread = float(np.exp(pairs - value).std(ddof=1))
        return value, spread / math.sqrt(half)

    def _log_likelihood(
        self, coef: NDArray[np.float64], roles: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        used = np.flatnonzero(roles[self.groups] != ABSENT)
        total = np.zeros(len(coef))
        for start in range(0, len(used), ROWS_AT_ONCE):
            rows = used[start : start + ROWS_AT_ONCE]
            eta = coef @ self.table[rows].T
            failure = np.empty_like(eta)
            self.model.link(eta, failure)
            success = roles[self.groups[rows]] == SUCCESS
            total += np.where(success, eta, failure) @ self.weights[rows]
        return total
