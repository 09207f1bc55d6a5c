"""What the update of a support vector machine draws for one row, column or proposal.

The source of the kernels of a GPU (`pasb.engines.cuda_hinge`), where threads share out rows and
columns. `pasb.binary.support_vector_kernels` and `pasb.binary.support_vector_stretch` draw the same
from the same streams, within the loops of a processor. `stream` is that of the row, the column or
the proposal.
"""

from __future__ import annotations

import math

from pasb.binary.precisions import within_bounds
from pasb.binary.support_vector_kernels import FARTHEST, GREATEST_LATENT
from pasb.binary.support_vector_link import log_odds
from pasb.binary.support_vector_stretch import NARROW, WIDE
from pasb.numerics.compiled import kernel
from pasb.sticks import IMPUTED, SUCCESS
from pasb.variates.scalar import gamma, inverse_gaussian, normal, uniform

LARGEST_EXPONENT = 700.0  # beyond it nothing is drawn

# mypy: disable-error-code="call-arg"


@kernel
def comes_in(u, odds):
    """Whether an event with these log-odds happens, by a uniform number."""
    return u * (1.0 + math.exp(min(-odds, LARGEST_EXPONENT))) < 1.0


@kernel
def row_latent(stream, role, eta, weight):
    """What a row pulls with, its linear weight, and whether its latent was cut off."""
    success = role == SUCCESS
    if role == IMPUTED:
        u, stream = uniform(stream)
        success = comes_in(u, log_odds(eta))
    label = 1.0 if success else -1.0
    gap = min(weight * abs(1.0 - label * eta), FARTHEST)
    mean = 1.0 / gap if gap > 0.0 else math.inf
    latent, stream = inverse_gaussian(stream, mean, 1.0)
    cut = latent > GREATEST_LATENT
    if cut:
        latent = GREATEST_LATENT
    pull = weight * weight * latent
    return pull, label * (weight + pull), cut


@kernel
def column_coefficient(stream, always, prior_log_odds, precision, curvature, slope):
    """The coefficient of a column, zero if it is out; see `spike_and_slab_step`.

    `stream` is that of the column, `always` whether every column is in, `prior_log_odds` those of
    being in, `precision` that of its prior; `curvature` and `slope` are what the rows say.
    """
    total = precision + curvature
    u, stream = uniform(stream)
    odds = prior_log_odds + 0.5 * (math.log(precision / total) + slope * slope / total)
    if always or comes_in(u, odds):
        z, stream = normal(stream)
        return slope / total + z / math.sqrt(total)
    return 0.0


@kernel
def prior_coefficient(stream, always, inclusion, precision):
    """The same from the prior."""
    u, stream = uniform(stream)
    z, stream = normal(stream)
    return z / math.sqrt(precision) if always or u < inclusion else 0.0


@kernel
def bounded_precision(stream, shape, rate):
    """A precision from its gamma distribution, within bounds."""
    draw, stream = gamma(stream, shape)
    return within_bounds(draw / rate)


@kernel
def stretch_proposal(stream, move):
    """The step of a log-factor, and the log of the uniform number that decides."""
    z, stream = normal(stream)
    u, stream = uniform(stream)
    return z * (WIDE if move % 2 == 0 else NARROW), math.log(u)
