"""What a move is: one named step of a sweep that leaves the posterior invariant.

Files beside this one hold one move each, and all have the same shape. The docstring of the
module says what the move changes, which distribution it leaves invariant and why, when it
applies, what it costs, and what it counts. The class is made once a chain; calling it changes the
state in place and counts what it did under the names of `statistics`, which reach
``posterior_["sample_stats"]``. These names begin with the name of the move. The compiled functions
that do the work are in the same file, so that a fused sweep (`pasb.moves.whitened`) is made of the
same functions.

Three files hold no move, but what several moves are made of:

- `pasb.moves.independence`: independence proposals, for Refresh, Neighbours and PseudoPrior;
- `pasb.moves.trajectory`: a trajectory of a linear stick, for Whitened;
- `pasb.moves.asked_softplus_trajectory`: what SoftplusTrajectory does where rows are elsewhere, for
  `pasb.sampling.asked_softplus`.

Compiled code knows where a chain stands as a plain tuple,

``place = (order, coef, precision, accept, reject, groups)``
    with ``order`` (n_categories), ``coef`` and ``precision`` (n_categories, n_columns), and the
    order table's ``accept`` and ``reject`` (n_categories, n_groups), all changed in place, and its
    ``groups``;

other tuples are those of `pasb.binary.linear_kernels`. A *stick* in an array is (category, extra,
start): behind the category are ``order[start:]`` and, unless it is -1, the category `extra`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.orders.table import OrderTable


@dataclass
class State:
    """Where a chain stands."""

    order: NDArray[np.int64]
    parameters: Parameters
    log_likelihood: float = float("nan")


def place_of(state: State, order_table: OrderTable) -> tuple[Any, ...]:
    """Where a chain of linear sticks stands, as compiled code takes it."""
    coef, precision = state.parameters["coef"], state.parameters["precision"]
    own = order_table.accept, order_table.reject, order_table.groups
    return state.order, coef, precision, *own


class Move(ABC):
    """A step of a sweep."""

    #: what it counts; the names begin with that of the move in snake case, or with one of `steps`
    statistics: tuple[str, ...] = ()

    #: names of the steps that it is made of and that count under a name of their own
    steps: ClassVar[tuple[str, ...]] = ()

    #: whether it leaves the log-likelihood of the state, and the guards' counts, up to date
    evaluates: ClassVar[bool] = False

    #: where it counts, one number for each of `statistics`
    counted: NDArray[np.int64]

    def __init__(self) -> None:
        self.counted = np.zeros(len(self.statistics), dtype=np.int64)

    @abstractmethod
    def __call__(self, state: State, keys: Keys) -> None:
        """Change the state, in place, with the random numbers that the keys name."""

    def start(self, state: State) -> None:  # noqa: B027
        """Better the random state that a chain starts from, in place; most moves cannot."""

    def count_in(self, counted: NDArray[np.int64]) -> None:
        """Count in this array from now on."""
        self.counted = counted


class Tally:
    """What the moves of a chain counted, since it began and since a draw was kept.

    Parameters
    ----------
    moves : sequence of Move
        Each counts in a stretch of `total` of its own; two moves may use the same name.

    Attributes
    ----------
    names : tuple of str
    total, before : array
        Counts since the chain began; and those of the last kept draw.
    """

    def __init__(self, moves: Sequence[Move]):
        self.names = tuple(name for move in moves for name in move.statistics)
        self.total, self.before = np.zeros((2, len(self.names)), dtype=np.int64)
        first = 0
        for move in moves:
            last = first + len(move.statistics)
            move.count_in(self.total[first:last])
            first = last

    def of(self, name: str) -> int:
        """The count under a name since the chain began."""
        return int(sum(n for own, n in zip(self.names, self.total, strict=True) if own == name))
