"""The scale of all softplus coefficients at once, where it is a parameter.

Changes ``mean_rate``, and with it coefficients, rates and precisions of the sticks, which keep
their relation to it: a random-walk step of its log, accepted by the likelihoods of the sticks and
the prior of ``mean_rate``. In these coordinates the prior of all else does not depend on it, so
that is the Metropolis ratio, and the posterior is left invariant. The full conditional
(`pasb.moves.mean_rate`) is narrow, because there are many rates, and follows them slowly; here they
come along. The two together mix where neither does alone (interweaving: Yu and Meng 2011). Applies
to softplus models with ``rate="shared"`` whose sticks have plans (`pasb.evidences.annealed`). Costs
`PROPOSALS` + 1 gradients a stick. Counts `rescale_proposed` and `rescale_accepted`.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.binary_model import Keys
from pasb.binary.softplus_posterior import posterior_space
from pasb.binary.softplus_prior import MEAN_RATE_PRIOR, MOST_MEAN_RATE
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.binary.softplus_standard import standard_likelihood, standard_of
from pasb.binary.stick_rows import stick_rows
from pasb.moves.move import Move, State
from pasb.numerics.compiled import kernel
from pasb.sticks import ABSENT, Roles
from pasb.variates.scalar import normal, open_stream, uniform

PROPOSALS = 3
WIDTHS = (0.3, 0.8, 2.0)  # standard deviation of the log, one after the other


@kernel
def step_and_decision(key, i):
    """A normal and a uniform number."""
    z, stream = normal(open_stream(key, np.int64(i)))
    u, _ = uniform(stream)
    return z, u


class Rescale(Move):
    """Propose new scales, a few times."""

    statistics = ("rescale_proposed", "rescale_accepted")

    def __init__(self, sampler: SoftplusSampler, roles: Roles):
        super().__init__()
        self.sampler, self.roles = sampler, roles._replace(before=ABSENT)

    def __call__(self, state: State, keys: Keys) -> None:  # noqa: D102
        sampler, order, parameters = self.sampler, state.order, state.parameters
        first = log_mean = math.log(parameters["mean_rate"][0])
        sticks = []
        for stick, category in enumerate(order[:-1].tolist()):
            own = {name: values[category] for name, values in parameters.items()}
            rows = stick_rows(sampler.rows, self.roles.on_stick(order, stick))
            work = posterior_space(sampler.size, *rows.blocks.shape[1:])
            sticks.append((rows, work, standard_of(own, sampler.rate_prior(own))))
        log_target = self._log_target(sticks, log_mean)
        if not log_target > -math.inf:
            return  # beyond the bounds: it stays there
        # sticks of the other moves are numbered up to three times the number of categories
        key = keys.at(3 * len(order) + 1)
        for i in range(PROPOSALS):
            z, u = step_and_decision(key, i)
            proposed = log_mean + WIDTHS[i % len(WIDTHS)] * z
            new_target = self._log_target(sticks, proposed)
            self.counted[0] += 1
            if new_target > -math.inf and math.log(u) < new_target - log_target:
                log_mean, log_target = proposed, new_target
                self.counted[1] += 1
        if log_mean != first:
            factor, on_sticks = math.exp(log_mean - first), order[:-1]
            parameters["mean_rate"][:] = math.exp(log_mean)
            parameters["rate"][on_sticks] *= factor
            parameters["coef"][on_sticks] *= math.sqrt(factor)
            parameters["precision"][on_sticks] /= factor

    def _log_target(self, sticks: list[tuple], log_mean: float) -> float:
        """Log-likelihood of all sticks, and log-prior of the log of the mean rate."""
        sampler = self.sampler
        if log_mean > math.log(MOST_MEAN_RATE):
            return -math.inf
        inverse = math.exp(-log_mean)
        prior = sampler.shape, np.array([1.0, inverse]), sampler.hypers
        shape, rate = MEAN_RATE_PRIOR
        total = -shape * log_mean - rate * inverse
        for rows, work, position in sticks:
            total += standard_likelihood(rows, prior, position, work)
        return total
