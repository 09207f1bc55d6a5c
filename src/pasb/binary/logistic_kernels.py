"""The compiled half of `pasb.binary.logistic`: each function is one step of a sweep.

They are few and large, and take arrays or plain tuples of them rather than named tuples,
because every call from Python costs some time during which other chains wait: Numba finds out
the type of nine arguments in 0.7 microseconds, as a plain tuple or one by one, that of a named
tuple of them in twice that.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pasb.binary.precisions import within_bounds
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import BLOCK, elementwise, one_predictor, summing, weighted_gram
from pasb.numerics.vector import vector_log1p_exp_neg
from pasb.sticks import ABSENT, IMPUTED, SUCCESS
from pasb.variates.scalar import (
    gamma,
    normal,
    open_stream,
    polya_gamma,
    stream_key,
    uniform,
)

# Layers of the stream. For a plain int Numba would compile the callee once per value.
LATENTS, COEFFICIENTS, PRECISIONS, SCALE = (np.int64(k) for k in range(4))
NO_EXPERT = np.int64(0)

kernel = njit(cache=True, error_model="numpy", nogil=True)


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
    draw_latents(weights, bounds, parts, key, latents, linear_weights, used)
    weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)
    for v in range(n):
        gram[v, v] += precision[v]
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, COEFFICIENTS)
    if draw_from_precision(gram[:n, :n], linear[:n], key, scale, factor, coef):
        return True
    centre = np.zeros(n)
    draw_by_qr(blocks, latents, linear_weights, precision, centre, key, scale, coef)
    return False


@elementwise
def present_predictors(blocks, bounds, parts, padded_coef, out):
    """x'b of the rows that are not absent, and of those that share a block with them."""
    done = 0
    for s in range(parts.shape[0]):
        if parts[s] == ABSENT or bounds[s] == bounds[s + 1]:
            continue
        stop = (bounds[s + 1] - 1) // BLOCK + 1
        for k in range(max(done, bounds[s] // BLOCK), stop):
            one_predictor(blocks[k], padded_coef, out[k * BLOCK : (k + 1) * BLOCK])
        done = stop


@kernel
def draw_latents(weights, bounds, parts, key, latents, linear_weights, used):
    """Labels where they are imputed, w ~ PG(h, eta), and h (label - 1/2), row by row.

    Before, `latents` are the linear predictors.
    """
    used[:] = False
    latents[bounds[-1] :] = 0.0  # beyond the last row
    linear_weights[bounds[-1] :] = 0.0
    for s in range(parts.shape[0]):
        part = parts[s]
        for i in range(bounds[s], bounds[s + 1]):
            if part == ABSENT:
                latents[i] = 0.0
                linear_weights[i] = 0.0
                continue
            stream, eta = open_stream(key, i), latents[i]
            success = part == SUCCESS
            if part == IMPUTED:
                u, stream = uniform(stream)
                success = u * (1.0 + np.exp(-eta)) < 1.0
            latents[i], stream = polya_gamma(stream, weights[i], eta)
            linear_weights[i] = weights[i] * 0.5 if success else weights[i] * -0.5
        if part != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def draw_precisions(coef, ard, shape, rate, key, precision):
    """alpha_v ~ Gamma(shape + 1/2, rate + b_v^2 / 2), unless it is fixed."""
    if not ard:
        return
    for v in range(coef.shape[0]):
        draw, _ = gamma(open_stream(key, v), shape + 0.5)
        precision[v] = within_bounds(draw / (rate + 0.5 * coef[v] * coef[v]))


@kernel
def normals(key, out):
    """Fill `out` with standard normal variates."""
    for v in range(out.shape[0]):
        out[v], _ = normal(open_stream(key, v))


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
