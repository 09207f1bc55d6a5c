"""Whether draws are good enough, in words, and what to change where they are not."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from pasb.posterior.diagnostics import Diagnostics
from pasb.posterior.limits import Limits
from pasb.sampling.draws import Draws

ERROR_LIMIT = 0.02  # of averaged class probabilities, in 95 % of the rows


def advice_on(
    draws: Draws,
    seen: Diagnostics,
    limits: Limits | None = None,
    checkpoint: str | os.PathLike | None = None,
) -> str | None:
    """What to change when the draws are poor or fewer than asked for; None when they are good.

    Parameters
    ----------
    draws : Draws
    seen : Diagnostics
        Of these draws.
    limits : Limits, optional
        How good they have to be.
    checkpoint : path, optional
        That of the run.
    """
    more = "A run with a checkpoint can be continued."
    if checkpoint is not None:
        more = f"The same fit continues from the checkpoint in '{os.fspath(checkpoint)}'."
    if draws.ended == "warm-up":
        sweeps = "1 sweep" if draws.n_warmup == 1 else f"{draws.n_warmup} sweeps"
        return (
            f"STOPPED IN THE WARM-UP, after {sweeps}: there are no draws from the "
            "posterior. The model holds the state that each chain had reached; do not use its "
            f"predictions. {more}"
        )
    made = f"after {draws.n_draws} of {draws.n_asked} draws of each chain"
    quality = _quality(draws, seen, limits or Limits())
    if not draws.interrupted:
        return quality
    by = "The time (max_seconds) was spent" if draws.ended == "time" else "The run was stopped"
    return f"{by} {made}. {quality or 'The model can be used as it is.'} {more}"


def convergence_in_words(
    draws: Draws,
    seen: Diagnostics,
    limits: Limits | None = None,
    checkpoint: str | os.PathLike | None = None,
) -> str:
    """How good the draws are, in a few sentences."""
    chains = "1 chain" if draws.n_chains == 1 else f"{draws.n_chains} chains"
    made = f"{chains} of {draws.n_draws} draws"
    advice = advice_on(draws, seen, limits, checkpoint)
    if advice is not None and draws.ended == "warm-up":
        return advice
    if advice is not None:
        return f"{made}. {advice}"
    known = "" if np.isnan(seen.usual_error) else f" {_known(seen, '')}"
    if np.isnan(seen.worst_rhat):
        return (
            f"{made}: the effective sample size is at least {seen.worst_ess:.0f}, but R-hat needs "
            "two chains of a direction. Whether another chain would find the same is not known."
        )
    return (
        f"{made}, and they are good: R-hat is at most {seen.worst_rhat:.3f}, the effective sample "
        f"size at least {seen.worst_ess:.0f}.{known}"
    )


def _quality(draws: Draws, seen: Diagnostics, limits: Limits) -> str | None:
    if draws.n_draws < 4:
        return f"{draws.n_draws} draws a chain are too few to judge: increase n_draws."
    apart = seen.worst_rhat > limits.rhat
    rhat = f"R-hat is up to {seen.worst_rhat:.2f} (should be below {limits.rhat:g})"
    ess = (
        f"the effective sample size is down to {seen.worst_ess:.0f} (should be above "
        f"{limits.ess:g})"
    )
    few = seen.worst_ess < limits.ess
    if not apart and not few:
        return None
    if seen.worst_rhat > max(limits.rhat, Limits().rhat) and seen.usual_error <= ERROR_LIMIT:
        return (
            f"The chains disagree: {rhat}. They stay in different modes, or are too short. "
            f"{_known(seen, ' nevertheless')} More chains (n_chains) reduce this error."
        )
    poor = " and ".join([rhat] * apart + [ess] * few)
    error = f" {_known(seen, ' only')}" if apart and seen.usual_error > ERROR_LIMIT else ""
    return f"The draws are not good enough yet: {poor}.{error} {_cure(draws, apart)}"


def _known(seen: Diagnostics, how: str) -> str:
    """How well the averages are known."""
    size = max(seen.usual_error, 0.001)
    return (
        f"Averaged class probabilities are{how} known to ± {size:.3f} (standard error between "
        "chains, in 95 % of the rows)."
    )


def _cure(draws: Draws, apart: bool) -> str:
    if not apart and draws.ended == "time":
        return "Allow more time."
    if not apart:
        return "Increase n_draws, or thin to keep fewer and less dependent draws."
    n_modes = max(
        len({_most_frequent(orders) for orders in draws.order[chains]})
        for chains in map(draws.of_direction, dict.fromkeys(draws.directions))
    )
    if n_modes > 1:
        return (
            f"The chains settled in {n_modes} different orders. Fix the order "
            "(order=model.orders_), or run more chains (n_chains)."
        )
    if draws.ended == "time":
        return "Allow more time; if that does not help, run more chains (n_chains)."
    return "Increase n_warmup, then n_draws; if that does not help, run more chains (n_chains)."


def _most_frequent(orders: NDArray[np.int64]) -> tuple[int, ...]:
    distinct, counts = np.unique(orders, axis=0, return_counts=True)
    return tuple(distinct[np.argmax(counts)].tolist())
