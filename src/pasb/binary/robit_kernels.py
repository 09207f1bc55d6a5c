"""The compiled half of `pasb.binary.robit`: each function is one step of a sweep.

`df`, `constant` and `pieces` stand for the t law; see `pasb.binary.t_law`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.logistic_kernels import COEFFICIENTS, LATENTS, NO_EXPERT, present_predictors
from pasb.binary.stretch import NARROW, WIDE
from pasb.binary.t_law import log_cdf, log_cdf_and_slope
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import BLOCK, weighted_gram
from pasb.sticks import ABSENT, FAILURE, SUCCESS
from pasb.variates.scalar import gamma, normal, open_stream, stream_key, truncated_t, uniform

LARGEST_DF = 1e6  # the continued fraction needs about sqrt(df) steps
LEAST_CURVATURE = 0.25  # of a row, as a share of its expectation

kernel = njit(cache=True, error_model="numpy", nogil=True)


@kernel
def log_success_and_failure(eta, df, constant, pieces, log_failure):
    """Turn linear predictors into log-probabilities; `eta` becomes that of success."""
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
    m(u) (m(u) - (log f)'(u)). Far on the wrong side, where a t law's log-likelihood is not
    concave, it is negative, and so it is kept from falling below a part of its expectation,
    m(u) m(-u). The approximation is a proposal; whatever it misses, the Metropolis-Hastings
    ratio puts right.
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
    """Log-likelihood of labels that all have one sign, and its derivatives."""
    total = 0.0
    for i in range(eta.size):
        value, slope = log_cdf_and_slope(sign * eta[i], df, constant, pieces)
        residual[i] = sign * weights[i] * slope
        total += weights[i] * value
    return total


@kernel
def sum_alone(eta, weights, sign, df, constant, pieces):
    """The log-likelihood of `residuals_and_sum`, bit by bit."""
    total = 0.0
    for i in range(eta.size):
        total += weights[i] * log_cdf(sign * eta[i], df, constant, pieces)
    return total


@kernel
def gibbs_step(
    blocks,
    weights,
    bounds,
    latents,
    linear_weights,
    used,
    scratch,
    gram,
    linear,
    scale,
    factor,
    padded_coef,
    df,
    parts,
    precision,
    seed,
    chain,
    sweep,
    stick,
    coef,
):
    """Draw latents given `coef`, then `coef` given the latents; False if that took a QR.

    `latents` to `padded_coef` are work space.
    """
    n = coef.shape[0]
    padded_coef[:n] = coef
    present_predictors(blocks, bounds, parts, padded_coef, latents)
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, LATENTS)
    draw_latents(weights, bounds, parts, df, key, latents, linear_weights, used)
    weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)
    for v in range(n):
        gram[v, v] += precision[v]
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, COEFFICIENTS)
    if draw_from_precision(gram[:n, :n], linear[:n], key, scale, factor, coef):
        return True
    centre = np.zeros(n)
    draw_by_qr(blocks, latents, linear_weights, precision, centre, key, scale, coef)
    return False


@kernel
def draw_latents(weights, bounds, parts, df, key, latents, linear_weights, used):
    """The latent z of each row given its label, then its scale w given z; w and w z are kept.

    A success means z > 0. Where the label is imputed z is not truncated: its sign is the
    label. The weight of a row is 0 or 1. Before, `latents` are the linear predictors.
    """
    used[:] = False
    latents[bounds[-1] :] = 0.0  # beyond the last row
    linear_weights[bounds[-1] :] = 0.0
    for s in range(parts.shape[0]):
        part = parts[s]
        for i in range(bounds[s], bounds[s + 1]):
            eta = latents[i]
            latents[i] = 0.0
            linear_weights[i] = 0.0
            if part == ABSENT or weights[i] == 0.0:
                continue
            lower = -eta if part == SUCCESS else -np.inf
            upper = -eta if part == FAILURE else np.inf
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
        if part != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def _stretched_log_likelihood(eta, factor, weights, bounds, parts, df, constant, pieces):
    """Log-likelihood of the observed labels when every linear predictor is stretched."""
    total = 0.0
    for s in range(parts.shape[0]):
        if parts[s] != SUCCESS and parts[s] != FAILURE:
            continue
        signed = factor if parts[s] == SUCCESS else -factor
        for i in range(bounds[s], bounds[s + 1]):
            total += weights[i] * log_cdf(signed * eta[i], df, constant, pieces)
    return total


@kernel
def scale_moves(
    eta, weights, bounds, parts, df, constant, pieces, ard, shape, rate, n_moves, key, coef
):
    """As `pasb.binary.stretch.scale_moves`: stretch `coef` by an accepted factor."""
    n = coef.shape[0]
    factor, law = 1.0, (df, constant, pieces)
    here = _stretched_log_likelihood(eta, factor, weights, bounds, parts, *law)
    here += coefficient_log_prior(coef, factor, ard, shape, rate)
    for move in range(n_moves):
        stream = open_stream(key, move)
        z, stream = normal(stream)
        u, stream = uniform(stream)
        step = z * (WIDE if move % 2 == 0 else NARROW)
        proposed = factor * math.exp(step)
        there = _stretched_log_likelihood(
            eta, proposed, weights, bounds, parts, df, constant, pieces
        )
        there += coefficient_log_prior(coef, proposed, ard, shape, rate)
        if math.log(u) < there - here + n * step:
            factor = proposed
            here = there
    for v in range(n):
        coef[v] *= factor
