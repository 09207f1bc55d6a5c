"""Newton's method for a stick whose rows are elsewhere, and proposals from what it finds.

`climbed` is `pasb.binary.laplace.laplace` as an asking (`pasb.numerics.asking`): one request a
step, so that many sticks climb together in a few passes over the rows. With many rows the
posterior of a stick is so close to normal that proposals from its approximation are nearly always
accepted. They have a wide second component, as those of `pasb.binary.bent_normal` have, but with a
smaller share: among many columns it only costs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import WIDTH, pack, solve, unpacked
from pasb.binary.coefficient_prior import CoefficientPrior, coefficient_log_prior
from pasb.binary.laplace import Laplace, factorise
from pasb.binary.row_requests import NEWTON, Answer, Request
from pasb.numerics.asking import Asking
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import draw_around, squared_distance

TOLERANCE = 1e-5  # half the squared Newton decrement
MOST_STEPS = 100
SHARE = 0.05  # of the wide component of a proposal
SHORTEST = 1e-6  # step

# mypy: disable-error-code="call-arg"


def climbed(
    roles: NDArray[np.int8], prior: CoefficientPrior, start: NDArray[np.float64]
) -> Asking[Laplace]:
    """Mode and curvature of the posterior of a stick, from a starting point."""
    n = len(start)
    scale, factor, step = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    here, value, length = start.copy(), -math.inf, 1.0
    at = here.copy()
    best: tuple[Any, ...] = ()
    for _ in range(MOST_STEPS):
        (answer,) = yield [Request(NEWTON, roles, at[None])]
        proposed = float(answer.sums[0].sum()) + prior.log_density(at)
        if proposed >= value or (math.isnan(value) and not math.isnan(proposed)):
            here, value, length = at.copy(), proposed, 1.0
            alpha = prior.precision_at(here)
            gradient = answer.slope[0] - alpha * here
            factorise(_square(answer, n), alpha, scale, factor)
            solve(scale, factor, gradient, step)
            best = scale.copy(), factor.copy()
            if 0.5 * float(gradient @ step) < TOLERANCE:
                break
        else:
            length *= 0.5
            if length < SHORTEST:
                break
        at = here + length * step
    if not best:
        raise np.linalg.LinAlgError("the log-likelihood is not finite where a stick starts")
    scale, factor = best
    log_determinant = float(2 * np.sum(np.log(np.diag(factor)) - np.log(scale)))
    evidence = value + 0.5 * n * math.log(2 * math.pi) - 0.5 * log_determinant
    return Laplace(pack(here, scale, factor, log_determinant, evidence), evidence)


def _square(answer: Answer, n: int) -> NDArray[np.float64]:
    gram = np.zeros((n, n))
    gram[np.tril_indices(n)] = answer.gram[0]
    return gram


@kernel
def draw_proposal(packed, share, key, out):
    """Draw coefficients from an approximation that is not bent, or from a wider one."""
    mode, scale, factor, _, _ = unpacked(packed)
    draw_around(mode, scale, factor, share, WIDTH, key, out)


@kernel
def proposal_log_weight(packed, at, prior):
    """Log of prior over proposal at some coefficients; the constant of the prior is left out."""
    mode, scale, factor, log_determinant, _ = unpacked(packed)
    n = mode.shape[0]
    distance = squared_distance(mode, scale, factor, at)
    narrow = math.log1p(-SHARE) - 0.5 * distance
    wide = math.log(SHARE) - n * math.log(WIDTH) - 0.5 * distance / WIDTH**2
    high, low = max(narrow, wide), min(narrow, wide)
    density = 0.5 * log_determinant - 0.5 * n * math.log(2 * math.pi)
    density += high + math.log1p(math.exp(low - high))
    return coefficient_log_prior(at, 1.0, prior) - density
