"""The scale of the coefficients, shared by all sticks: the mean of the rates of their prior.

Changes ``mean_rate``. Rates of layers are exponential with this mean, and its inverse has a gamma
prior (`pasb.binary.softplus_prior`), so given the rates of the categories on sticks its full
conditional is a gamma distribution, and drawing from it leaves the posterior invariant. Rates of
the reference take no part: they are no part of the model, and are drawn from the prior given the
new mean before anything else uses them. Applies to softplus models with ``rate="shared"``. Costs no
pass over the rows. Counts nothing.
"""

from __future__ import annotations

from pasb.binary.binary_model import Keys
from pasb.binary.softplus_prior import MEAN_RATE_PRIOR, draw_mean_rate
from pasb.moves.move import Move, State


class MeanRate(Move):
    """Draw the mean of the rates given those of the sticks."""

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        rates = state.parameters["rate"][state.order[:-1]]
        # sticks of the other moves are numbered up to three times the number of categories
        key = keys.at(3 * len(state.order))
        state.parameters["mean_rate"][:] = draw_mean_rate(
            key, rates.size, rates.sum(), MEAN_RATE_PRIOR
        )
