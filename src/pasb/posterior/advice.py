"""When draws are good enough, and what to change when they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pasb.posterior.diagnostics import Diagnostics
    from pasb.sampling.draws import Draws

RHAT_LIMIT = 1.05
ESS_LIMIT = 100


def advice_on(draws: Draws, seen: Diagnostics) -> str | None:
    """What to change when the draws are poor; None when they are good."""
    if draws.interrupted:
        return (
            f"The run was stopped after {draws.n_draws} draws of each chain. The model can be "
            "used as it is; fit again with a checkpoint to be able to go on."
        )
    if draws.n_draws < 4:
        return f"{draws.n_draws} draws a chain are too few to judge: increase n_draws."
    poor = []
    if seen.worst_rhat > RHAT_LIMIT:
        poor.append(f"R-hat is up to {seen.worst_rhat:.2f} (should be below {RHAT_LIMIT})")
    if seen.worst_ess < ESS_LIMIT:
        poor.append(
            f"the effective sample size is down to {seen.worst_ess:.0f} (should be above "
            f"{ESS_LIMIT})"
        )
    if not poor:
        return None
    n_modes = max(
        len({tuple(_most_frequent(orders)) for orders in draws.order[draws.of_direction(name)]})
        for name in dict.fromkeys(draws.directions)
    )
    if n_modes > 1 and seen.worst_rhat > RHAT_LIMIT:
        cure = (
            f"The chains settled in {n_modes} different orders; their average is still a "
            "usable prediction, but its uncertainty depends on where the chains started. Fix "
            "the order (order=model.order_), or run more chains."
        )
    elif seen.worst_rhat > RHAT_LIMIT:
        cure = "Increase n_warmup, then n_draws."
    else:
        cure = "Increase n_draws, or thin to keep fewer and less dependent draws."
    return f"The draws are not good enough yet: {' and '.join(poor)}. {cure}"


def _most_frequent(orders: NDArray[np.int64]) -> NDArray[np.int64]:
    distinct, counts = np.unique(orders, axis=0, return_counts=True)
    return distinct[np.argmax(counts)]
