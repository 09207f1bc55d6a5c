"""Scalar samplers on a counter-based stream, for use inside compiled kernels.

Every sampler takes a stream first and returns ``(value, stream)``. None raises:
invalid arguments give NaN, or -1 where the value is a count.
"""

from __future__ import annotations

from pasb.variates.scalar.binomials import binomial
from pasb.variates.scalar.crts import crt, crt_normal
from pasb.variates.scalar.gammas import gamma, log_gamma
from pasb.variates.scalar.inverse_gaussians import inverse_gaussian
from pasb.variates.scalar.poissons import poisson, zero_truncated_poisson
from pasb.variates.scalar.polya_gammas import polya_gamma, polya_gamma_exact, three_gammas
from pasb.variates.scalar.stream import next_bits, open_stream, stream_key, uniform, uniform_at
from pasb.variates.scalar.truncated import truncated_exponential, truncated_normal, truncated_t
from pasb.variates.scalar.ziggurat import exponential, normal

__all__ = [
    "binomial",
    "crt",
    "crt_normal",
    "exponential",
    "gamma",
    "inverse_gaussian",
    "log_gamma",
    "next_bits",
    "normal",
    "open_stream",
    "poisson",
    "polya_gamma",
    "polya_gamma_exact",
    "stream_key",
    "three_gammas",
    "truncated_exponential",
    "truncated_normal",
    "truncated_t",
    "uniform",
    "uniform_at",
    "zero_truncated_poisson",
]
