"""The reference's coefficients from its pseudo-prior, and what swaps need to know of it.

Changes the parameters of the last category in the order, and the column `reference` of the order
table. Under the exact scheme the reference's coefficients are no part of the model; they are drawn
from the normal approximation of its one-against-the-rest regression, whose log-ratio to the prior
enters the swaps (Carlin and Chib 1995). So posterior times pseudo-prior is left invariant. Such
coefficients make a swap of the reference plausible, which those from the prior hardly ever do.
Applies to models with normal approximations where the order is inferred. Costs one pass over all
rows. Counts nothing.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.evidences.approximations import Approximations
from pasb.moves.independence import REFERENCE, Independence, log_ratios
from pasb.moves.move import Move, State
from pasb.orders.table import OrderTable


class PseudoPrior(Move):
    """Draw the reference from its pseudo-prior; tabulate pseudo-prior over prior."""

    def __init__(
        self, propose: Independence, approximations: Approximations, order_table: OrderTable
    ):
        super().__init__()
        self.propose, self.approximations, self.order_table = propose, approximations, order_table

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        reference = int(state.order[-1])
        gaussians = self.approximations.pseudo_priors()
        sticks = np.array([[reference, -1, len(state.order)]])
        own = gaussians[reference : reference + 1]
        self.propose(state, keys, sticks, own, 1, reference, REFERENCE)
        self.compare(state, gaussians)

    def compare(self, state: State, gaussians: np.ndarray) -> None:
        """Log-ratios of pseudo-prior to prior, for every category."""
        sampler, coef, out = (
            self.propose.sampler,
            state.parameters["coef"],
            self.order_table.reference,
        )
        if not sampler.shrinks:
            log_ratios(coef, gaussians, sampler.regression[1], out)
            return
        for s in range(len(coef)):  # each with rates of its own, on which the constant depends
            prior, one = sampler.regression_of(s)[1], slice(s, s + 1)
            log_ratios(coef[one], gaussians[one], prior, out[one])
            out[s] -= prior[1] @ np.log(prior[2])
