"""All coefficients of choice sticks at once, generic ones included, given Polya-Gamma latents.

Changes the coefficients and precisions of the categories on sticks, and the generic coefficients.
Given the latents of all sticks they are jointly normal (`pasb.binary.choice_logistic`), and
precisions given coefficients are gamma distributed, so the posterior given the order is left
invariant. Parameters of the reference take no part but for the generic ones; where these change,
they are drawn again before anything uses them. Applies to sticks with covariates of alternatives.
Costs a pass over the rows of each stick. Counts nothing.
"""

from __future__ import annotations

from pasb.binary.binary_model import Keys
from pasb.binary.choice_logistic import ChoiceSampler
from pasb.moves.move import Move, State
from pasb.sticks import Roles


class SharedGibbs(Move):
    """The joint update of all sticks."""

    def __init__(self, sampler: ChoiceSampler, roles: Roles):
        super().__init__()
        self.sampler, self.roles = sampler, roles

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        sticks = [
            (category, self.roles.on_stick(state.order, stick))
            for stick, category in enumerate(state.order[:-1].tolist())
        ]
        self.sampler.joint_update(state.parameters, sticks, keys)
