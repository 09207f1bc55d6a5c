"""The hyperplanes of a fitted softplus model, as further covariates (the paper's DT-MSR).

A fitted softplus model has found hyperplanes that matter. Their responses log(1 + exp(x'b)),
put behind the covariates, let a second model bend its boundaries where the first one did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.scaling import Scaling
from pasb.numerics.rows import BLOCK, blocked, linear_predictors, padded

DIRECTIONS = ("forward", "reverse")


class Hyperplanes(NamedTuple):
    """Hyperplanes of active experts.

    Attributes
    ----------
    scaling : Scaling
        Of the columns that the model was fitted to.
    vectors : array of shape (n_hyperplanes, 1 + n_columns)
        Coefficients on the inner scale, the constant first.
    tags : integer array of shape (n_hyperplanes, 5)
        Where each comes from: direction, category, expert, layer, chain.
    """

    scaling: Scaling
    vectors: NDArray[np.float64]
    tags: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        scaling: Scaling,
        directions: Sequence[str],
        orders: NDArray[np.int64],
        coef: NDArray[np.float64],
        active: NDArray[np.float64],
        chains: Sequence[int] | None = None,
    ) -> Hyperplanes:
        """Those of the active experts of some draws.

        Parameters
        ----------
        scaling : Scaling
        directions : sequence of {"forward", "reverse"}
            The direction of each draw.
        orders : array of shape (n_draws, n_categories)
        coef : array of shape (n_draws, n_categories, n_experts, n_layers, 1 + n_columns)
        active : array of shape (n_draws, n_categories, n_experts)
            Positive for the experts that are active.
        chains : sequence of int, optional
            The chain of each draw, counted within its direction; by default the first.
        """
        numbers = [0] * len(directions) if chains is None else chains
        vectors, tags = [], []
        for draw, (direction, chain) in enumerate(zip(directions, numbers, strict=True)):
            for category in orders[draw, :-1]:
                for expert in np.flatnonzero(active[draw, category] > 0):
                    for layer, vector in enumerate(coef[draw, category, expert]):
                        vectors.append(vector)
                        tags.append((DIRECTIONS.index(direction), category, expert, layer, chain))
        return cls(
            scaling,
            np.array(vectors, dtype=np.float64).reshape(-1, coef.shape[-1]),
            np.array(tags, dtype=np.int64).reshape(-1, 5),
        )

    def names(self, classes: NDArray) -> list[str]:
        """Names of the responses; with the chain where there are several."""
        several = bool((self.tags[:, 4] > 0).any())
        return [
            f"softplus {DIRECTIONS[d]} {classes[s]} expert {k + 1} layer {t + 1}"
            + (f" chain {c + 1}" if several else "")
            for d, s, k, t, c in self.tags
        ]

    def seen_by(self, chain: int, n_features: int) -> NDArray[np.bool_]:
        """Which columns of the next model belong to a chain.

        They are the constant, the covariates and the responses of this chain's hyperplanes.
        """
        shared = np.ones(1 + n_features, dtype=np.bool_)
        return np.concatenate([shared, self.tags[:, 4] == chain])

    def only(self, own: NDArray[np.bool_], columns: NDArray[np.bool_]) -> Hyperplanes:
        """Some of the hyperplanes, without columns (the constant first) in which they are zero."""
        scaling = Scaling(*(values[columns[1:]] for values in self.scaling))
        return Hyperplanes(scaling, self.vectors[np.ix_(own, columns)], self.tags[own])

    def behind(
        self, table: NDArray[np.float64], columns: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """`table`, and behind it the responses to the rows of `columns`.

        A row's result does not depend on the rows around it.
        """
        n_rows, n_features = table.shape
        out = np.empty((n_rows, n_features + len(self.vectors)))
        out[:, :n_features] = table
        for start in range(0, n_rows, BLOCK):
            rows = slice(start, min(start + BLOCK, n_rows))
            blocks = blocked(self.scaling.with_constant(columns[rows]))
            predictors = np.empty((len(self.vectors), BLOCK))
            linear_predictors(blocks, padded(self.vectors, blocks.shape[1]), predictors)
            out[rows, n_features:] = np.logaddexp(0.0, predictors[:, : rows.stop - start].T)
        return out

    def check(self, n_columns: int, n_categories: int) -> None:
        """Raise a ValueError for arrays that do not belong together, as a file may hold."""
        self.scaling.check()
        n = len(self.vectors)
        if len(self.scaling.centre) != n_columns or self.vectors.shape != (n, n_columns + 1):
            raise ValueError("the hyperplanes do not fit the covariates")
        if self.vectors.dtype != np.float64 or not np.isfinite(self.vectors).all():
            raise ValueError("the hyperplanes are not finite")
        if self.tags.shape != (n, 5) or self.tags.dtype != np.int64 or (self.tags < 0).any():
            raise ValueError("the hyperplanes are not named")
        if (self.tags[:, 0] > 1).any() or (self.tags[:, 1] >= n_categories).any():
            raise ValueError("the hyperplanes do not fit the classes")
