"""Sweeps with deliberate mistakes in what concerns the order; see `calibration.mistakes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.moves.gibbs import Gibbs
from pasb.moves.independence import REFRESH
from pasb.moves.move import Move, State
from pasb.moves.neighbours import Neighbours
from pasb.moves.pseudo_prior import PseudoPrior
from pasb.moves.refresh import Refresh
from pasb.moves.swap import Swap, swap_moves
from pasb.sampling.sweep import Sweeper


class InSteps(Sweeper):
    """The sweep move by move in every sweep, not in one compiled call.

    `replaced` says what takes the place of which moves; None leaves them out.
    """

    replaced: ClassVar[dict[type[Move], Callable[[Move], Move] | None]] = {}

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.whitened = self.whole_order = None
        moves = []
        for move in self.moves:
            make = self.replaced.get(type(move), lambda move: move)
            moves += [make(move)] if make is not None else []
        self.moves = moves


class StopForgotten(Swap):
    """Swaps whose ratio forgets the log-probabilities of stopping."""

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        table = self.order_table._replace(accept=np.zeros_like(self.order_table.accept))
        swap_moves(*table, state.order, self.n, keys.at(len(state.order)))


class RatioForgotten(Swap):
    """Swaps whose ratio forgets pseudo-prior over prior."""

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        self.order_table.reference[:] = 0.0
        super().__call__(state, keys)


class ReferenceKept(PseudoPrior):
    """The reference's parameters are not drawn again after the moves that leave them behind."""

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        self.compare(state, self.approximations.pseudo_priors())


class TakenForExact(Refresh):
    """Proposals from the normal approximations are taken for draws from the posterior."""

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        later = self.approximations.everyone
        for stick, category in enumerate(state.order[:-1].tolist()):
            later &= ~(1 << category)
            sticks = np.array([[category, -1, stick + 1]])
            gaussians = self.approximations.gaussians(((category, later),))
            self.propose(state, keys, sticks, gaussians, 1, stick, REFRESH)


class SwapWithoutStop(InSteps):
    """See `StopForgotten`."""

    replaced: ClassVar = {Swap: lambda move: StopForgotten(move.table, move.n)}


class SwapWithoutRatio(InSteps):
    """See `RatioForgotten`."""

    replaced: ClassVar = {Swap: lambda move: RatioForgotten(move.table, move.n)}


class KeptReference(InSteps):
    """See `ReferenceKept`."""

    replaced: ClassVar = {
        PseudoPrior: lambda move: ReferenceKept(move.propose, move.approximations, move.table)
    }


class AlwaysAccept(InSteps):
    """See `TakenForExact`."""

    replaced: ClassVar = {
        Refresh: lambda move: TakenForExact(move.propose, move.approximations, move.run),
        Neighbours: None,
    }


class EarlierRowsFail(InSteps):
    """Rows that stopped earlier go on at later sticks, too."""

    replaced: ClassVar = {
        Gibbs: lambda move: Gibbs(
            move.sampler, move.roles._replace(before=move.roles.go_on), move.run
        )
    }


class WholeOrders(Sweeper):
    """Gibbs steps of the sticks, and an order that changes only as a whole."""

    def moves_at(self, sweep: int) -> Sequence[Move]:  # noqa: D102
        assert self.whole_order is not None
        return self.moves[0], self.whole_order


class WholeOrdersByBridges(WholeOrders):
    """Poor approximations, bent, with bridges of a few leaps; sticks that often take no part."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        assert self.whole_order is not None
        assert self.whitened is not None
        steps, _, shares = self.whitened.efforts
        gaussians = self.whole_order.gaussians.copy()
        gaussians[:, 0] += 0.3  # the mode; there is one column
        gaussians[:, -3] = 0.8  # the bend
        self.whole_order.gaussians = gaussians
        some = np.arange(len(shares))
        self.whitened.efforts = (np.full_like(steps, 3), 2 + some % 3, 0.3 + 0.7 * (some % 2))


class WholeOrdersUnnormalised(WholeOrders):
    """Approximations of different categories have different constants in the weights of sticks."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        assert self.whole_order is not None
        gaussians = self.whole_order.gaussians.copy()
        sticks = self.whole_order.whitened.known.sticks
        assert sticks is not None
        # the log-determinant, which enters by its half
        gaussians[:, -2] += 2.0 * sticks.categories
        self.whole_order.gaussians = gaussians
