"""The compiled half of `pasb.binary.robit`: each function is one step of a sweep.

``link = (df, constant, pieces)`` stands for the t distribution; see `pasb.binary.t_link`. Other
arguments as in `pasb.binary.linear_kernels`.
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
from pasb.binary.t_link import log_cdf, log_cdf_and_slope
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, weighted_gram
from pasb.sticks import ABSENT, FAILURE, SUCCESS
from pasb.variates.scalar import gamma, open_stream, stream_key, truncated_t

LARGEST_DF = 1e6  # the continued fraction needs about sqrt(df) steps
LEAST_CURVATURE = 0.25  # of a row, as a share of its expectation


@kernel
def log_success_and_failure(eta, df, constant, pieces, log_failure):
    """Turn linear predictors into log-probabilities; `eta` becomes that of success.

    `eta` and `log_failure` are (vectors, rows).
    """
    for s in range(eta.shape[0]):
        for i in range(eta.shape[1]):
            x = eta[s, i]
            eta[s, i] = log_cdf(x, df, constant, pieces)
            log_failure[s, i] = log_cdf(-x, df, constant, pieces)


@kernel
def sum_logs_of(eta, weights, bounds, df, constant, pieces, success, failure):
    """Sums of the log-probabilities over the rows of each category."""
    for s in range(bounds.shape[0] - 1):
        success[s] = 0.0
        failure[s] = 0.0
        for i in range(bounds[s], bounds[s + 1]):
            success[s] += weights[i] * log_cdf(eta[i], df, constant, pieces)
            failure[s] += weights[i] * log_cdf(-eta[i], df, constant, pieces)


@kernel
def newton_terms(eta, label, weights, df, constant, pieces, curvature, residual, total):
    """Curvatures and residuals of rows with one label; adds their log-likelihood to `total`.

    With u the linear predictor towards the label and m(u) = f(u) / F(u), the curvature is
    m(u) (m(u) - (log f)'(u)). Far on the wrong side, where a t distribution's log-likelihood is not
    concave, it is negative, and so it is kept from falling below a part of its expectation,
    m(u) m(-u). The approximation is a proposal; whatever it misses, the Metropolis-Hastings
    ratio puts right. `label` is 0 or 1, and `curvature` becomes minus the second derivatives.
    """
    sign = 2.0 * label - 1.0
    for i in range(eta.size):
        curvature[i] = 0.0
        residual[i] = 0.0
        if weights[i] == 0.0:
            continue
        u = sign * eta[i]
        log_right, ratio = log_cdf_and_slope(u, df, constant, pieces)
        _, other = log_cdf_and_slope(-u, df, constant, pieces)
        fall = u if df == np.inf else (df + 1.0) * u / (df + u * u)
        least = LEAST_CURVATURE * ratio * other
        curvature[i] = weights[i] * max(ratio * (ratio + fall), least)
        residual[i] = weights[i] * sign * ratio
        total += weights[i] * log_right
    return total


@kernel
def residuals_and_sum(eta, weights, sign, df, constant, pieces, residual):
    """Log-likelihood of labels that all have one `sign`, 1 or -1, and its derivatives."""
    total = 0.0
    for i in range(eta.size):
        value, slope = log_cdf_and_slope(sign * eta[i], df, constant, pieces)
        residual[i] = sign * weights[i] * slope
        total += weights[i] * value
    return total


@kernel
def sum_alone(eta, weights, sign, df, constant, pieces):
    """The log-likelihood of `residuals_and_sum`, bit by bit; `sign` is as there."""
    total = 0.0
    for i in range(eta.size):
        total += weights[i] * log_cdf(sign * eta[i], df, constant, pieces)
    return total


@kernel
def gibbs_step(regression, work, roles, precision, seed, chain, sweep, stick, coef):
    """Draw latents given `coef`, then `coef` given the latents; False if that took a QR."""
    weighted_rows, prior, (df, _, _) = regression
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, LATENTS)
    row_half(weighted_rows, work, df, roles, key, coef)
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, COEFFICIENTS)
    return centre_half(weighted_rows[0], prior, work, precision, key, coef)


@kernel
def row_half(weighted_rows, work, df, roles, key, coef):
    """Latents of every row given `coef`, and their sums X'WX and X'Wz."""
    blocks, weights, bounds = weighted_rows
    latents, linear_weights, used, scratch, gram, linear, _, _, padded_coef = work
    padded_coef[: coef.shape[0]] = coef
    present_predictors(blocks, bounds, roles, padded_coef, latents)
    draw_latents(weights, bounds, roles, df, key, latents, linear_weights, used)
    weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)


@kernel
def latents_alone(weighted_rows, work, df, roles, key, coef):
    """The latents of `row_half` without their sums."""
    blocks, weights, bounds = weighted_rows
    latents, linear_weights, used, padded_coef = work[0], work[1], work[2], work[8]
    padded_coef[: coef.shape[0]] = coef
    present_predictors(blocks, bounds, roles, padded_coef, latents)
    draw_latents(weights, bounds, roles, df, key, latents, linear_weights, used)


@kernel
def draw_latents(weights, bounds, roles, df, key, latents, linear_weights, used):
    """The latent z of each row given its label, then its scale w given z; w and w z are kept.

    A success means z > 0. Where the label is imputed z is not truncated: its sign is the
    label. The weight of a row is 0 or 1. Before, `latents` are the linear predictors.
    """
    used[:] = False
    latents[bounds[-1] :] = 0.0  # beyond the last row
    linear_weights[bounds[-1] :] = 0.0
    for s in range(roles.shape[0]):
        role = roles[s]
        for i in range(bounds[s], bounds[s + 1]):
            eta = latents[i]
            latents[i] = 0.0
            linear_weights[i] = 0.0
            if role == ABSENT or weights[i] == 0.0:
                continue
            lower = -eta if role == SUCCESS else -np.inf
            upper = -eta if role == FAILURE else np.inf
            residual, stream = truncated_t(open_stream(key, i), df, lower, upper)
            if df == np.inf:
                latents[i] = 1.0
                linear_weights[i] = eta + residual
                continue
            g, stream = gamma(stream, 0.5 * (df + 1.0))
            # the square of the residual may overflow, w times the residual never does
            latents[i] = 2.0 * g / (df + residual * residual)
            pull = 2.0 * g / (df / residual + residual)
            linear_weights[i] = latents[i] * eta + pull
        if role != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def stretched_log_likelihood(eta, factor, weights, bounds, roles, df, constant, pieces):
    """Log-likelihood of the observed labels when every predictor is stretched by `factor`."""
    total = 0.0
    for s in range(roles.shape[0]):
        if roles[s] != SUCCESS and roles[s] != FAILURE:
            continue
        signed = factor if roles[s] == SUCCESS else -factor
        for i in range(bounds[s], bounds[s + 1]):
            total += weights[i] * log_cdf(signed * eta[i], df, constant, pieces)
    return total
