"""The compiled half of `pasb.binary.softplus`: one Gibbs update of one category.

The names follow the derivation there: a pair of row and expert is *active* when the
expert's latent count is not zero, its *exposure* starts from the time of the first arrival
(1 when there is none) and grows into v_T (q_T) layer by layer.

Which experts are active in a row is drawn for all of them together (`draw_arrivals`). Given
that, experts know nothing of each other, and each is updated by itself (`update_expert`), by
several threads if there are some. Of all latents only theta of one expert is ever kept, and a
block of rows passes through the cache once a layer: predictors, latents and the share of the
Gram matrix are computed while it is there.

Arguments of the kernels of softplus models, with K experts of T layers, n columns, padded to
n_padded for vectorised code, and rows in n_blocks blocks of `BLOCK`:

- `blocks` (n_blocks, n_padded, BLOCK), of which one is `block`, `bounds` (n_groups + 1), `used`
  (n_blocks): covariates, where groups of rows begin (`pasb.numerics.rows.Rows`), and which blocks
  have a row that is not absent;
- `labels` (rows of all blocks or of one): the role of each row on the stick (`pasb.sticks`);
- `flags` (bytes, rows): a bit for each expert that is active in a row; of one expert, its byte;
- `coef`, `padded_coef` (K x T, n_padded) or, of one expert, (T, n), (T, n_padded);
- `precision` (T, n), (K, T, n) or, of one layer, (n);
- `weight`, `log_weight` (K) or float: r_k, and its log, `LOG_OFF` for experts that are off;
- `psi`, `log_q`, `q`: linear predictors, and q_t with its log, of a block by layer (T, BLOCK) or
  by expert (K, BLOCK), of a row (K, T);
- `active` (K) or (BLOCK), `log_exposure` (K) or (rows): whether experts are active, and the log of
  v_t;
- `shape` (rows): theta of the layer above, the shape of Polya-Gamma variables;
- `thetas` (T - 1, rows), `theta` (K, T): gamma variables of layers;
- `weights`, `linear` (rows): Polya-Gamma variables, and the rows' shares of the linear term;
- `rates`: work space of `pasb.binary.softplus_rows.draw_active`;
- `expert`, `t`, `row`, `stick` (int): which expert, layer, first row of a block, and stick;
- `key`, `noise` (uint64): of streams, whose row i belongs to row i of the table or to coefficient
  i;
- `keys`: seed, chain and sweep;
- `work`: that of `pasb.binary.softplus_update.expert_space`.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.softplus_heavy import draw_with_heavy_rows
from pasb.binary.softplus_link import add_layer, exponentials
from pasb.binary.softplus_rows import (
    draw_active,
    draw_expert,
    draw_row_weight,
    expert_stream,
    is_steep,
)
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import draw_from_precision
from pasb.numerics.rows import BLOCK, add_block, linear_predictors
from pasb.sticks import ABSENT, IMPUTED, SUCCESS
from pasb.variates.scalar import open_stream, stream_key

# Kinds of streams; those of layer t are numbered from (t + 1) * KINDS on.
LATENTS, COEFFICIENTS, PRECISIONS, HYPERS = (np.int64(k) for k in range(4))
KINDS = np.int64(4)
NO_EXPERT = np.int64(-1)

# mypy: disable-error-code="call-arg"

LEAST_PIVOT = 1e-5  # of a matrix with unit diagonal; smaller ones have lost ten digits


@kernel
def mark_rows(bounds, roles, labels, used):
    """The role of every row, and the blocks that have a row that is not absent."""
    used[:] = False
    labels[:] = ABSENT
    for s in range(roles.shape[0]):
        if roles[s] != ABSENT and bounds[s + 1] > bounds[s]:
            labels[bounds[s] : bounds[s + 1]] = roles[s]
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def any_success(labels):
    """Whether a row of a block is a success, or may be one."""
    some = False
    for i in range(BLOCK):
        some |= labels[i] in (SUCCESS, IMPUTED)
    return some


@kernel
def put_flags(active, flags):
    """Whether each expert is active in one row: expert k is bit k % 8 of ``flags[k // 8]``."""
    for j in range(flags.size):
        byte = 0
        for k in range(8 * j, min(8 * (j + 1), active.size)):
            byte |= active[k] << (k - 8 * j)
        flags[j] = byte


@kernel
def get_flags(flags, expert, active):
    """Whether one expert is active in the rows of one block; `flags` has its byte of each."""
    own = np.uint8(1 << expert % 8)
    for i in range(BLOCK):
        active[i] = (flags[i] & own) != 0


@kernel
def draw_arrivals(blocks, labels, used, coef, log_weight, key, psi, log_q, rates, active, flags):
    """Which experts are active, row by row; `flags` is (bytes, rows), see `put_flags`.

    `coef` is (experts x layers, padded columns). `psi` (layers, BLOCK), `log_q` (experts,
    BLOCK), `rates` (3, experts) and `active` (experts) are scratch.
    """
    n_layers, n_experts = psi.shape[0], log_q.shape[0]
    for b in range(blocks.shape[0]):
        start = b * BLOCK
        flags[:, start : start + BLOCK] = 0
        if not used[b] or not any_success(labels[start : start + BLOCK]):
            continue
        for k in range(n_experts):
            layers = coef[k * n_layers : (k + 1) * n_layers]
            linear_predictors(blocks[b : b + 1], layers, psi)
            log_q[k] = 0.0
            for t in range(n_layers):
                add_layer(psi[t], log_q[k])
        for i in range(BLOCK):
            label = labels[start + i]
            if label in (SUCCESS, IMPUTED):
                for k in range(n_experts):
                    rates[0, k] = log_weight[k] + log_q[k, i]
                stream = open_stream(key, start + i)
                imputed = label == IMPUTED
                draw_active(rates[0], rates[1], rates[2], imputed, stream, active)
                put_flags(active, flags[:, start + i])


@kernel
def draw_latents(
    psi, log_q, q, log_weight, weight, labels, active, expert, row, key, log_exposure, thetas
):
    """Arrivals and theta of one expert in one block; `psi` to `q` are (layers, BLOCK).

    ``thetas[t - 1]`` becomes theta of layer t; the lowest is integrated out.
    """
    for i in range(BLOCK):
        if labels[i] == ABSENT:
            log_exposure[i] = 0.0
        else:
            log_exposure[i] = draw_expert(
                psi,
                log_q,
                q,
                thetas,
                0,
                i,
                1,
                log_weight,
                weight,
                active[i] == 1,
                expert_stream(open_stream(key, row + i), expert),
            )


@kernel
def draw_polya_gammas(psi, log_exposure, active, shape, labels, row, key, weights, linear):
    """Polya-Gamma variables of one block, and the rows' shares of the linear term.

    Returns the number of frozen rows, and whether a row is steep.
    """
    n_frozen = 0
    some_steep = False
    for i in range(BLOCK):
        if labels[i] == ABSENT:
            weights[i] = 0.0
            linear[i] = 0.0
            continue
        weights[i], linear[i], frozen = draw_row_weight(
            shape[i], np.float64(active[i]), psi[i] + log_exposure[i], open_stream(key, row + i)
        )
        n_frozen += frozen
        some_steep |= is_steep(weights[i], linear[i])
    return n_frozen, some_steep


@kernel
def draw_all_polya_gammas(
    blocks, labels, used, flags, expert, padded_coef, log_exposure, shape, key, active, psi
):
    """The Polya-Gamma variables and shares of all blocks once more, and this time kept.

    Draws are named by their keys, so they are the same; only a QR needs all of them at once.
    `shape` is that of every row, or BLOCK times the same.
    """
    n_rows = log_exposure.size
    weights, shares = np.zeros(n_rows), np.zeros(n_rows)
    for b in range(blocks.shape[0]):
        start = b * BLOCK
        rows = slice(start, start + BLOCK)
        if used[b]:
            get_flags(flags[rows], expert, active)
            linear_predictors(blocks[b : b + 1], padded_coef, psi)
            draw_polya_gammas(
                psi[0],
                log_exposure[rows],
                active,
                shape[rows] if shape.size == n_rows else shape,
                labels[rows],
                start,
                key,
                weights[rows],
                shares[rows],
            )
    return weights, shares


@kernel
def update_expert(rows, work, weights, precision, keys, stick, expert, coef, sums):
    """Latents of one expert from scratch, then its coefficients layer by layer, upward.

    Parameters
    ----------
    rows : tuple
        ``blocks``; ``labels`` and ``flags`` of every row, the latter with the byte of this expert;
        and ``used``, which blocks have a row that is not absent.
    work : tuple
        See `pasb.binary.softplus_update`.
    weights : tuple
        The expert's weight r_k, and its log.
    precision, coef : array of shape (n_layers, n_columns)
    keys : tuple
        Seed, chain and sweep.
    sums : array of shape (2,)
        Become the number of active rows and the sum of the exposures.

    Returns
    -------
    int, int
        The numbers of QR decompositions and of frozen rows.
    """
    padded_coef, q = work[9], work[12]
    n_layers, n = coef.shape
    n_qr = 0
    n_frozen = 0
    padded_coef[:, :n] = coef
    q[0] = weights[0]  # the shape of the top layer, the same in every row
    for t in range(n_layers):
        base = (np.int64(t) + 1) * KINDS
        frozen, some_steep = row_half(rows, work, weights, keys, stick, expert, t)
        n_frozen += frozen
        noise = stream_key(*keys, stick, expert, base + COEFFICIENTS)
        if not centre_half(work, precision[t], noise, coef[t]) or some_steep:
            n_qr += 1
            draw_by_rows(rows, work, precision[t], keys, stick, expert, t, noise, coef[t])
        coef[t] += work[8]
        padded_coef[t, :n] = coef[t]
    sum_exposures(rows, work, expert, sums)
    return n_qr, n_frozen


@kernel
def row_half(rows, work, weights, keys, stick, expert, t):
    """Latents of a layer given the coefficients below it, and the sums X'WX and X'(...).

    Before the first layer all of an expert's latents are drawn. The number of frozen rows, and
    whether a row is steep.
    """
    blocks, labels, flags, used = rows
    active, log_exposure, thetas, scratch, gram, linear, _, _, _, padded_coef, psi, log_q, q = work
    n_layers = psi.shape[0]
    arrivals = stream_key(*keys, stick, NO_EXPERT, LATENTS)
    key = stream_key(*keys, stick, expert, (np.int64(t) + 1) * KINDS + LATENTS)
    row_weights, shares = q[n_layers], q[n_layers + 1]
    n_frozen = 0
    some_steep = False
    gram[:, :] = 0.0
    linear[:] = 0.0
    for b in range(blocks.shape[0]):
        start = b * BLOCK
        own = slice(start, start + BLOCK)
        if not used[b]:
            continue
        get_flags(flags[own], expert, active)
        if t == 0:
            linear_predictors(blocks[b : b + 1], padded_coef, psi)
            log_q[0] = 0.0
            add_layer(psi[0], log_q[0])
            for s in range(1, n_layers):
                log_q[s] = log_q[s - 1]
                add_layer(psi[s], log_q[s])
                exponentials(log_q[s], q[s])
            draw_latents(
                psi,
                log_q,
                q,
                weights[1],
                weights[0],
                labels[own],
                active,
                expert,
                start,
                arrivals,
                log_exposure[own],
                thetas[:, own],
            )
        else:
            # the layer below has new coefficients, this one has not
            linear_predictors(blocks[b : b + 1], padded_coef[t - 1 : t + 1], psi[t - 1 : t + 1])
            add_layer(psi[t - 1], log_exposure[own])
        frozen, steep = draw_polya_gammas(
            psi[t],
            log_exposure[own],
            active,
            q[0] if t == n_layers - 1 else thetas[t, own],
            labels[own],
            start,
            key,
            row_weights,
            shares,
        )
        n_frozen += frozen
        some_steep |= steep
        add_block(blocks[b], row_weights, shares, scratch, gram, linear)
    return n_frozen, some_steep


@kernel
def centre_half(work, precision, noise, coef):
    """Draw a step from `coef` given the sums of a row half; False where rounding spoils it."""
    _, _, _, _, gram, linear, scale, factor, step, _, _, _, _ = work
    n = coef.shape[0]
    for v in range(n):
        gram[v, v] += precision[v]
        linear[v] -= precision[v] * coef[v]
    drawn = draw_from_precision(gram[:n, :n], linear[:n], noise, scale, factor, step)
    return drawn and np.min(np.diag(factor)) >= LEAST_PIVOT


@kernel
def draw_by_rows(rows, work, precision, keys, stick, expert, t, noise, coef):
    """The step of `centre_half`, with heavy rows one by one."""
    blocks, labels, flags, used = rows
    active, log_exposure, thetas, scratch, gram, _, scale, factor, step, padded_coef, psi, _, q = (
        work
    )
    top = psi.shape[0] - 1
    key = stream_key(*keys, stick, expert, (np.int64(t) + 1) * KINDS + LATENTS)
    all_weights, all_shares = draw_all_polya_gammas(
        blocks,
        labels,
        used,
        flags,
        expert,
        padded_coef[t : t + 1],
        log_exposure,
        thetas[t] if t < top else q[0],
        key,
        active,
        psi[t : t + 1],
    )
    draw_with_heavy_rows(
        blocks,
        all_weights,
        all_shares,
        used,
        precision,
        -coef,
        noise,
        scratch,
        gram,
        scale,
        factor,
        step,
    )


@kernel
def sum_exposures(rows, work, expert, sums):
    """The number of active rows, and the sum of the exposures above all layers."""
    blocks, labels, flags, used = rows
    active, log_exposure, padded_coef, psi, q = work[0], work[1], work[9], work[10], work[12]
    top = psi.shape[0] - 1
    sums[:] = 0.0
    for b in range(blocks.shape[0]):
        if used[b]:
            own = slice(b * BLOCK, (b + 1) * BLOCK)
            linear_predictors(blocks[b : b + 1], padded_coef[top:], psi[top:])
            add_layer(psi[top], log_exposure[own])
            exponentials(log_exposure[own], q[0])
            get_flags(flags[own], expert, active)
            for i in range(BLOCK):
                if labels[b * BLOCK + i] != ABSENT:
                    sums[0] += active[i]
                    sums[1] += q[0, i]
