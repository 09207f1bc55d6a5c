"""Category probabilities from draws of a softplus model, on a GPU.

One matrix product for the predictors of many draws, one kernel for their probabilities; memory is
bounded whatever the number of rows and draws. The same numbers as on the CPU, to rounding. Where
not everything is available to every row, the CPU predicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.engines.cuda_rows import of_size
from pasb.engines.device import THREADS, array_module, to_host, view
from pasb.numerics.lazy_rows import Table
from pasb.posterior.predict import Available, Intervals, Predictor

ROWS_AT_ONCE = 2**14
NUMBERS_AT_ONCE = 2**26  # predictors, 512 MiB


class DevicePredictor(Predictor):
    """A `Predictor` that works on a GPU."""

    def mean(self, X: Table, n_jobs: int = 1, available: Available = None) -> NDArray[np.float64]:
        """Posterior-mean probabilities, (rows, categories)."""
        if available is not None:
            return super().mean(X, n_jobs, available)
        out = np.empty((len(X), self.orders.shape[1]))
        for rows, parts in self._parts(X):
            total: Any = 0.0
            for _, part in parts:
                total = total + part.sum(axis=0)
            out[rows] = to_host(total / total.sum(axis=0)).T
        return out

    def samples(
        self, X: Table, n_jobs: int = 1, available: Available = None
    ) -> NDArray[np.float64]:
        """Probabilities under every draw, (draws, rows, categories)."""
        if available is not None:
            return super().samples(X, n_jobs, available)
        out = np.empty((len(self.orders), len(X), self.orders.shape[1]))
        for rows, parts in self._parts(X):
            for draws, part in parts:
                out[draws, rows] = to_host(part).transpose(0, 2, 1)
        return out

    def intervals(
        self,
        X: Table,
        tails: tuple[float, float],
        n_jobs: int = 1,
        available: Available = None,
    ) -> Intervals:
        """Means as `mean` has them, and lower and upper quantiles, each (rows, categories)."""
        if available is not None:
            return super().intervals(X, tails, n_jobs, available)
        xp = array_module()
        mean, lower, upper = np.empty((3, len(X), self.orders.shape[1]))
        # all draws of some rows are on the device at the same time
        n_rows = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // self.orders.size))
        for rows, parts in self._parts(X, n_rows):
            every = xp.concatenate([part for _, part in parts])
            total = every.sum(axis=0)
            mean[rows] = to_host(total / total.sum(axis=0)).T
            ends = to_host(xp.quantile(every, xp.asarray(tails), axis=0))
            lower[rows], upper[rows] = ends[0].T, ends[1].T
        return mean, lower, upper

    def _parts(self, X: Table, n_rows: int = ROWS_AT_ONCE) -> Iterator[tuple[slice, Iterator]]:
        for first in range(0, len(X), n_rows):
            rows = slice(first, min(first + n_rows, len(X)))
            yield rows, self._of_rows(X[rows])

    def _of_rows(self, X: NDArray[np.float64]) -> Iterator[tuple[slice, Any]]:
        """Probabilities (draws, categories, rows) of some draws after the others."""
        xp = array_module()
        table = xp.asarray(np.ascontiguousarray(X.T))
        coef, weight = self.parameters["coef"], self.parameters["weight"]
        n_draws, n_categories, n_experts, n_layers, n_columns = coef.shape
        kernel = of_size(n_experts, n_layers).probabilities
        step = max(1, NUMBERS_AT_ONCE // (n_categories * n_experts * n_layers * len(X)))
        for start in range(0, n_draws, step):
            draws = slice(start, min(start + step, n_draws))
            own = xp.asarray(coef[draws])
            psi = (own.reshape(-1, n_columns) @ table).reshape(*own.shape[:-1], len(X))
            out = xp.empty((len(own), n_categories, len(X)))
            arrays = (psi, weight[draws], self.orders[draws], self.reverse[draws], out)
            grid = (-(-len(X) // THREADS), len(own))
            kernel[grid, THREADS](*[view(xp.asarray(array)) for array in arrays])
            yield draws, out
