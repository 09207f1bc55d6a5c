"""Neighbours in the order trade places, with new coefficients for the sticks that change.

Changes the order, and the coefficients and precisions of two categories. When neighbours c and d
trade places only two sticks change: (c, R + d), (d, R) become (d, R + c), (c, R), with R the set
behind both; at the end of the order only one does, for the reference has no coefficients. Both get
coefficients from normal approximations of the new sticks, and the ratio of an independence move
(`pasb.moves.independence`) decides, which leaves the posterior invariant. Applies to models with
normal approximations where the order is inferred. Costs up to two passes over all rows a proposal,
most of which end before the first. Counts `neighbours_proposed` and `neighbours_accepted`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.evidences.approximations import Approximations
from pasb.evidences.evidences import members
from pasb.moves.independence import CHOICE, NEIGHBOURS, Independence, independence_move
from pasb.moves.move import Move, State, place_of
from pasb.numerics.compiled import kernel
from pasb.orders.known_sticks import find_stick
from pasb.variates.scalar import stream_key, uniform_at

ZERO = np.int64(0)


# mypy: disable-error-code="call-arg"


class Neighbours(Move):
    """Proposals to swap neighbours, `n_proposals` a sweep.

    `known` are the approximations of all sticks there can be, and their keys; without them they
    are made when a proposal needs them.
    """

    statistics = ("neighbours_proposed", "neighbours_accepted")

    def __init__(
        self,
        propose: Independence,
        approximations: Approximations,
        n_proposals: int,
        known: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None,
    ):
        super().__init__()
        self.propose, self.approximations, self.n = propose, approximations, n_proposals
        self.known = known

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        if self.known is not None:
            self._swap_known(state, keys)
            return
        order = state.order
        for number in range(self.n):
            sticks = np.empty((4, 3), dtype=np.int64)
            a, n_changed = choose_neighbours(order, tuple(keys), np.int64(number), sticks)
            sticks = sticks[: 2 * n_changed]
            sets = tuple(
                (c, members(order[start:]) | (1 << extra if extra >= 0 else 0))
                for c, extra, start in sticks.tolist()
            )
            gaussians = self.approximations.gaussians(sets)
            accepted = self.propose(state, keys, sticks, gaussians, n_changed, number, NEIGHBOURS)
            if accepted:
                order[a], order[a + 1] = order[a + 1], order[a]
            self.counted += 1, accepted

    def _swap_known(self, state: State, keys: Keys) -> None:
        propose, sampler = self.propose, self.propose.sampler
        sticks, gaussian_of = np.empty((4, 3), dtype=np.int64), np.empty(4, dtype=np.int64)
        place, plain = place_of(state, propose.order_table), tuple(keys)
        with sampler.space() as space:
            for number in range(self.n):
                at = swap_neighbours(
                    sampler.regression,
                    propose.forward,
                    place,
                    self.known,
                    space.proposed,
                    plain,
                    number,
                    sticks,
                    gaussian_of,
                )
                self.counted += 1, at >= 0


@kernel
def choose_neighbours(order, keys, number, sticks):
    """Choose two neighbours; where the first is, and how many sticks change.

    The first rows of `sticks`, (4, 3), become the sticks as they are, the next as they would be.
    """
    last = order.shape[0] - 1
    key = stream_key(*keys, number, NEIGHBOURS, CHOICE)
    a = int(uniform_at(key, ZERO) * last)
    c, d = order[a], order[a + 1]
    n_changed = 2 if a + 1 < last else 1
    sticks[0, 0], sticks[0, 1] = c, d
    sticks[n_changed, 0], sticks[n_changed, 1] = d, c
    if n_changed == 2:
        sticks[1, 0], sticks[1, 1] = d, -1
        sticks[3, 0], sticks[3, 1] = c, -1
    sticks[:, 2] = a + 2
    return a, n_changed


@kernel
def swap_neighbours(regression, forward, place, known, proposed, keys, number, sticks, gaussian_of):
    """One proposal, where all approximations are known; where the first was, or -1 if rejected.

    `known` are the approximations and the keys of their sticks, see `pasb.orders.known_sticks`;
    a swap that needs another one is rejected, whichever way it goes. `sticks` (4, 3) and
    `gaussian_of` (4) are work space. `number` is that of the proposal in the sweep; `regression`,
    `forward`, `place`, `proposed` and `keys` are as for `independence_move`.
    """
    gaussians, stick_keys = known
    order = place[0]
    a, n_changed = choose_neighbours(order, keys, number, sticks)
    behind = 0
    for j in range(a + 2, order.shape[0]):
        behind |= 1 << order[j]
    for k in range(2 * n_changed):
        extra = sticks[k, 1]
        later = behind | (1 << extra) if extra >= 0 else behind
        gaussian_of[k] = find_stick(stick_keys, sticks[k, 0], later)
        if gaussian_of[k] < 0:
            return -1
    if not independence_move(
        regression,
        forward,
        place,
        sticks[: 2 * n_changed],
        gaussians,
        gaussian_of,
        n_changed,
        proposed,
        keys,
        number,
        NEIGHBOURS,
    ):
        return -1
    order[a], order[a + 1] = order[a + 1], order[a]
    return a
