"""Weights, precisions and their hyperparameters: the part of an update that sees no rows.

Everything is drawn in logs where it may underflow: the shape of a weight that is not needed
is gamma_0 / K, and gamma_0 may be tiny itself.

Arguments of one category, with K experts of T layers and n columns:

- `coef`, `precision` (K, T, n); `rate` (K, T): rates of the gamma priors of the precisions;
- `weight` (K), `mass` (1), `inverse_scale` (1): r_k, gamma_0 and c_0;
- `n_active`, `exposure` (K): active rows of each expert, and the sum of its exposures;
- `hypers` (4): shape and rate of the priors of gamma_0 and of c_0;
- `rate_prior` (2): shape and rate of the prior of the rates; shape 0 where these are fixed;
- `shape` (float), `ard` (bool): shape of the prior of the precisions; whether these are sampled;
- `seats` (float), `n_experts` (int): the sum of the CRT variables, and K;
- `seed`, `chain`, `sweep`, `stick` (int): what names the random numbers.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.precisions import GREATEST_PRECISION
from pasb.binary.softplus_kernels import COEFFICIENTS, HYPERS, KINDS, NO_EXPERT, PRECISIONS
from pasb.binary.softplus_link import LOG_LEAST
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import crt, gamma, log_gamma, normal, open_stream, stream_key

# Reached by near-improper priors only, which would lead to zero and infinity
LEAST_PRECISION, LEAST_RATE = 1e-12, 1e-100
# Where the mean of the rates is a parameter, its inverse has this gamma prior: the scale of the
# coefficients is then the inverse of a half-normal variable, with a median of 3 and a heavy tail.
MEAN_RATE_PRIOR = (0.5, 2.0)
# Where classes can be told apart without an error, any larger scale is as good. This bound, a scale
# of 100, leaves out 1.6 % of the prior; far beyond it (some 1000) updates lose their precision.
MOST_MEAN_RATE = 1e4
MOST_TRIES = 64
FIRST_MEAN_RATE = 8.0
NONE, ALL = np.int64(0), np.int64(1)
LOG_LEAST_MASS = LOG_LEAST + 20.0  # a share of it, gamma_0 / K, must not underflow


@kernel
def draw_seats(k, n_experts, n_active, mass, seed, chain, sweep, stick):
    """CRT(n_k, gamma_0 / K) of expert `k`, with its `n_active` and the number `mass`."""
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, HYPERS)
    seats, _ = crt(open_stream(key, k), np.int64(n_active), mass / n_experts)
    return seats


@kernel
def draw_weights(
    n_active, exposure, hypers, seed, chain, sweep, stick, weight, mass, inverse_scale
):
    """gamma_0 with the weights integrated out, then the weights, then c_0.

    In another order the stationary distribution would be another one. `mass` and `inverse_scale`
    are gamma_0 and c_0, arrays of one number; `hypers` are the shapes and rates of their priors.
    """
    n_experts = weight.size
    seats = 0.0
    for k in range(n_experts):
        seats += draw_seats(k, n_experts, n_active[k], mass[0], seed, chain, sweep, stick)
    draw_weights_given(
        seats, n_active, exposure, hypers, seed, chain, sweep, stick, weight, mass, inverse_scale
    )


@kernel
def draw_weights_given(
    seats, n_active, exposure, hypers, seed, chain, sweep, stick, weight, mass, inverse_scale
):
    """The same, with the sum of the CRT variables of all experts."""
    n_experts = weight.size
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, HYPERS)
    logs = 0.0
    for k in range(n_experts):
        logs += math.log1p(exposure[k] / inverse_scale[0])
    log_mass, _ = log_gamma(open_stream(key, n_experts), hypers[0] + seats)
    mass[0] = math.exp(max(log_mass - math.log(hypers[1] + logs / n_experts), LOG_LEAST_MASS))
    total = 0.0
    for k in range(n_experts):
        stream = open_stream(key, n_experts + 2 + k)
        log_r, _ = log_gamma(stream, mass[0] / n_experts + n_active[k])
        weight[k] = math.exp(max(log_r - math.log(inverse_scale[0] + exposure[k]), LOG_LEAST))
        total += weight[k]
    log_inverse_scale, _ = log_gamma(open_stream(key, n_experts + 1), hypers[2] + mass[0])
    inverse_scale[0] = math.exp(max(log_inverse_scale - math.log(hypers[3] + total), LOG_LEAST))


@kernel
def draw_precision(stream, coef, counted, shape, rate):
    """The precision of one coefficient, by `stream`; with `counted` 0 from the prior."""
    draw, _ = gamma(stream, shape + 0.5 * counted)
    x = draw / (rate + 0.5 * counted * coef**2)
    return min(max(x, LEAST_PRECISION), GREATEST_PRECISION)


@kernel
def draw_rate(stream, n, total, shape, rate_prior):
    """The rate of `n` precisions with the sum `total`, by `stream`."""
    draw, _ = gamma(stream, rate_prior[0] + n * shape)
    return max(draw / (rate_prior[1] + total), LEAST_RATE)


@kernel
def draw_mean_rate(key, n, total, prior):
    """The mean of `n` exponential rates with the sum `total`; `prior` is that of its inverse.

    Draws beyond the bound are made again.
    """
    stream = open_stream(key, np.int64(0))
    for _ in range(MOST_TRIES):
        draw, stream = gamma(stream, prior[0] + n)
        mean = 1.0 / max(draw / (prior[1] + total), LEAST_RATE)
        if mean <= MOST_MEAN_RATE:
            return mean
    return MOST_MEAN_RATE


@kernel
def draw_precisions(coef, counted, shape, rate_prior, seed, chain, sweep, stick, precision, rate):
    """Precisions given the coefficients, then their rates where these have a prior.

    `counted` is `ALL`; with `NONE` the coefficients do not count: draws from the prior.
    """
    n_experts, n_layers, n = coef.shape
    for k in range(n_experts):
        for t in range(n_layers):
            layer = (np.int64(t) + 1) * KINDS
            key = stream_key(seed, chain, sweep, stick, k, layer + PRECISIONS)
            total = 0.0
            for v in range(n):
                stream = open_stream(key, v)
                x = draw_precision(stream, coef[k, t, v], counted, shape, rate[k, t])
                precision[k, t, v] = x
                total += x
            if rate_prior[0] > 0.0 and counted == ALL:
                rate[k, t] = draw_rate(open_stream(key, n), n, total, shape, rate_prior)


@kernel
def draw_hypers_from_prior(
    hypers, rate_prior, seed, chain, sweep, stick, weight, rate, mass, inverse_scale
):
    """gamma_0, c_0, weights and rates of one category from the prior."""
    n_experts, n_layers = rate.shape
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, HYPERS)
    stream = open_stream(key, 0)
    x, stream = log_gamma(stream, hypers[0])
    mass[0] = math.exp(max(x - math.log(hypers[1]), LOG_LEAST_MASS))
    x, stream = log_gamma(stream, hypers[2])
    inverse_scale[0] = math.exp(max(x - math.log(hypers[3]), LOG_LEAST))
    for k in range(n_experts):
        x, stream = log_gamma(stream, mass[0] / n_experts)
        weight[k] = math.exp(max(x - math.log(inverse_scale[0]), LOG_LEAST))
        for t in range(n_layers):
            if rate_prior[0] > 0.0:
                x, stream = gamma(stream, rate_prior[0])
                rate[k, t] = max(x / rate_prior[1], LEAST_RATE)


@kernel
def draw_from_prior(
    hypers,
    ard,
    shape,
    rate_prior,
    seed,
    chain,
    sweep,
    stick,
    coef,
    weight,
    precision,
    rate,
    mass,
    inverse_scale,
):
    """All parameters of one category from the prior."""
    n_experts, n_layers, n = coef.shape
    draw_hypers_from_prior(
        hypers, rate_prior, seed, chain, sweep, stick, weight, rate, mass, inverse_scale
    )
    if ard:
        draw_precisions(coef, NONE, shape, rate_prior, seed, chain, sweep, stick, precision, rate)
    for k in range(n_experts):
        for t in range(n_layers):
            layer = (np.int64(t) + 1) * KINDS
            key = stream_key(seed, chain, sweep, stick, k, layer + COEFFICIENTS)
            for v in range(n):
                z, _ = normal(open_stream(key, v))
                coef[k, t, v] = z / math.sqrt(precision[k, t, v])
