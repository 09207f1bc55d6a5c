"""How far a horseshoe shrinks: the rates of its precisions, and their scale for each stick.

Changes rates and precisions of the categories on sticks, given their coefficients; the reference's
rates, which are no part of the model, are drawn from the prior, as pseudo-prior. Gibbs steps
(`pasb.binary.column_priors`) that leave the posterior invariant. Applies to logistic and robit
sticks where some columns have a horseshoe. Costs no pass over the rows. Counts nothing.
"""

from __future__ import annotations

from pasb.binary.binary_model import Keys
from pasb.binary.linear import LinearSampler
from pasb.moves.move import Move, State


class Shrinkage(Move):
    """Rates and scales of a horseshoe; `infers` says whether the order is sampled."""

    def __init__(self, sampler: LinearSampler, infers: bool):
        super().__init__()
        self.sampler, self.infers = sampler, infers

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        *sticks, last = state.order.tolist()
        for stick, category in enumerate(sticks):
            self.sampler.draw_shrinkage(state.parameters, category, stick, keys)
        if self.infers:
            self.sampler.draw_horseshoe(state.parameters, last, len(sticks), keys)
