"""The reference's specific coefficients from a pseudo-prior, where sticks see columns of their own.

Changes the specific parameters of the last category in the order, and the column `reference` of
the order table. As `pasb.moves.pseudo_prior`, with a normal approximation given the generic
coefficients as they are (`pasb.evidences.own_designs`). That pseudo-prior depends on generic
coefficients, so they must be drawn as if there were no reference, and the reference after them,
which is how a sweep does it. Posterior times pseudo-prior is left invariant. Applies to sticks with
covariates of alternatives where the order is inferred. Costs one pass over all rows. Counts
nothing.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.binary.choice_logistic import ChoiceSampler
from pasb.evidences.own_designs import OwnDesigns
from pasb.moves.independence import ADOPTION, PROPOSAL, REFERENCE
from pasb.moves.move import Move, State
from pasb.orders.table import OrderTable
from pasb.sticks import Direction, accept_reject


class OwnReference(Move):
    """Draw the reference from its pseudo-prior; tabulate pseudo-prior over prior."""

    def __init__(
        self,
        sampler: ChoiceSampler,
        designs: OwnDesigns,
        order_table: OrderTable,
        direction: Direction,
    ):
        super().__init__()
        self.sampler, self.designs, self.order_table = sampler, designs, order_table
        self.success, self.failure = accept_reject(
            order_table.accept, order_table.reject, direction
        )

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        sampler, last = self.sampler, int(state.order[-1])
        generic = sampler.generic_of(state.parameters)
        rng = np.random.default_rng(keys.at(last, REFERENCE, PROPOSAL))
        own = self.designs.conditional(last, self.designs.all_but(last))
        drawn = own.draw(generic, rng)
        sampler.adopt(state.parameters, last, drawn, keys.at(last, REFERENCE, ADOPTION))
        one = slice(last, last + 1)
        seen = {"coef": sampler.seen_by(last, drawn, generic)[None]}
        sampler.parts[last].log_sums(seen, self.success[one], self.failure[one])
        for c in range(len(state.order)):
            specific = sampler.specific_of(state.parameters, c)
            pseudo_prior = self.designs.conditional(c, self.designs.all_but(c))
            ratio = pseudo_prior.log_density(specific, generic)
            self.order_table.reference[c] = ratio - sampler.specific_priors[c].log_density(specific)
