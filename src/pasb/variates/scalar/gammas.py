"""Gamma variates of any positive shape, and their logarithms.

Shapes down to 1e-300 occur in softplus regression, where nearly every draw is below
the smallest floating-point number. `log_gamma` works in logs throughout and never
underflows; `gamma` returns zero there.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.variates.jit import inlined_sampler, sampler
from pasb.variates.scalar.stream import uniform
from pasb.variates.scalar.ziggurat import exponential, normal

_SERIES_FROM = 1e5
"""Shape from which the acceptance test uses a series instead of a difference."""


@sampler
def _log_acceptance(scale, t):
    """Log of the acceptance probability, 3 scale (log(1 + t) - t + t^2/2 - t^3/3)."""
    if scale > _SERIES_FROM:
        # Here |t| < 0.03, and the difference would cancel.
        tail = 0.25 - t * (0.2 - t * (1.0 / 6.0 - t * (1.0 / 7.0 - t * (0.125 - t / 9.0))))
        return -3.0 * scale * t * t * t * t * tail
    return 3.0 * scale * (math.log1p(t) - t * (1.0 - t * (0.5 - t / 3.0)))


@inlined_sampler
def gamma_from_one(stream, shape):
    """Draw Gamma(shape, 1) for a finite shape >= 1 (Marsaglia and Tsang 2000)."""
    scale = shape - 1.0 / 3.0
    spread = 1.0 / math.sqrt(9.0 * scale)
    while True:
        x, stream = normal(stream)
        t = spread * x
        if t <= -1.0:
            continue
        cube = (1.0 + t) * (1.0 + t) * (1.0 + t)
        u, stream = uniform(stream)
        square = x * x
        if u < 1.0 - 0.0331 * square * square or math.log(u) < _log_acceptance(scale, t):
            return scale * cube, stream


@inlined_sampler
def gamma(stream, shape):
    """Draw Gamma(shape, 1); zero when the draw underflows, NaN unless shape > 0."""
    if not shape > 0.0:
        return np.nan, stream
    if shape == np.inf:
        return np.inf, stream
    if shape >= 1.0:
        return gamma_from_one(stream, shape)
    # Gamma(a) is Gamma(a + 1) times U^(1/a), and -log U is an exponential.
    e, stream = exponential(stream)
    x, stream = gamma_from_one(stream, shape + 1.0)
    return x * math.exp(-e / shape), stream


@inlined_sampler
def log_gamma(stream, shape):
    """Draw the logarithm of a Gamma(shape, 1); NaN unless shape > 0."""
    if not shape > 0.0:
        return np.nan, stream
    if shape == np.inf:
        return np.inf, stream
    if shape >= 1.0:
        x, stream = gamma_from_one(stream, shape)
        return math.log(x), stream
    e, stream = exponential(stream)
    x, stream = gamma_from_one(stream, shape + 1.0)
    return math.log(x) - e / shape, stream
