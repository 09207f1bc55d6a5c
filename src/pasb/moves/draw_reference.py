"""The reference's parameters from the prior.

Changes the parameters of the last category in the order, which has no stick and no likelihood:
under the exact scheme they are no part of the model, and their full conditional is a pseudo-prior
of our choice, here the prior (Carlin and Chib 1995). So posterior times prior is left invariant,
and swaps need no term for it. Applies to models without normal approximations. Costs no pass over
the rows. Counts nothing.
"""

from __future__ import annotations

from pasb.binary.binary_model import BinarySampler, Keys
from pasb.moves.move import Move, State


class DrawReference(Move):
    """Draw the reference's parameters from the prior."""

    def __init__(self, sampler: BinarySampler):
        super().__init__()
        self.sampler = sampler

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        last = len(state.order) - 1
        self.sampler.draw_prior(state.parameters, int(state.order[last]), last, keys)
