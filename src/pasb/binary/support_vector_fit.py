"""How well a category can be told from others by a kernel: a stand-in for a kernel machine.

A logistic regression on some of the columns has the same boundaries to choose from, one
maximum, and an evidence by Laplace's approximation. Orders are compared by it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import PenalisedFits
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.laplace import laplace_logistic
from pasb.numerics.rows import Rows, blocked, unblocked

MOST_COLUMNS = 100
PRIOR = CoefficientPrior.of("ard", 2.0, 8.0)


class KernelFits(PenalisedFits):
    """Logistic regressions on at most `MOST_COLUMNS` of the columns, evenly spaced."""

    def __init__(self, rows: Rows):
        n = min(rows.n_columns, MOST_COLUMNS)
        columns = np.unique(np.linspace(0, rows.n_columns - 1, n).astype(np.int64))
        table = unblocked(rows.blocks, rows.n_rows, rows.n_columns)[:, columns]
        self.rows = Rows(blocked(table), None, rows.bounds, len(columns), rows.groups)

    def random_start(self, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: D102
        return np.zeros(self.rows.n_columns)

    def fit(  # noqa: D102
        self, roles: NDArray[np.int8], start: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        found = laplace_logistic(self.rows, roles, PRIOR, start)
        return found.log_evidence, found.mode
