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

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import Approximable, Keys, Parameters
from pasb.orders.approximations import Approximations, members
from pasb.orders.swap import uniform_at
from pasb.orders.table import OrderTable
from pasb.sticks import Direction

PROPOSAL, DECISION, ADOPTION = 8, 9, 10  # layers of the stream
REFRESH, NEIGHBOURS = 1, 2  # experts of the stream, to tell the moves apart


class JointMoves:
    """The moves of one chain."""

    def __init__(self, sampler: Approximable, approximations: Approximations, direction: Direction):
        self.sampler = sampler
        self.approximations = approximations
        self.direction = direction
        n = approximations.n_categories
        # what the proposals, at most two, contribute to the order table
        self._success, self._failure = np.zeros((2, n)), np.zeros((2, n))
        self._tried = OrderTable.of(self._success, self._failure, direction)
        self.accepted = {"refresh": 0, "neighbours": 0}
        self.proposed = {"refresh": 0, "neighbours": 0}

    def refresh(
        self, order: NDArray[np.int64], parameters: Parameters, table: OrderTable, keys: Keys
    ) -> None:
        """Propose new coefficients for every stick, the order as it is."""
        later = self.approximations.everyone
        for stick, category in enumerate(order[:-1].tolist()):
            later &= ~(1 << category)
            changed = [(category, later)]
            self._try("refresh", REFRESH, stick, changed, changed, parameters, table, keys)

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
        old, new = [(c, behind | 1 << d)], [(d, behind | 1 << c)]
        if a + 1 < last:
            old.append((d, behind))
            new.append((c, behind))
        if self._try("neighbours", NEIGHBOURS, number, old, new, parameters, table, keys):
            order[a], order[a + 1] = d, c

    def draw_reference(
        self, category: int, parameters: Parameters, table: OrderTable, keys: Keys
    ) -> None:
        """Draw the reference's coefficients from its pseudo-prior: q on the first stick."""
        pseudo_prior = self.approximations.one_against_the_rest(category)
        key = keys.at(category, 0, PROPOSAL)
        self.sampler.propose(pseudo_prior, 0, key, self._success[0], self._failure[0])
        self._adopt(category, 0, keys.at(category, 0, ADOPTION), parameters, table)

    def _try(self, kind, expert, number, old, new, parameters, table, keys) -> bool:
        """Propose coefficients for the sticks `new` in place of those of `old`."""
        gain = 0.0
        for category, later in old:
            approximation = self.approximations.get(category, later)
            coef = parameters["coef"][category]
            gain -= approximation.log_weight(coef, self.sampler.prior)
            gain -= _log_likelihood(table, category, category, later)
        for slot, (category, later) in enumerate(new):
            approximation = self.approximations.get(category, later)
            key = keys.at(number, expert + slot, PROPOSAL)
            gain += self.sampler.propose(
                approximation, slot, key, self._success[slot], self._failure[slot]
            )
            gain += _log_likelihood(self._tried, slot, category, later)
        self.proposed[kind] += 1
        if not math.log(uniform_at(keys.at(number, expert, DECISION), 0)) < gain:
            return False
        self.accepted[kind] += 1
        for slot, (category, _) in enumerate(new):
            key = keys.at(number, expert + slot, ADOPTION)
            self._adopt(category, slot, key, parameters, table)
        return True

    def _adopt(self, category, slot, key, parameters, table) -> None:
        self.sampler.adopt(parameters, category, slot, key)
        table.accept[category] = self._tried.accept[slot]
        table.reject[category] = self._tried.reject[slot]


def _log_likelihood(table: OrderTable, row: int, category: int, later: int) -> float:
    """Log-likelihood of one stick, from its row of the table."""
    total = table.accept[row, category]
    for s, go_on in enumerate(table.reject[row].tolist()):
        if later >> s & 1:
            total += go_on
    return total
