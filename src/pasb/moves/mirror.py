"""Swap the last two categories and the sign of the last stick's coefficients.

Changes the end of the order. For a symmetric binary model, whose prior does not know a sign
either, it leaves every probability as it is and is its own inverse. So it leaves the posterior
invariant without a ratio, and is done in every other sweep on average. Applies to logistic and
robit sticks where the order is inferred, unless a prior has a location other than zero. Costs next
to nothing. Counts `mirror_proposed` and `mirror_accepted`.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.moves.move import Move, State
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import stream_key, uniform_at

ZERO, ONE = np.int64(0), np.int64(1)  # plain ints would be compiled as constants


# mypy: disable-error-code="call-arg"


class Mirror(Move):
    """The mirror image of the last stick."""

    statistics = ("mirror_proposed", "mirror_accepted")

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        parameters = state.parameters
        coef, precision = parameters["coef"], parameters["precision"]
        self.counted += 1, mirror(state.order, coef, precision, tuple(keys))


@kernel
def mirror(order, coef, precision, keys):
    """Mirror the last stick, or leave it; whether it was done."""
    last = order.shape[0] - 1
    key = stream_key(*keys, np.int64(last + 1), ONE, ZERO)
    if uniform_at(key, ZERO) < 0.5:
        return False
    c, d = order[last - 1], order[last]
    coef[d] = -coef[c]
    precision[d] = precision[c]
    order[last - 1], order[last] = d, c
    return True
