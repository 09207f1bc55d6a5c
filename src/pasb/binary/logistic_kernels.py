"""The compiled half of `pasb.binary.logistic`; see `pasb.binary.linear_kernels` for the tuples.

Arguments as in `pasb.binary.linear_kernels`.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.linear_kernels import (
    COEFFICIENTS,
    LATENTS,
    NO_EXPERT,
    centre_half,
    present_predictors,
)
from pasb.numerics.compiled import elementwise, kernel, summing
from pasb.numerics.rows import BLOCK, weighted_gram
from pasb.numerics.vector import vector_log1p_exp_neg
from pasb.sticks import ABSENT, IMPUTED, SUCCESS
from pasb.variates.scalar import open_stream, polya_gamma, stream_key, uniform


@kernel
def gibbs_step(regression, work, roles, precision, seed, chain, sweep, stick, coef):
    """Draw latents given `coef`, then `coef` given the latents; False if that took a QR."""
    weighted_rows, prior, _ = regression
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, LATENTS)
    row_half(weighted_rows, work, roles, key, coef)
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, COEFFICIENTS)
    return centre_half(weighted_rows[0], prior, work, precision, key, coef)


@kernel
def row_half(weighted_rows, work, roles, key, coef):
    """Latents of every row given `coef`, and their sums X'WX and X'(h (label - 1/2))."""
    blocks, weights, bounds = weighted_rows
    latents, linear_weights, used, scratch, gram, linear, _, _, padded_coef = work
    padded_coef[: coef.shape[0]] = coef
    present_predictors(blocks, bounds, roles, padded_coef, latents)
    draw_latents(weights, bounds, roles, key, latents, linear_weights, used)
    weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)


@kernel
def latents_alone(weighted_rows, work, roles, key, coef):
    """The latents of `row_half` without their sums."""
    blocks, weights, bounds = weighted_rows
    latents, linear_weights, used, padded_coef = work[0], work[1], work[2], work[8]
    padded_coef[: coef.shape[0]] = coef
    present_predictors(blocks, bounds, roles, padded_coef, latents)
    draw_latents(weights, bounds, roles, key, latents, linear_weights, used)


@kernel
def draw_latents(weights, bounds, roles, key, latents, linear_weights, used):
    """Labels where they are imputed, w ~ PG(h, eta), and h (label - 1/2), row by row.

    Before, `latents` are the linear predictors.
    """
    used[:] = False
    latents[bounds[-1] :] = 0.0  # beyond the last row
    linear_weights[bounds[-1] :] = 0.0
    for s in range(roles.shape[0]):
        role = roles[s]
        for i in range(bounds[s], bounds[s + 1]):
            if role == ABSENT:
                latents[i] = 0.0
                linear_weights[i] = 0.0
                continue
            stream, eta = open_stream(key, i), latents[i]
            success = role == SUCCESS
            if role == IMPUTED:
                u, stream = uniform(stream)
                success = u * (1.0 + np.exp(-eta)) < 1.0
            latents[i], stream = polya_gamma(stream, weights[i], eta)
            linear_weights[i] = weights[i] * 0.5 if success else weights[i] * -0.5
        if role != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@elementwise
def log_success_and_failure(eta, log_failure):
    """Turn linear predictors into log-probabilities; `eta` becomes that of success."""
    for s in range(eta.shape[0]):
        e = eta[s]
        r = log_failure[s]
        for i in range(e.size):
            both = vector_log1p_exp_neg(abs(e[i]))
            r[i] = -max(e[i], 0.0) - both
            e[i] = min(e[i], 0.0) - both


@summing
def sum_logs_of(eta, weights, bounds, success, failure):
    """Sums of the log-probabilities over the rows of each category."""
    for s in range(bounds.shape[0] - 1):
        e = eta[bounds[s] : bounds[s + 1]]
        h = weights[bounds[s] : bounds[s + 1]]
        total_success = 0.0
        total_failure = 0.0
        for i in range(e.size):
            both = vector_log1p_exp_neg(abs(e[i]))
            total_success += h[i] * (min(e[i], 0.0) - both)
            total_failure -= h[i] * (max(e[i], 0.0) + both)
        success[s] = total_success
        failure[s] = total_failure
