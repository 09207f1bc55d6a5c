"""Random variates on counter-based streams, exact over the whole range of arguments.

The functions here work on arrays. Inside compiled kernels use the scalar samplers of
`pasb.variates.scalar`, which draw the same numbers from the same keys.
"""

from __future__ import annotations

from pasb.variates.continuous import (
    exponential,
    gamma,
    inverse_gaussian,
    log_gamma,
    normal,
    polya_gamma,
    truncated_normal,
    truncated_t,
    uniform,
)
from pasb.variates.counts import binomial, crt, poisson, zero_truncated_poisson
from pasb.variates.moments import polya_gamma_mean, polya_gamma_variance

__all__ = [
    "binomial",
    "crt",
    "exponential",
    "gamma",
    "inverse_gaussian",
    "log_gamma",
    "normal",
    "poisson",
    "polya_gamma",
    "polya_gamma_mean",
    "polya_gamma_variance",
    "truncated_normal",
    "truncated_t",
    "uniform",
    "zero_truncated_poisson",
]
