"""The prior of regression coefficients, precisions integrated out.

With a precision of its own, alpha ~ Gamma(shape, rate), a coefficient has a t
distribution with 2 shape degrees of freedom and scale sqrt(rate / shape); with a fixed
precision it is normal, and shape / rate is that precision.

Compiled code takes a prior as a plain tuple: ``(ard, shape, rate)`` where all coefficients have the
same one, as here, and ``(kind, shape, rate, location)``, arrays with an entry a column, where each
has its own (`pasb.binary.column_priors`). Numba compiles functions of it for either, so the first
costs nothing that it would not cost alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel

# kinds of columns; a horseshoe's is a t distribution given its rate, which changes
NORMAL, STUDENT, HORSESHOE = np.int8(0), np.int8(1), np.int8(2)

# mypy: disable-error-code="call-arg"


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
        return coefficient_log_prior(coef, 1.0, tuple(self)) + len(coef) * constant

    def precision_at(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Precision of the normal distribution that touches the prior at `coef` from below.

        Minus this times `coef` is the gradient of the log-density.
        """
        if self.ard:
            return (self.shape + 0.5) / (self.rate + 0.5 * coef**2)
        return np.full(len(coef), self.shape / self.rate)

    def pull(
        self, coef: NDArray[np.float64], precision: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Minus the gradient of the log-density, from what `precision_at` found there."""
        return precision * coef

    @property
    def symmetric(self) -> bool:
        """Whether the density does not know a sign."""
        return True

    @property
    def location(self) -> float:
        """The centre of a coefficient."""
        return 0.0

    @property
    def scale(self) -> float:
        """The scale of a coefficient."""
        return math.sqrt(self.rate / self.shape)

    def some(self, columns: NDArray[np.int64]) -> CoefficientPrior:
        """The prior of some of the columns."""
        return self

    def start(self, n: int) -> NDArray[np.float64]:
        """Precisions to start from."""
        return np.full(n, self.shape / self.rate)

    def simulate(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw precisions."""
        if self.ard:
            return rng.gamma(self.shape, 1 / self.rate, n)
        return np.full(n, self.shape / self.rate)


@kernel
def coefficient_log_prior(coef, factor, prior):
    """Log-density of ``factor * coef``, without the constant."""
    total = 0.0
    if len(prior) == 3:
        ard, shape, rate = prior
        for v in range(coef.shape[0]):
            square = 0.5 * (factor * coef[v]) ** 2
            if ard:
                total -= (shape + 0.5) * math.log(rate + square)
            else:
                total -= shape / rate * square
    else:
        kind, shapes, rates, location = prior
        for v in range(coef.shape[0]):
            square = 0.5 * (factor * coef[v] - location[v]) ** 2
            if kind[v] == NORMAL:
                total -= shapes[v] / rates[v] * square
            else:
                total -= (shapes[v] + 0.5) * math.log(rates[v] + square)
    return total


@kernel
def subtract_pull(coef, prior, slope):
    """Add the gradient of the log-density to `slope`; both may be padded."""
    if len(prior) == 3:
        ard, shape, rate = prior
        for v in range(coef.shape[0]):
            precision = (shape + 0.5) / (rate + 0.5 * coef[v] * coef[v]) if ard else shape / rate
            slope[v] -= precision * coef[v]
    else:
        kind, shapes, rates, location = prior
        for v in range(kind.shape[0]):
            away = coef[v] - location[v]
            if kind[v] == NORMAL:
                slope[v] -= shapes[v] / rates[v] * away
            else:
                slope[v] -= (shapes[v] + 0.5) / (rates[v] + 0.5 * away * away) * away


@kernel
def knows_no_sign(prior):
    """Whether the density is symmetric around zero."""
    if len(prior) == 4:
        for location in prior[3]:
            if location != 0.0:
                return False
    return True
