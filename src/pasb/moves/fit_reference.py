"""The printed algorithm's update of the reference: its rows against all others.

Changes the parameters of the last category in the order. The paper fits them to the labels
1[y_i = s] and lets them take part in the swaps without a term for that fit, so the sweep does not
leave the posterior of the order invariant; `tests/sampling/test_sweep.py` shows by how much.
Applies under ``scheme="paper"``, and while a chain that starts from a random order settles. Costs
one update with all rows. Counts nothing.
"""

from __future__ import annotations

from pasb.binary.binary_model import BinarySampler, Keys
from pasb.moves.move import Move, State
from pasb.sticks import Roles


class FitReference(Move):
    """Update the reference category as if it had a stick with all rows."""

    def __init__(self, sampler: BinarySampler, roles: Roles):
        super().__init__()
        self.sampler, self.roles = sampler, roles._replace(before=roles.go_on)

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        last = len(state.order) - 1
        roles = self.roles.on_stick(state.order, last)
        self.sampler.update(state.parameters, int(state.order[last]), last, roles, keys)
