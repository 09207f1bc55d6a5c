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

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import Approximable, Keys, Parameters
from pasb.evidences.approximations import Approximations
from pasb.evidences.base import members
from pasb.numerics.threads import Task, one_by_one
from pasb.orders.swap import uniform_at
from pasb.orders.table import OrderTable

# kinds of moves; one that changes two sticks has two numbers
REFERENCE, REFRESH, NEIGHBOURS = np.int64(1), np.int64(2), np.int64(4)
CHOICE = np.int64(12)  # layer of the stream


class JointMoves:
    """The moves of one chain."""

    def __init__(self, sampler: Approximable, approximations: Approximations):
        self.sampler = sampler
        self.approximations = approximations
        self.accepted = {REFRESH: 0, NEIGHBOURS: 0}
        self.proposed = {REFRESH: 0, NEIGHBOURS: 0}

    def refresh(
        self,
        order: NDArray[np.int64],
        parameters: Parameters,
        table: OrderTable,
        keys: Keys,
        run: Callable[[list[Task]], None] = one_by_one,
    ) -> None:
        """Propose new coefficients for every stick, the order as it is.

        `run` says how to run a list of tasks.
        """
        later = self.approximations.everyone
        tasks: list[Task] = []
        accepted = np.zeros(len(order), dtype=np.bool_)

        def propose(category: int, stick: int, laws: NDArray[np.float64]) -> None:
            sticks = np.array([[category, -1, stick + 1]] * 2)
            accepted[stick] = self.sampler.independence_move(
                parameters, table, order, sticks, laws, 1, keys, stick, REFRESH
            )

        for stick, category in enumerate(order[:-1].tolist()):
            later &= ~(1 << category)
            laws = self.approximations.laws(((category, later), (category, later)))
            tasks.append(partial(propose, category, stick, laws))
        run(tasks)
        self.proposed[REFRESH] += len(tasks)
        self.accepted[REFRESH] += int(accepted.sum())

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
        a = int(uniform_at(keys.at(number, NEIGHBOURS, CHOICE), 0) * last)
        c, d = int(order[a]), int(order[a + 1])
        start, behind = a + 2, members(order[a + 2 :])
        before, after = (c, behind | 1 << d), (d, behind | 1 << c)
        if a + 1 < last:
            n_changed = 2
            sticks = np.array([[c, d, start], [d, -1, start], [d, c, start], [c, -1, start]])
            laws = self.approximations.laws((before, (d, behind), after, (c, behind)))
        else:
            n_changed = 1
            sticks = np.array([[c, d, start], [d, c, start]])
            laws = self.approximations.laws((before, after))
        self.proposed[NEIGHBOURS] += 1
        if self.sampler.independence_move(
            parameters, table, order, sticks, laws, n_changed, keys, number, NEIGHBOURS
        ):
            self.accepted[NEIGHBOURS] += 1
            order[a], order[a + 1] = d, c

    def draw_reference(
        self,
        order: NDArray[np.int64],
        parameters: Parameters,
        table: OrderTable,
        keys: Keys,
    ) -> None:
        """Draw the reference's coefficients from its pseudo-prior: q on the first stick.

        Then tabulate the log-ratio of pseudo-prior to prior for every category.
        """
        reference = int(order[-1])
        laws = self.approximations.pseudo_priors()
        sticks = np.array([[reference, -1, len(order)]])
        law = laws[reference : reference + 1]
        self.sampler.independence_move(
            parameters, table, order, sticks, law, 1, keys, reference, REFERENCE
        )
        self.sampler.log_ratios(parameters, laws, table.reference)
