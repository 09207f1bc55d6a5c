"""Draws laid out for predictions: side by side, those of one order next to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.numerics.rows import BLOCK, TILE, padded
from pasb.sticks import break_sticks


class LaidOut(NamedTuple):
    """Draws in another sequence, by direction and order, so that all of a run are treated alike.

    Attributes
    ----------
    model : BinaryModel
    layout : tuple of arrays
        What `BinaryModel.side_by_side` made.
    source : integer array of shape (n_draws,)
        Where each draw was before.
    bounds : integer array of shape (n_runs + 1,)
        Draws ``bounds[k]`` to ``bounds[k + 1]`` have the order ``orders[k]``.
    reverse : boolean array of shape (n_runs,)
    orders : integer array of shape (n_runs, n_categories)
    """

    model: BinaryModel
    layout: tuple[NDArray, ...]
    source: NDArray[np.int64]
    bounds: NDArray[np.int64]
    reverse: NDArray[np.bool_]
    orders: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        model: BinaryModel,
        reverse: NDArray[np.bool_],
        parameters: dict[str, NDArray[np.float64]],
        orders: NDArray[np.int64],
    ) -> LaidOut | None:
        """Lay draws out; None if the model has no way of predicting so."""
        source = np.lexsort((*orders.T[::-1], reverse))
        reverse, orders = reverse[source], orders[source]
        which = source[:, None], orders[:, :-1]
        layout = model.side_by_side({name: values[which] for name, values in parameters.items()})
        if layout is None:
            return None
        changes = (orders[1:] != orders[:-1]).any(axis=1) | (reverse[1:] != reverse[:-1])
        first = np.concatenate([[0], np.flatnonzero(changes) + 1])
        bounds = np.append(first, len(orders))
        return cls(model, layout, source, bounds, reverse[first], orders[first])

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.source)

    def probabilities(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of some rows, (rows, categories, draws)."""
        n_categories = self.orders.shape[1]
        n_padded = -(-self.n_draws // BLOCK) * BLOCK
        success, failure = np.empty((2, n_categories - 1, len(X), n_padded))
        X = padded(X, -(-X.shape[1] // TILE) * TILE)
        self.model.stick_probabilities(self.layout, X, success, failure)
        out = np.empty((len(X), n_categories, self.n_draws))
        break_sticks(success, failure, self.bounds, self.reverse, self.orders, out)
        return out
