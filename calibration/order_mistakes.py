"""Sweeps with deliberate mistakes in what concerns the order; see `calibration.mistakes`."""

from __future__ import annotations

import numpy as np

from pasb.binary.base import Keys
from pasb.moves.joint import JointMoves
from pasb.moves.linear_sweep import LinearSweep
from pasb.orders import swap_moves
from pasb.sampling.sweep import State, Sweeper


class InSteps(Sweeper):
    """The sweep step by step, not in one compiled call."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.compiled = None


class SwapWithoutStop(InSteps):
    """Swaps whose ratio forgets the log-probabilities of stopping."""

    def _swap(self, state: State, keys: Keys) -> None:
        table = self._table._replace(accept=np.zeros_like(self._table.accept))
        swap_moves(*table, state.order, self.problem.n_swaps, keys.at(len(state.order)))


class SwapWithoutRatio(InSteps):
    """Swaps whose ratio forgets pseudo-prior over prior."""

    def _swap(self, state: State, keys: Keys) -> None:
        self._table.reference[:] = 0.0
        super()._swap(state, keys)


class KeptReference(InSteps):
    """The reference's parameters are not redrawn after the moves that leave them behind."""

    def _draw_reference(self, joint: JointMoves, state: State, keys: Keys) -> None:
        laws = joint.approximations.pseudo_priors()
        joint.sampler.log_ratios(state.parameters, laws, self._table.reference)


class AlwaysAccept(InSteps):
    """Proposals from the normal approximations are taken for draws from the posterior."""

    def _joint_moves(self, joint: JointMoves, state: State, keys: Keys) -> None:
        later = joint.approximations.everyone
        for stick, category in enumerate(state.order[:-1].tolist()):
            later &= ~(1 << category)
            sticks = np.array([[category, -1, stick + 1]])
            laws = joint.approximations.laws(((category, later),))
            joint.sampler.independence_move(
                state.parameters, self._table, state.order, sticks, laws, 1, keys, stick, 2
            )


class EarlierRowsFail(InSteps):
    """Rows that stopped earlier go on at later sticks, too."""

    def _parts(self, order, stick):
        parts = super()._parts(order, stick)
        parts[order[:stick]] = self.problem.labels[1]
        return parts


class WholeOrders(Sweeper):
    """Gibbs steps of the sticks, and an order that changes only as a whole."""

    def sweep(self, state: State, keys: Keys) -> None:  # noqa: D102
        assert isinstance(self.compiled, LinearSweep)
        self._update_sticks(state, keys)
        draw = self.compiled._draw_whole_order
        state.log_likelihood = draw(state.parameters, state.order, keys)


class WholeOrdersUnnormalised(WholeOrders):
    """Normal laws of different categories have different constants in the weights of sticks."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        assert isinstance(self.compiled, LinearSweep)
        self.compiled.laws = self.compiled.laws.copy()
        for category, numbers in enumerate(self.compiled.law_index):
            # the log-determinant, which enters by its half
            self.compiled.laws[numbers[numbers >= 0], -2] += 2.0 * category
