"""Neighbours in the order trade places, where sticks see columns of their own.

Changes the order, and the specific coefficients and precisions of two categories, as
`pasb.moves.neighbours` does: both get coefficients from normal approximations of the new sticks
given the generic coefficients (`pasb.evidences.own_designs`), and the Metropolis-Hastings ratio of
an independence move decides, latents and precisions integrated out. So the posterior is left
invariant. Applies to sticks with covariates of alternatives where the order is inferred. Costs up
to two passes over all rows a proposal. Counts `own_neighbours_proposed` and
`own_neighbours_accepted`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.binary.choice_logistic import ChoiceSampler
from pasb.evidences.evidences import members
from pasb.evidences.own_designs import OwnDesigns
from pasb.moves.independence import ADOPTION, NEIGHBOURS, PROPOSAL
from pasb.moves.move import Move, State
from pasb.orders.table import OrderTable
from pasb.sticks import FAILURE, SUCCESS, Direction, accept_reject

Sums = tuple[NDArray[np.float64], NDArray[np.float64]]


class OwnNeighbours(Move):
    """Proposals to swap neighbours, one for each pair of places a sweep on average."""

    statistics = ("own_neighbours_proposed", "own_neighbours_accepted")

    def __init__(
        self,
        sampler: ChoiceSampler,
        designs: OwnDesigns,
        order_table: OrderTable,
        direction: Direction,
    ):
        super().__init__()
        self.sampler, self.designs = sampler, designs
        self.success, self.failure = accept_reject(
            order_table.accept, order_table.reject, direction
        )

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        for number in range(len(state.order) - 1):
            self.counted += 1, self._propose(state, keys, number)

    def _propose(self, state: State, keys: Keys, number: int) -> bool:
        order, parameters, sampler = state.order, state.parameters, self.sampler
        rng = np.random.default_rng(keys.at(number, NEIGHBOURS, PROPOSAL))
        a = int(rng.integers(len(order) - 1))
        c, d = int(order[a]), int(order[a + 1])
        behind = members(order[a + 2 :])
        before, after = [(c, behind | 1 << d)], [(d, behind | 1 << c)]
        if behind:
            before.append((d, behind))
            after.append((c, behind))
        generic = sampler.generic_of(parameters)
        gain = 0.0
        for category, later in before:
            sums = self.success[category], self.failure[category]
            specific = sampler.specific_of(parameters, category)
            gain -= self._log_weight(category, later, specific, generic, sums)
        drawn = []
        for category, later in after:
            specific = self.designs.conditional(category, later).draw(generic, rng)
            sums = self._sums(category, specific, generic)
            gain += self._log_weight(category, later, specific, generic, sums)
            drawn.append((category, specific, sums))
        if not math.log(rng.random()) < gain:
            return False
        order[a], order[a + 1] = d, c
        for k, (category, specific, sums) in enumerate(drawn):
            key = keys.at(number, NEIGHBOURS + k, ADOPTION)
            sampler.adopt(parameters, category, specific, key)
            self.success[category], self.failure[category] = sums
        return True

    def _sums(
        self, category: int, specific: NDArray[np.float64], generic: NDArray[np.float64]
    ) -> Sums:
        """Sums of log-probabilities over the rows of each group, at proposed coefficients."""
        success, failure = np.empty((2, 1, self.success.shape[1]))
        seen = {"coef": self.sampler.seen_by(category, specific, generic)[None]}
        self.sampler.parts[category].log_sums(seen, success, failure)
        return success[0], failure[0]

    def _log_weight(
        self,
        category: int,
        later: int,
        specific: NDArray[np.float64],
        generic: NDArray[np.float64],
        sums: Sums,
    ) -> float:
        """Likelihood times prior over proposal density of a stick."""
        roles = self.designs.roles(category, later)
        log_likelihood = sums[0][roles == SUCCESS].sum() + sums[1][roles == FAILURE].sum()
        proposal = self.designs.conditional(category, later).log_density(specific, generic)
        prior = self.sampler.specific_priors[category].log_density(specific)
        return float(log_likelihood + prior - proposal)
