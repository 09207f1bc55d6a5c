"""The compiled half of `pasb.binary.softplus`: one Gibbs update of one category.

The names follow the derivation there: a pair of row and expert is *active* when the
expert's latent count is not zero, its *exposure* starts from the time of the first arrival
(1 when there is none) and grows into v_T (q_T) layer by layer.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.base import ABSENT
from pasb.binary.logistic_kernels import kernel
from pasb.binary.softplus_heavy import draw_with_heavy_rows
from pasb.binary.softplus_link import LOG_OFF, add_layer, exponentials
from pasb.binary.softplus_rows import draw_row, draw_row_weight
from pasb.gaussian import draw_from_precision
from pasb.rows import BLOCK, linear_predictors, weighted_gram
from pasb.variates.scalar import open_stream, stream_key

# Kinds of streams; those of layer t are numbered from (t + 1) * KINDS on.
LATENTS, COEFFICIENTS, PRECISIONS, HYPERS = (np.int64(k) for k in range(4))
KINDS = np.int64(4)
NO_EXPERT = np.int64(-1)

LEAST_PIVOT = 1e-5  # of a matrix with unit diagonal; smaller ones have lost ten digits


@kernel
def mark_rows(bounds, parts, labels, used):
    """The part of every row, and the blocks that have a row with a part."""
    used[:] = False
    labels[:] = ABSENT
    for s in range(parts.shape[0]):
        if parts[s] != ABSENT and bounds[s + 1] > bounds[s]:
            labels[bounds[s] : bounds[s + 1]] = parts[s]
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def draw_latents(psi, log_q, q, log_weight, off, labels, row, key, active, log_exposure, theta):
    """Arrivals and theta of one block, from their exact joint law given the labels.

    `psi` to `q` and `theta` are (experts, layers, BLOCK), `active` and `log_exposure`
    (experts, BLOCK). The lowest theta is integrated out and not drawn.
    """
    n_experts = psi.shape[0]
    log_rate, rate, left = np.empty(n_experts), np.empty(n_experts), np.empty(n_experts)
    for i in range(BLOCK):
        if labels[i] == ABSENT:
            log_exposure[:, i] = 0.0
            active[:, i] = 0
            continue
        draw_row(
            psi[:, :, i],
            log_q[:, :, i],
            q[:, :, i],
            log_weight,
            off,
            labels[i],
            open_stream(key, row + i),
            log_rate,
            rate,
            left,
            active[:, i],
            log_exposure[:, i],
            theta[:, :, i],
        )


@kernel
def draw_polya_gammas(psi, log_exposure, active, shape, labels, row, key, weights, linear):
    """Polya-Gamma variables of one block, and the rows' shares of the linear term.

    All are rows of one block, but for `weights` and `linear`. Returns the number of frozen
    rows.
    """
    n_frozen = 0
    for i in range(BLOCK):
        if labels[i] == ABSENT:
            weights[row + i] = 0.0
            linear[row + i] = 0.0
            continue
        weights[row + i], linear[row + i], frozen = draw_row_weight(
            shape[i], np.float64(active[i]), psi[i] + log_exposure[i], open_stream(key, row + i)
        )
        n_frozen += frozen
    return n_frozen


@kernel
def gibbs_step(
    blocks,
    bounds,
    parts,
    labels,
    used,
    psi,
    theta,
    active,
    log_exposure,
    weights,
    linear_weights,
    scratch,
    gram,
    linear,
    scale,
    factor,
    padded_coef,
    off,
    weight,
    precision,
    seed,
    chain,
    sweep,
    stick,
    coef,
    n_active,
    exposure,
):
    """Latents of all layers from scratch, then the coefficients layer by layer, upward.

    `labels` to `padded_coef` are work space; experts that are `off` are passed over. Returns
    the numbers of QR decompositions and of frozen rows; `n_active` and `exposure` are the
    sums that the weights depend on.
    """
    n_blocks = blocks.shape[0]
    n_experts, n_layers, n = coef.shape
    log_weight = np.empty(n_experts)
    for k in range(n_experts):
        log_weight[k] = LOG_OFF if off[k] else math.log(weight[k])
    flat_shape = np.empty(BLOCK)
    n_qr = 0
    n_frozen = 0
    step = np.empty(n)
    mark_rows(bounds, parts, labels, used)
    for k in range(n_experts):
        for t in range(n_layers):
            padded_coef[k * n_layers + t, :n] = coef[k, t]
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, LATENTS)
    log_q = np.empty((n_experts, n_layers, BLOCK))
    q = np.empty((n_experts, n_layers, BLOCK))
    for b in range(n_blocks):
        if not used[b]:
            continue
        start = b * BLOCK
        predictors = psi[b].reshape(n_experts * n_layers, BLOCK)
        linear_predictors(blocks[b : b + 1], padded_coef, predictors)
        for k in range(n_experts):
            for t in range(n_layers):
                if t == 0:
                    log_q[k, t] = 0.0
                else:
                    log_q[k, t] = log_q[k, t - 1]
                add_layer(psi[b, k, t], log_q[k, t])
        exponentials(log_q.reshape(log_q.size), q.reshape(q.size))
        draw_latents(
            psi[b],
            log_q,
            q,
            log_weight,
            off,
            labels[start : start + BLOCK],
            start,
            key,
            active[b],
            log_exposure[b],
            theta[b],
        )
    for k in range(n_experts):
        n_active[k] = 0.0
        exposure[k] = 0.0
        if off[k]:
            continue
        for t in range(n_layers):
            layer = (np.int64(t) + 1) * KINDS
            key = stream_key(seed, chain, sweep, stick, k, layer + LATENTS)
            for b in range(n_blocks):
                if not used[b]:
                    weights[b * BLOCK : (b + 1) * BLOCK] = 0.0  # a QR reads all rows
                    continue
                if t < n_layers - 1:
                    flat_shape[:] = theta[b, k, t + 1]
                else:
                    flat_shape[:] = weight[k]
                start = b * BLOCK
                n_frozen += draw_polya_gammas(
                    psi[b, k, t],
                    log_exposure[b, k],
                    active[b, k],
                    flat_shape,
                    labels[start : start + BLOCK],
                    start,
                    key,
                    weights,
                    linear_weights,
                )
            weighted_gram(blocks, weights, linear_weights, used, scratch, gram, linear)
            for v in range(n):
                gram[v, v] += precision[k, t, v]
                linear[v] -= precision[k, t, v] * coef[k, t, v]
            key = stream_key(seed, chain, sweep, stick, k, layer + COEFFICIENTS)
            drawn = draw_from_precision(gram[:n, :n], linear[:n], key, scale, factor, step)
            if not drawn or np.min(np.diag(factor)) < LEAST_PIVOT:
                n_qr += 1
                draw_with_heavy_rows(
                    blocks,
                    weights,
                    used,
                    precision[k, t],
                    linear[:n],
                    key,
                    scratch,
                    gram,
                    scale,
                    factor,
                    step,
                )
            coef[k, t] += step
            padded_coef[0, :n] = coef[k, t]
            for b in range(n_blocks):
                if used[b]:
                    row = psi[b, k, t].reshape(1, BLOCK)
                    linear_predictors(blocks[b : b + 1], padded_coef[:1], row)
                    add_layer(psi[b, k, t], log_exposure[b, k])
        for b in range(n_blocks):
            if used[b]:
                for i in range(BLOCK):
                    if labels[b * BLOCK + i] != ABSENT:
                        n_active[k] += active[b, k, i]
                        exposure[k] += math.exp(min(log_exposure[b, k, i], 690.0))
    return n_qr, n_frozen
