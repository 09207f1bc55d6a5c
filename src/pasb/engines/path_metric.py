"""Metrics of trajectories on a GPU: those of `pasb.binary.softplus_metric`, by matrix products.

A metric is made seldom: at the ends of windows of the warm-up, and when the rows of a stick change.
So they are made one by one, which also makes them independent of what else there is in a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.softplus_metric import FIRST_SCALE, RIDGE, prior_curvature
from pasb.engines.device import THREADS, inverse_of_lower, to_host, view
from pasb.engines.path_sizes import PathSizes
from pasb.engines.softplus_arrays import SoftplusArrays
from pasb.numerics.adaptation import MOST_POSITIONS


class PathMetrics:
    """The metrics of all pairs, as arrays ``factors`` and ``rest`` on the device.

    Parameters
    ----------
    batch : SoftplusArrays
        Whose arrays they are kept with.
    sizes : PathSizes
    information : kernel
        `pasb.engines.cuda_gradient.of_size(...).row_information`.
    """

    def __init__(self, batch: SoftplusArrays, sizes: PathSizes, information: Any):
        self.batch, self.sizes, self.information = batch, sizes, information
        xp, (n_blocks, m) = batch.xp, sizes.factors
        rest = sizes.n - n_blocks * m
        batch.put("path_factors", xp.zeros((sizes.n_pairs, n_blocks, m, m)))
        batch.put("path_rest", xp.zeros((sizes.n_pairs, rest)))
        psi = (MOST_POSITIONS * sizes.n_vectors, sizes.n_rows)
        batch.put("metric_psi", xp.zeros(psi))
        batch.put("metric_weights", xp.zeros((MOST_POSITIONS, sizes.n_experts, sizes.n_rows)))
        # what the metric of every pair was made from; it follows from the state
        self.made_from: list[Any] = [None] * sizes.n_pairs

    def forget(self) -> None:
        """Make all of them again."""
        self.made_from = [None] * self.sizes.n_pairs

    def renew(
        self, pair: int, made_from: Any, prior: tuple, positions: NDArray[np.float64], width: int
    ) -> None:
        """Make the metric of a pair from some positions.

        Parameters
        ----------
        pair : int
        made_from : object
            What it depends on, kept in the attribute of this name.
        prior : tuple
            See `pasb.binary.softplus_posterior.log_posterior`.
        positions : array
            As wide as the table.
        width : int
            Columns of the table.
        """
        factors, rest = self._metric(pair, prior, positions, width)
        arrays = self.batch.arrays
        arrays["path_factors"][pair] = factors
        arrays["path_rest"][pair] = self.batch.xp.asarray(rest)
        self.made_from[pair] = made_from

    def _metric(
        self, pair: int, prior: tuple, positions: NDArray[np.float64], width: int
    ) -> tuple[Any, NDArray[np.float64]]:
        xp, sizes = self.batch.xp, self.sizes
        n_blocks, m = sizes.factors
        covered, n_weights = n_blocks * m, sizes.n_coef + sizes.n_experts
        if len(positions) == 0:
            factors = xp.tile(FIRST_SCALE * xp.eye(m), (n_blocks, 1, 1))
            rest = np.full(sizes.n - covered, FIRST_SCALE)
        else:
            diagonal = np.ones(sizes.n)  # also that of columns that the table lacks
            numbers = (sizes.n_experts, sizes.n_vectors, width)
            own = sum(prior_curvature(prior, position, *numbers) for position in positions)
            diagonal[own_coordinates(sizes, width)] = own
            curvature, of_weights = self._information(pair, positions, width)
            diagonal[sizes.n_coef : n_weights] += of_weights
            on_diagonal = xp.asarray(diagonal[:covered].reshape(n_blocks, m))
            factors = xp.stack(
                [
                    self._factor(*own, len(positions))
                    for own in zip(curvature, on_diagonal, strict=True)
                ]
            )
            rest = 1 / np.sqrt(diagonal[covered:] / len(positions))
        ard, _, rate_prior, _ = prior
        if not (ard and rate_prior[0] > 0):
            stay = n_weights - covered
            rest[stay : stay + sizes.n_vectors] = 0.0  # rates that are fixed
        return factors, rest

    def _factor(self, matrix: Any, diagonal: Any, n: int) -> Any:
        """F with F F' the inverse of a curvature that was added up over `n` positions."""
        xp, on_diagonal = self.batch.xp, self.batch.xp.arange(len(matrix))
        matrix[on_diagonal, on_diagonal] += diagonal
        scale = xp.sqrt(xp.diagonal(matrix)).copy()
        matrix /= scale
        matrix /= scale[:, None]
        matrix[on_diagonal, on_diagonal] += RIDGE
        root = inverse_of_lower(xp, xp.linalg.cholesky(matrix))
        factor = root.T * (np.sqrt(n) / scale)[:, None]
        if not bool(xp.isfinite(factor).all()):
            raise np.linalg.LinAlgError("the metric of its trajectories is not positive definite")
        return factor

    def _information(
        self, pair: int, positions: NDArray[np.float64], width: int
    ) -> tuple[Any, NDArray[np.float64]]:
        """That of all rows of a stick: of what matrices cover, and of weights outside them."""
        batch, sizes, xp = self.batch, self.sizes, self.batch.xp
        arrays, n_positions = batch.arrays, len(positions)
        owner = pair // (sizes.n_pairs // sizes.n_tables)
        wide = np.zeros((n_positions, sizes.n))
        wide[:, own_coordinates(sizes, width)] = positions
        places, table = xp.asarray(wide), arrays["table"][owner]
        psi = arrays["metric_psi"][: n_positions * sizes.n_vectors]
        coef = places[:, : sizes.n_coef].reshape(-1, sizes.n_columns)
        xp.matmul(coef, table, out=psi)
        batch.launcher.launch(
            self.information,
            (sizes.row_blocks, n_positions),
            THREADS,
            *("metric_psi", view(places), pair, "path_roles", "category", owner),
            "metric_weights",
        )
        slopes = psi.reshape(n_positions, sizes.n_vectors, -1).transpose(1, 0, 2)
        by_weight = arrays["metric_weights"][:n_positions]
        n_blocks, m = sizes.factors
        curvature = xp.zeros((n_blocks, m, m))
        for p in range(0, n_positions, sizes.metric_positions):
            for r in range(0, sizes.n_rows, sizes.metric_rows):
                some, few = slice(p, p + sizes.metric_positions), slice(r, r + sizes.metric_rows)
                # by vector, column, position and row
                every = slopes[:, None, some, few] * table[:, None, few]
                if sizes.dense:
                    weights = by_weight[some, :, few].transpose(1, 0, 2)
                    flat = every.reshape(sizes.n_coef, -1), weights.reshape(sizes.n_experts, -1)
                    every = xp.concatenate(flat)
                every = every.reshape(n_blocks, m, -1)
                curvature += xp.matmul(every, every.transpose(0, 2, 1))
        if sizes.dense:
            return curvature, np.zeros(sizes.n_experts)
        return curvature, to_host((by_weight**2).sum(axis=(0, 2)))


def own_coordinates(sizes: PathSizes, width: int) -> NDArray[np.int64]:
    """Which coordinates of a position a table with so many columns has."""
    columns = np.arange(sizes.n_coef).reshape(sizes.n_vectors, -1)[:, :width]
    return np.concatenate([columns.ravel(), np.arange(sizes.n_coef, sizes.n)])
