"""Bounds of precisions, which nearly improper priors need, and how many reach them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinarySampler, Parameters
from pasb.numerics.compiled import kernel

LEAST_PRECISION, GREATEST_PRECISION = 1e-100, 1e100


class PrecisionSampler(BinarySampler):
    """A sampler whose coefficients have precisions of their own, within bounds."""

    precision_bounds: ClassVar[tuple[float, float]] = (LEAST_PRECISION, GREATEST_PRECISION)

    def watch(self, parameters: Parameters, categories: NDArray[np.int64]) -> None:
        """Count the precisions of the sticks that a sweep left at a bound."""
        n = n_at_bounds(parameters["precision"], categories, *self.precision_bounds)
        self.count("bounded_precisions", n)


@kernel
def within_bounds(precision):
    """The precision, but neither zero nor infinite."""
    return min(max(precision, LEAST_PRECISION), GREATEST_PRECISION)


@kernel
def n_at_bounds(precision, categories, least, greatest):
    """How many precisions of some categories are at one of their bounds."""
    n = 0
    for c in categories:
        for x in precision[c].flat:
            if x <= least or x >= greatest:
                n += 1
    return n
