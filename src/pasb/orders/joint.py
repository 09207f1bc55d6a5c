"""Independence proposals: new coefficients for a stick, or for two neighbours swapped.

Swaps that keep the coefficients are hardly ever accepted once those have adapted to the
order. Here the coefficients of every stick that changes are proposed afresh, from normal
approximations q(. | c, R) of their posterior given the new order, and the move is
accepted with the Metropolis-Hastings ratio

    L(z', b') p(b') q(b | z) / (L(z, b) p(b) q(b' | z')),

latents and precisions integrated out. When neighbours c and d trade places, only two
sticks change: (c, R + d), (d, R) become (d, R + c), (c, R); at the end of the order only
one does, for the reference has no coefficients.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import Approximable, Keys, Parameters
from pasb.binary.laplace import Laplace
from pasb.orders.approximations import Approximations, members
from pasb.orders.swap import uniform_at
from pasb.orders.table import OrderTable
from pasb.sticks import Direction

PROPOSAL, DECISION, ADOPTION = 8, 9, 10  # layers of the stream
REFRESH, NEIGHBOURS = 1, 2  # experts of the stream, for want of a better word


class _Stick(NamedTuple):
    """A category with coefficients on a stick, and what they contribute to the target."""

    category: int
    coef: NDArray[np.float64]
    stop: float
    go_on: NDArray[np.float64]
    log_weight: float  # of likelihood times prior over proposal


class JointMoves:
    """The moves of one chain."""

    def __init__(self, sampler: Approximable, approximations: Approximations, direction: Direction):
        self.sampler = sampler
        self.approximations = approximations
        self.forward = direction == "forward"
        self.accepted = {"refresh": 0, "neighbours": 0}
        self.proposed = {"refresh": 0, "neighbours": 0}

    def refresh(
        self, order: NDArray[np.int64], parameters: Parameters, table: OrderTable, keys: Keys
    ) -> None:
        """Propose new coefficients for every stick, the order as it is."""
        later = self.approximations.everyone
        for stick, category in enumerate(order[:-1].tolist()):
            later &= ~(1 << category)
            approximation = self.approximations.get(category, later)
            old = self._present(category, later, approximation, parameters, table)
            key = keys.at(stick, REFRESH, PROPOSAL)
            new = self._proposal(category, later, approximation, 0, key)
            self._decide("refresh", [old], [new], parameters, table, keys, stick, REFRESH)

    def swap_neighbours(
        self,
        order: NDArray[np.int64],
        parameters: Parameters,
        table: OrderTable,
        keys: Keys,
        number: int,
    ) -> None:
        """Propose to swap two neighbours, with new coefficients for both.

        `number` tells the proposals of one sweep apart.
        """
        last = len(order) - 1
        a = int(uniform_at(keys.at(number, NEIGHBOURS, DECISION), 1) * last)
        c, d = int(order[a]), int(order[a + 1])
        behind = members(order[a + 2 :])
        before, after = [(c, behind | 1 << d)], [(d, behind | 1 << c)]
        if a + 1 < last:
            before.append((d, behind))
            after.append((c, behind))
        old = [
            self._present(s, later, self.approximations.get(s, later), parameters, table)
            for s, later in before
        ]
        new = []
        for slot, (s, later) in enumerate(after):
            key = keys.at(number, NEIGHBOURS + slot, PROPOSAL)
            new.append(self._proposal(s, later, self.approximations.get(s, later), slot, key))
        if self._decide("neighbours", old, new, parameters, table, keys, number, NEIGHBOURS):
            order[a], order[a + 1] = d, c

    def _present(
        self,
        category: int,
        later: int,
        approximation: Laplace,
        parameters: Parameters,
        table: OrderTable,
    ) -> _Stick:
        coef = parameters["coef"][category]
        stop, go_on = float(table.stop[category]), table.go_on[:, category]
        return self._weighed(category, later, approximation, coef, stop, go_on)

    def _proposal(
        self, category: int, later: int, approximation: Laplace, slot: int, key: np.uint64
    ) -> _Stick:
        coef = np.empty(len(approximation.mode))
        approximation.draw(key, coef)
        success, failure = np.empty((2, self.approximations.n_categories))
        self.sampler.try_out(coef, slot, success, failure)
        accept, reject = (success, failure) if self.forward else (failure, success)
        stop = float(accept[category])
        return self._weighed(category, later, approximation, coef, stop, reject)

    def _weighed(self, category, later, approximation, coef, stop, go_on) -> _Stick:
        log_weight = approximation.log_weight(coef, self.sampler.prior) + stop
        for s, log_probability in enumerate(go_on.tolist()):
            if later >> s & 1:
                log_weight += log_probability
        return _Stick(category, coef, stop, go_on, log_weight)

    def _decide(self, kind, old, new, parameters, table, keys, number, expert) -> bool:
        """Accept `new` in place of `old` with the Metropolis-Hastings probability."""
        gain = sum(stick.log_weight for stick in new) - sum(stick.log_weight for stick in old)
        self.proposed[kind] += 1
        if not math.log(uniform_at(keys.at(number, expert, DECISION), 0)) < gain:
            return False
        self.accepted[kind] += 1
        for slot, stick in enumerate(new):
            key = keys.at(number, expert, ADOPTION + slot)
            self.sampler.adopt(parameters, stick.category, stick.coef, slot, key)
            table.stop[stick.category] = stick.stop
            table.go_on[:, stick.category] = stick.go_on
        return True
