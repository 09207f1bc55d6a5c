"""The compiled half of `pasb.binary.logistic`: each function is one step of a sweep.

They are few and large, because every call from Python costs some microseconds during
which other chains wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pasb.binary.base import ABSENT, IMPUTED, SUCCESS
from pasb.binary.scale_move import scale_moves
from pasb.gaussian import draw_from_precision
from pasb.rows import BLOCK, Rows, elementwise, linear_predictors, summing, weighted_gram
from pasb.variates.scalar import (
    gamma,
    normal,
    open_stream,
    polya_gamma,
    stream_key,
    uniform,
)
from pasb.vector import vector_log1p_exp_neg

LATENTS, COEFFICIENTS, PRECISIONS, SCALE = range(4)  # layers of the stream

kernel = njit(cache=True, error_model="numpy", nogil=True)


class Work(NamedTuple):
    """Work space of one chain."""

    latents: NDArray[np.float64]
    linear_weights: NDArray[np.float64]
    used: NDArray[np.bool_]
    padded_coef: NDArray[np.float64]
    gram: NDArray[np.float64]
    linear: NDArray[np.float64]
    scratch: NDArray[np.float64]
    scale: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows) -> Work:
        """Work space for a table."""
        n_blocks, n_padded, _ = rows.blocks.shape
        n_rows, n = n_blocks * BLOCK, rows.n_columns
        return cls(
            latents=np.zeros(n_rows),
            linear_weights=np.zeros(n_rows),
            used=np.zeros(n_blocks, dtype=np.bool_),
            padded_coef=np.zeros((1, n_padded)),
            gram=np.zeros((n_padded, n_padded)),
            linear=np.zeros(n_padded),
            scratch=np.zeros((n_padded, BLOCK)),
            scale=np.zeros(n),
            factor=np.zeros((n, n)),
        )


@kernel
def gibbs_step(rows, work, eta, parts, alpha, keys, stick, coef):
    """Draw latents given `eta`, then `coef` given the latents; False if Cholesky failed."""
    n = coef.shape[0]
    key = stream_key(keys.seed, keys.chain, keys.sweep, stick, 0, LATENTS)
    draw_latents(eta, rows, parts, key, work)
    weighted_gram(
        rows.blocks,
        work.latents,
        work.linear_weights,
        work.used,
        work.scratch,
        work.gram,
        work.linear,
    )
    for v in range(n):
        work.gram[v, v] += alpha[v]
    key = stream_key(keys.seed, keys.chain, keys.sweep, stick, 0, COEFFICIENTS)
    return draw_from_precision(
        work.gram[:n, :n], work.linear[:n], key, work.scale, work.factor, coef
    )


@kernel
def draw_latents(eta, rows, parts, key, work):
    """Labels where they are imputed, w ~ PG(h, eta), and h (label - 1/2), row by row."""
    bounds = rows.bounds
    work.used[:] = False
    for s in range(parts.shape[0]):
        part = parts[s]
        for i in range(bounds[s], bounds[s + 1]):
            if part == ABSENT:
                work.latents[i] = 0.0
                work.linear_weights[i] = 0.0
                continue
            stream = open_stream(key, i)
            success = part == SUCCESS
            if part == IMPUTED:
                u, stream = uniform(stream)
                success = u * (1.0 + np.exp(-eta[i])) < 1.0
            h = rows.weights[i]
            work.latents[i], stream = polya_gamma(stream, h, eta[i])
            work.linear_weights[i] = h * 0.5 if success else h * -0.5
        if part != ABSENT and bounds[s + 1] > bounds[s]:
            work.used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def stretch_and_draw_precisions(
    rows, work, eta, parts, prior, n_moves, keys, stick, coef, precision
):
    """Scale moves of `coef`, then its precisions; `eta` is scratch."""
    if n_moves > 0:
        work.padded_coef[0, : coef.shape[0]] = coef
        linear_predictors(rows.blocks, work.padded_coef, eta.reshape(1, eta.size))
        key = stream_key(keys.seed, keys.chain, keys.sweep, stick, 0, SCALE)
        scale_moves(
            eta,
            rows.weights,
            rows.bounds,
            parts,
            prior.ard,
            prior.shape,
            prior.rate,
            n_moves,
            key,
            coef,
        )
    key = stream_key(keys.seed, keys.chain, keys.sweep, stick, 0, PRECISIONS)
    draw_precisions(coef, prior.ard, prior.shape, prior.rate, key, precision)


@kernel
def draw_precisions(coef, ard, shape, rate, key, precision):
    """alpha_v ~ Gamma(shape + 1/2, rate + b_v^2 / 2), unless it is fixed."""
    if not ard:
        return
    for v in range(coef.shape[0]):
        draw, _ = gamma(open_stream(key, v), shape + 0.5)
        precision[v] = draw / (rate + 0.5 * coef[v] * coef[v])


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


@kernel
def sum_logs(rows, padded_coef, eta, success, failure):
    """Linear predictors, and sums of the log-probabilities over the rows of each category."""
    linear_predictors(rows.blocks, padded_coef, eta)
    for j in range(eta.shape[0]):
        _sum_logs_of(eta[j], rows.weights, rows.bounds, success[j], failure[j])


@summing
def _sum_logs_of(eta, weights, bounds, success, failure):
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
