"""Draws laid out for predictions: side by side, those of one order next to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel
from pasb.binary.side_by_side import n_lanes
from pasb.numerics.rows import BLOCK, TILE, padded
from pasb.sticks import break_sticks, skip_unavailable

NUMBERS_AT_ONCE = 2**17  # probabilities of sticks: 1 MB of float64 for each of two arrays


class LaidOut(NamedTuple):
    """Draws in another sequence, by direction and order, so that all of a run are treated alike.

    Attributes
    ----------
    model : BinaryModel
    layout : tuple of arrays
        What `BinaryModel.side_by_side` made; their first axis is blocks of draws.
    source : integer array of shape (n_draws,)
        Where each draw was before.
    n_forward : int
        So many break sticks forward; the others, in reverse, come behind them.
    bounds : integer array of shape (n_runs + 1,)
        Draws ``bounds[k]`` to ``bounds[k + 1]`` have the order ``orders[k]``.
    orders : integer array of shape (n_runs, n_categories)
    """

    model: BinaryModel
    layout: tuple[NDArray, ...]
    source: NDArray[np.int64]
    n_forward: int
    bounds: NDArray[np.int64]
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
        n_forward, orders = int(np.count_nonzero(~reverse)), orders[source]
        which = source[:, None], orders[:, :-1]
        layout = model.side_by_side({name: values[which] for name, values in parameters.items()})
        if layout is None:
            return None
        changes = (orders[1:] != orders[:-1]).any(axis=1)
        first = np.concatenate([[0], np.flatnonzero(changes) + 1])
        bounds = np.append(first, len(orders))
        return cls(model, layout, source, n_forward, bounds, orders[first])

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.source)

    def probabilities(
        self, X: NDArray[np.float64], available: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Probabilities of some rows, (rows, categories, draws).

        `available`, (rows, categories), says what each row can be; by default anything.
        """
        n_categories = self.orders.shape[1]
        X = padded(X, -(-X.shape[1] // TILE) * TILE)
        out = np.empty((len(X), n_categories, self.n_draws))
        n_blocks = max(1, NUMBERS_AT_ONCE // (n_categories * len(X) * BLOCK))
        for block in range(0, -(-self.n_draws // BLOCK), n_blocks):
            start, stop = block * BLOCK, min((block + n_blocks) * BLOCK, self.n_draws)
            success, failure = np.empty((2, n_categories - 1, len(X), n_lanes(stop - start)))
            layout = tuple(values[block : block + n_blocks] for values in self.layout)
            self.model.stick_probabilities(layout, X, success, failure)
            runs = self._runs(start, stop)
            if available is not None:
                _skip(success, failure, *runs, available)
            break_sticks(success, failure, *runs, start, out)
        if available is not None:
            out *= available[:, :, None]
        return out

    def _runs(self, start: int, stop: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """`n_forward`, `bounds` and `orders` of some of the draws."""
        if stop - start == self.n_draws:
            return self.n_forward, self.bounds, self.orders
        runs = slice(
            np.searchsorted(self.bounds, start, "right") - 1,
            np.searchsorted(self.bounds, stop, "left"),
        )
        bounds = np.clip(self.bounds[runs.start : runs.stop + 1], start, stop) - start
        return min(max(self.n_forward - start, 0), stop - start), bounds, self.orders[runs]


def _skip(
    success: NDArray[np.float64],
    failure: NDArray[np.float64],
    n_forward: int,
    bounds: NDArray[np.int64],
    orders: NDArray[np.int64],
    available: NDArray[np.bool_],
) -> None:
    """Skip sticks that rows do not have, in arrays (sticks, rows, draws)."""
    n_draws = bounds[-1]
    of_draws = np.repeat(orders, np.diff(bounds), axis=0)
    views = (values.transpose(2, 0, 1)[:n_draws] for values in (success, failure))
    skip_unavailable(*views, np.arange(n_draws) >= n_forward, of_draws, available, 0.0, 1.0)
