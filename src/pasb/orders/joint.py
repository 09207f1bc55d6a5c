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
    weight: float  # log-likelihood plus log-prior minus log-density of the proposal


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
        for stick in range(len(order) - 1):
            later = members(order[stick + 1 :])
            category = int(order[stick])
            old = self._present(category, later, parameters, table)
            new = self._proposal(category, later, 0, keys.at(stick, REFRESH, PROPOSAL))
            self._decide("refresh", [old], [new], parameters, table, keys, stick, REFRESH)

    def swap_neighbours(
        self,
        order: NDArray[np.int64],
        parameters: Parameters,
        table: OrderTable,
        keys: Keys,
        n_proposals: int,
    ) -> None:
        """Propose to swap neighbours, with new coefficients for both; changes `order`."""
        last = len(order) - 1
        for n in range(n_proposals):
            a = int(uniform_at(keys.at(n, NEIGHBOURS, DECISION), 1) * last)
            c, d = int(order[a]), int(order[a + 1])
            behind = members(order[a + 2 :])
            key = keys.at(n, NEIGHBOURS, PROPOSAL)
            old = [self._present(c, behind | 1 << d, parameters, table)]
            new = [self._proposal(d, behind | 1 << c, 0, key)]
            if a + 1 < last:
                old.append(self._present(d, behind, parameters, table))
                second = keys.at(n, NEIGHBOURS, PROPOSAL + 16)
                new.append(self._proposal(c, behind, 1, second))
            if self._decide("neighbours", old, new, parameters, table, keys, n, NEIGHBOURS):
                order[a], order[a + 1] = d, c

    def _present(self, category, later, parameters, table) -> _Stick:
        coef = parameters["coef"][category]
        return self._weighed(category, later, coef, table.stop[category], table.go_on[:, category])

    def _proposal(self, category: int, later: int, slot: int, key: np.uint64) -> _Stick:
        approximation = self.approximations.get(category, later)
        coef = np.empty(len(approximation.mode))
        approximation.draw(key, coef)
        success, failure = np.empty((2, self.approximations.n_categories))
        self.sampler.try_out(coef, slot, success, failure)
        accept, reject = (success, failure) if self.forward else (failure, success)
        return self._weighed(category, later, coef, float(accept[category]), reject)

    def _weighed(self, category, later, coef, stop, go_on) -> _Stick:
        log_likelihood = stop
        for s in range(len(go_on)):
            if later >> s & 1:
                log_likelihood += go_on[s]
        proposal = self.approximations.get(category, later).log_density(coef)
        weight = log_likelihood + self.sampler.log_prior(coef) - proposal
        return _Stick(category, coef, stop, go_on, weight)

    def _decide(self, kind, old, new, parameters, table, keys, number, expert) -> bool:
        gain = sum(stick.weight for stick in new) - sum(stick.weight for stick in old)
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
