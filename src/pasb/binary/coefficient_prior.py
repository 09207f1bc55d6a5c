"""The prior of regression coefficients, precisions integrated out.

With a precision of its own, alpha ~ Gamma(shape, rate), a coefficient has a t
distribution with 2 shape degrees of freedom and scale sqrt(rate / shape); with a fixed
precision it is normal, and shape / rate is that precision.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel


class CoefficientPrior(NamedTuple):
    """Independent coefficients: t distributed under `ard`, else normal."""

    ard: bool
    shape: float
    rate: float

    @classmethod
    def of(cls, precision: float | str, shape: float, rate: float) -> CoefficientPrior:
        """From a binary model's hyperparameters."""
        if precision == "ard":
            return cls(True, float(shape), float(rate))
        return cls(False, float(precision), 1.0)

    def log_density(self, coef: NDArray[np.float64]) -> float:
        """Log-density of a coefficient vector, constants included."""
        a, b = self.shape, self.rate
        if self.ard:
            constant = math.lgamma(a + 0.5) - math.lgamma(a) + a * math.log(b)
        else:
            constant = 0.5 * math.log(a / b)
        constant -= 0.5 * math.log(2 * math.pi)
        return coefficient_log_prior(coef, 1.0, *self) + len(coef) * constant

    def precision_at(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Precision of the normal distribution that touches the prior at `coef` from below.

        Minus this times `coef` is the gradient of the log-density.
        """
        if self.ard:
            return (self.shape + 0.5) / (self.rate + 0.5 * coef**2)
        return np.full(len(coef), self.shape / self.rate)

    def simulate(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw precisions."""
        if self.ard:
            return rng.gamma(self.shape, 1 / self.rate, n)
        return np.full(n, self.shape / self.rate)


@kernel
def coefficient_log_prior(coef, factor, ard, shape, rate):
    """Log-density of ``factor * coef``, without the constant."""
    total = 0.0
    for v in range(coef.shape[0]):
        square = 0.5 * (factor * coef[v]) ** 2
        if ard:
            total -= (shape + 0.5) * math.log(rate + square)
        else:
            total -= shape / rate * square
    return total
