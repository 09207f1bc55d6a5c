"""The compiled half of `reproduction.peers.multinomial_logit`: a sweep over the categories."""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.linear_kernels import draw_precisions
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import linear_predictors, weighted_gram
from pasb.variates.scalar import open_stream, polya_gamma, stream_key

# Layers of the stream.
LATENTS, COEFFICIENTS, PRECISIONS = (np.int64(k) for k in range(3))
NO_EXPERT = np.int64(0)


@kernel
def log_sum_of_others(eta, category, row):
    """Log of the summed exp(eta) of all categories but one, the reference's 0 included."""
    largest = 0.0
    for j in range(eta.shape[0]):
        if j != category and eta[j, row] > largest:
            largest = eta[j, row]
    total = math.exp(-largest)
    for j in range(eta.shape[0]):
        if j != category:
            total += math.exp(eta[j, row] - largest)
    return largest + math.log(total)


@kernel
def draw_latents(eta, weights, bounds, category, key, latents, linear_weights):
    """Polya-Gamma variates of one category given the others, row by row.

    With C_i the log of the others' summed exp(eta), category s is a logistic regression
    with predictor eta_is - C_i: w_i ~ PG(h_i, eta_is - C_i), and the linear term has the
    weights h_i (1(y_i = s) - 1/2) + w_i C_i (Polson, Scott and Windle 2013, section 6).
    """
    for i in range(weights.shape[0]):
        others = log_sum_of_others(eta, category, i)
        w, _ = polya_gamma(open_stream(key, i), weights[i], eta[category, i] - others)
        inside = bounds[category] <= i < bounds[category + 1]
        latents[i] = w
        linear_weights[i] = weights[i] * (0.5 if inside else -0.5) + w * others


@kernel
def softmax_sweep(
    blocks, weights, bounds, ard, shape, rate, seed, chain, sweep, coef, precision, eta
):
    """Draw coefficients and precisions of each category but the last, given the others.

    Parameters
    ----------
    blocks, weights, bounds : arrays
        As in `pasb.numerics.rows.Rows`.
    ard : bool
        Whether precisions are drawn.
    shape, rate : float
    seed, chain, sweep : int
        Name the random stream.
    coef, precision : arrays of shape (n_categories - 1, n_columns)
        The state, replaced.
    eta : array of shape (n_categories - 1, rows of the blocks)
        Linear predictors of `coef`, replaced.

    Returns
    -------
    int
        How often Cholesky failed and a QR decomposition took its place.
    """
    n_blocks, n_padded, size = blocks.shape
    n = coef.shape[1]
    latents = np.zeros(n_blocks * size)
    linear_weights = np.zeros(n_blocks * size)
    used = np.ones(n_blocks, dtype=np.bool_)
    scratch = np.empty((n_padded, size))
    gram = np.empty((n_padded, n_padded))
    linear = np.empty(n_padded)
    scale = np.empty(n)
    factor = np.empty((n, n))
    padded = np.zeros((1, n_padded))
    fallbacks = 0
    for s in range(coef.shape[0]):
        key = stream_key(seed, chain, sweep, s, NO_EXPERT, LATENTS)
        draw_latents(eta, weights, bounds, s, key, latents, linear_weights)
        weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)
        for v in range(n):
            gram[v, v] += precision[s, v]
        key = stream_key(seed, chain, sweep, s, NO_EXPERT, COEFFICIENTS)
        if not draw_from_precision(gram[:n, :n], linear[:n], key, scale, factor, coef[s]):
            centre = np.zeros(n)
            draw_by_qr(blocks, latents, linear_weights, precision[s], centre, key, scale, coef[s])
            fallbacks += 1
        padded[0, :n] = coef[s]
        linear_predictors(blocks, padded, eta[s : s + 1])
        key = stream_key(seed, chain, sweep, s, NO_EXPERT, PRECISIONS)
        draw_precisions(coef[s], (ard, shape, rate), key, precision[s])
    return fallbacks


@kernel
def softmax_log_likelihood(eta, weights, bounds):
    """Weighted sum of the log-probabilities of the rows' own categories."""
    total = 0.0
    last = bounds.shape[0] - 2
    for s in range(last + 1):
        for i in range(bounds[s], bounds[s + 1]):
            own = eta[s, i] if s < last else 0.0
            total += weights[i] * (own - log_sum_of_others(eta, -1, i))
    return total


@kernel
def softmax_probabilities(rows, coef, out):
    """``out[d, i]``: class probabilities of row i under draw d; the last class has eta 0.

    `coef` is (draws, categories - 1, columns); a row's result depends on that row alone.
    """
    n_free = coef.shape[1]
    for d in range(coef.shape[0]):
        for i in range(rows.shape[0]):
            p = out[d, i]
            largest = 0.0
            for s in range(n_free):
                total = 0.0
                for v in range(rows.shape[1]):
                    total += rows[i, v] * coef[d, s, v]
                p[s] = total
                largest = max(largest, total)
            p[n_free] = math.exp(-largest)
            whole = p[n_free]
            for s in range(n_free):
                p[s] = math.exp(p[s] - largest)
                whole += p[s]
            for s in range(n_free + 1):
                p[s] /= whole
