"""The compiled half of `pasb.binary.softplus`: one Gibbs update of one category.

The names follow the derivation there: a pair of row and expert is *active* when the
expert's latent count is not zero, its *exposure* starts from the time of the first arrival
(1 when there is none) and grows into v_T (q_T) layer by layer.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.base import ABSENT, IMPUTED, SUCCESS
from pasb.binary.logistic_kernels import kernel
from pasb.binary.softplus_heavy import draw_with_heavy_rows
from pasb.binary.softplus_link import LINEAR_BELOW, LOG_OFF, add_layer, exponentials
from pasb.gaussian import draw_from_precision
from pasb.rows import BLOCK, linear_predictors, weighted_gram
from pasb.variates.scalar import (
    exponential,
    open_stream,
    polya_gamma,
    stream_key,
    uniform,
)
from pasb.variates.scalar.gammas import gamma_from_one

# Kinds of streams; those of layer t are numbered from (t + 1) * KINDS on.
LATENTS, COEFFICIENTS, PRECISIONS, HYPERS = (np.int64(k) for k in range(4))
KINDS = np.int64(4)
NO_EXPERT = np.int64(-1)

LEAST_THETA, GREATEST_THETA = 1e-300, 1e300
LEAST_PIVOT = 1e-5  # of a matrix with unit diagonal; smaller ones have lost ten digits
FROZEN = 1e20  # latent weight that stands for all larger ones
LOG_RARE = -60.0  # with rates below e^-60 two arrivals in one row do not happen


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
def draw_active(log_rate, rate, left, impute, stream, active):
    """Which experts have an arrival in this row, given that one has; False if none has.

    `log_rate` are the logs of r_k q_T. With `impute` the label is drawn first.
    """
    n_experts = log_rate.size
    # where all rates underflow they are lifted together: only their ratios count then
    lift = max(0.0, LOG_RARE - np.max(log_rate))
    total = 0.0
    for k in range(n_experts - 1, -1, -1):
        rate[k] = math.exp(min(log_rate[k] + lift, 690.0))
        total += rate[k]
        left[k] = total
        active[k] = 0
    if impute:
        u, stream = uniform(stream)
        if u >= -math.expm1(-total):
            return False, stream
    some = False
    for k in range(n_experts):
        # once there is an arrival, the experts that are left are free
        bound = 1.0 if some else -math.expm1(-left[k])
        u, stream = uniform(stream)
        if u * bound < -math.expm1(-rate[k]):
            active[k] = 1
            some = True
    if not some:  # by rounding only
        active[np.argmax(log_rate)] = 1
    return True, stream


@kernel
def draw_log_arrival(log_rate, log_weight, log_q, stream):
    """Log of the time of the first arrival, at rate r_k, given that it is before q_T."""
    u, stream = uniform(stream)
    if log_rate < LINEAR_BELOW:
        return math.log(u) + log_q, stream
    rate = math.exp(min(log_rate, 690.0))
    log_v = math.log(-math.log1p(u * math.expm1(-rate))) - log_weight
    return min(log_v, log_q), stream


@kernel
def draw_latents(psi, log_q, q, log_weight, off, labels, row, key, active, log_exposure, theta):
    """Arrivals and theta of one block, from their exact joint law given the labels.

    `psi` to `q` and `theta` are (experts, layers, BLOCK), `active` and `log_exposure`
    (experts, BLOCK). The lowest theta is integrated out and not drawn.
    """
    n_experts, n_layers, _ = psi.shape
    log_rate, rate, left = np.empty(n_experts), np.empty(n_experts), np.empty(n_experts)
    flags = np.zeros(n_experts, dtype=np.int8)
    top = n_layers - 1
    for i in range(BLOCK):
        log_exposure[:, i] = 0.0
        active[:, i] = 0
        if labels[i] == ABSENT:
            continue
        stream = open_stream(key, row + i)
        if labels[i] == SUCCESS or labels[i] == IMPUTED:
            for k in range(n_experts):
                log_rate[k] = log_weight[k] + log_q[k, top, i]
            impute = labels[i] == IMPUTED
            success, stream = draw_active(log_rate, rate, left, impute, stream, flags)
            if success:
                active[:, i] = flags
        for k in range(n_experts):
            if off[k]:
                continue
            n = np.int64(active[k, i])
            log_v = 0.0
            if n == 1:
                log_v, stream = draw_log_arrival(
                    log_rate[k], log_weight[k], log_q[k, top, i], stream
                )
            shape = math.exp(log_weight[k])
            for t in range(top, 0, -1):
                end = math.exp(log_v) if n == 1 else q[k, t, i]
                # Gamma(a) is Gamma(a + 1) times exp(-E / a), where that may underflow
                exponent = psi[k, t, i] - end
                shape += n
                if shape < 1.0:
                    e, stream = exponential(stream)
                    exponent -= e / shape
                    shape += 1.0
                x, stream = gamma_from_one(stream, shape)
                shape = min(max(x * math.exp(exponent), LEAST_THETA), GREATEST_THETA)
                theta[k, t, i] = shape
                if n == 1:
                    log_v = min(log_expm1(log_v, end) - psi[k, t, i], log_q[k, t - 1, i])
            if n == 1:
                log_u = log_expm1(log_v, math.exp(log_v)) - psi[k, 0, i]
                log_exposure[k, i] = min(log_u, 0.0)


@kernel
def log_expm1(log_v, v):
    """log(e^v - 1), for v of any size."""
    if log_v < LINEAR_BELOW:
        return log_v
    return v + math.log1p(-math.exp(-v)) if v > 1.0 else math.log(math.expm1(v))


@kernel
def draw_polya_gammas(psi, log_exposure, active, shape, labels, row, key, weights, linear):
    """w ~ PG(shape + n, psi + log exposure), and the row's share of the linear term.

    All are rows of one block, but for `weights` and `linear`. The linear term is that of the
    step from the present coefficients, (n - shape) / 2 - w (psi + log exposure): its parts
    nearly cancel, and for a theta of 1e17 nothing would be left of the coefficients if that
    were left to the sums. A row with w > 1e20 keeps its psi to ten digits and more, so a step
    of 1e-10 or so stands for the one that cannot be represented. Returns their number.
    """
    n_frozen = 0
    for i in range(BLOCK):
        if labels[i] == ABSENT:
            weights[row + i] = 0.0
            linear[row + i] = 0.0
            continue
        n = np.float64(active[i])
        h, c = shape[i] + n, psi[i] + log_exposure[i]
        w, _ = polya_gamma(open_stream(key, row + i), min(h, FROZEN * FROZEN), c)
        if w > FROZEN:
            n_frozen += 1
            weights[row + i] = FROZEN
            linear[row + i] = 0.0
        else:
            weights[row + i] = w
            linear[row + i] = 0.5 * (n - shape[i]) - w * c
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
