"""The compiled half of `pasb.binary.softplus_printed`: one printed update of one category.

`draw_counts` passes over the rows once, for all experts: theta downward, and the counts of
the lowest layer. Given those, experts know nothing of each other, and `update_expert` goes
upward through the layers of one of them.

Other arguments as in `pasb.binary.softplus_kernels`; `counts` (K, T, rows) or (T, rows) are the
latent counts of the layers, and `sums` what `update_expert` returns.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.softplus_counts import draw_kept_row, draw_new_row, is_kept, large_crt
from pasb.binary.softplus_heavy import draw_with_heavy_rows
from pasb.binary.softplus_kernels import (
    COEFFICIENTS,
    HYPERS,
    KINDS,
    LATENTS,
    NO_EXPERT,
    centre_half,
    draw_polya_gammas,
)
from pasb.binary.softplus_link import add_layer, exponentials
from pasb.numerics.compiled import kernel
from pasb.numerics.rows import BLOCK, add_block, linear_predictors
from pasb.sticks import ABSENT, SUCCESS
from pasb.variates.scalar import open_stream, stream_key

TABLES = HYPERS  # the kind of stream of CRT variables, which are drawn for every layer

# mypy: disable-error-code="call-arg"


@kernel
def draw_counts(rows, coef, log_weight, keys, stick, work, counts, thetas):
    """Theta and the counts of the lowest layer of every row that is not absent.

    Parameters
    ----------
    rows : tuple
        ``blocks``, ``labels`` and ``used`` as in `pasb.binary.softplus_kernels`.
    coef : array of shape (n_experts * n_layers, n_padded)
    log_weight : array of shape (n_experts,)
    keys : tuple
        Seed, chain and sweep.
    work : tuple
        See `pasb.binary.softplus_printed`.
    counts : array of shape (n_experts, n_layers, n_rows)
        Those of the update before; ``counts[:, 0]`` is drawn again.
    thetas : array of shape (n_experts, n_layers - 1, n_rows)
        ``thetas[:, t - 1]`` becomes theta of layer t, counted from 0; the lowest is not kept.
    """
    blocks, labels, used = rows
    off, all_psi, all_log_q, all_q, row_work, flat, active = work
    psi, log_q, q = row_work[0], row_work[1], row_work[2]
    own_counts, theta = row_work[3], row_work[4]
    log_rate, rate, left, log_exposure = flat[0], flat[1], flat[2], flat[3]
    n_experts, n_layers = psi.shape
    key = stream_key(*keys, stick, NO_EXPERT, LATENTS)
    count_key = stream_key(*keys, stick, NO_EXPERT, KINDS + LATENTS)
    for b in range(blocks.shape[0]):
        if not used[b]:
            continue
        linear_predictors(blocks[b : b + 1], coef, all_psi)
        for j in range(n_experts * n_layers):
            if j % n_layers == 0:
                all_log_q[j] = 0.0
            else:
                all_log_q[j] = all_log_q[j - 1]
            add_layer(all_psi[j], all_log_q[j])
            exponentials(all_log_q[j], all_q[j])
        for i in range(BLOCK):
            row = b * BLOCK + i
            label = labels[row]
            if label == ABSENT:
                continue
            for k in range(n_experts):
                for t in range(n_layers):
                    j = k * n_layers + t
                    psi[k, t], log_q[k, t], q[k, t] = all_psi[j, i], all_log_q[j, i], all_q[j, i]
                    own_counts[k, t] = counts[k, t, row]
            stream = open_stream(key, row)
            if is_kept(label, own_counts):
                draw_kept_row(
                    psi,
                    q,
                    log_weight,
                    off,
                    stream,
                    open_stream(count_key, row),
                    log_rate,
                    rate,
                    own_counts,
                    theta,
                )
            else:
                draw_new_row(
                    psi,
                    log_q,
                    q,
                    log_weight,
                    off,
                    label,
                    stream,
                    log_rate,
                    rate,
                    left,
                    active,
                    log_exposure,
                    own_counts,
                    theta,
                )
            for k in range(n_experts):
                counts[k, 0, row] = own_counts[k, 0]
                for t in range(1, n_layers):
                    thetas[k, t - 1, row] = theta[k, t]


@kernel
def update_expert(rows, work, weight, precision, keys, stick, expert, coef, counts, sums):
    """Coefficients and counts of one expert, layer by layer, upward.

    Parameters
    ----------
    rows : tuple
        As in `draw_counts`.
    work : tuple
        That of `pasb.binary.softplus_kernels.update_expert`, with theta of the upper layers.
    weight : float
        r_k.
    precision, coef : array of shape (n_layers, n_columns)
    keys : tuple
        Seed, chain and sweep.
    counts : array of shape (n_layers, n_rows)
        The lowest layer is given, the others are drawn; at the end only successes keep theirs.
    sums : array of shape (3,)
        Become the number of active rows, the sum of q_T, and the sum of the counts above all
        layers.

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
    q[0] = weight  # the shape of the top layer, the same in every row
    for t in range(n_layers):
        base = (np.int64(t) + 1) * KINDS
        frozen, some_steep = row_half(rows, work, keys, stick, expert, t, counts)
        n_frozen += frozen
        noise = stream_key(*keys, stick, expert, base + COEFFICIENTS)
        if not centre_half(work, precision[t], noise, coef[t]) or some_steep:
            n_qr += 1
            key = stream_key(*keys, stick, expert, base + LATENTS)
            draw_by_rows(rows, work, precision[t], key, t, noise, coef[t], counts)
        coef[t] += work[8]
        padded_coef[t, :n] = coef[t]
    add_up(rows, work, weight, keys, stick, expert, counts, sums)
    return n_qr, n_frozen


@kernel
def row_half(rows, work, keys, stick, expert, t, counts):
    """Polya-Gamma variables of a layer given the coefficients below it, and their sums.

    Also the counts of the next layer, which do not depend on the coefficients. The number of
    frozen rows, and whether a row is steep.
    """
    blocks, labels, used = rows
    _, log_q, thetas, scratch, gram, linear, _, _, _, padded_coef, psi, _, q = work
    n_layers = psi.shape[0]
    base = (np.int64(t) + 1) * KINDS
    key = stream_key(*keys, stick, expert, base + LATENTS)
    tables = stream_key(*keys, stick, expert, base + TABLES)
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
        if t == 0:
            linear_predictors(blocks[b : b + 1], padded_coef[:1], psi[:1])
            log_q[own] = 0.0
        else:
            # the layer below has new coefficients, this one has not
            linear_predictors(blocks[b : b + 1], padded_coef[t - 1 : t + 1], psi[t - 1 : t + 1])
            add_layer(psi[t - 1], log_q[own])
        frozen, steep = draw_polya_gammas(
            psi[t],
            log_q[own],
            counts[t, own],
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
        if t < n_layers - 1:
            draw_tables(counts[t, own], thetas[t, own], start, tables, counts[t + 1, own])
    return n_frozen, some_steep


@kernel
def draw_tables(counts, shape, row, key, out):
    """``out ~ CRT(counts, shape)``: the counts of the next layer, of one block."""
    for i in range(BLOCK):
        out[i] = 0.0
        if counts[i] > 0.0:
            out[i], _ = large_crt(open_stream(key, row + i), counts[i], shape[i])


@kernel
def draw_by_rows(rows, work, precision, key, t, noise, coef, counts):
    """The step of `centre_half`, with heavy rows one by one.

    Draws are named by their keys, so the Polya-Gamma variables are the same once more.
    """
    blocks, labels, used = rows
    _, log_q, thetas, scratch, gram, _, scale, factor, step, padded_coef, psi, _, q = work
    weights, shares = np.zeros(log_q.size), np.zeros(log_q.size)
    for b in range(blocks.shape[0]):
        own = slice(b * BLOCK, (b + 1) * BLOCK)
        if used[b]:
            linear_predictors(blocks[b : b + 1], padded_coef[t : t + 1], psi[t : t + 1])
            draw_polya_gammas(
                psi[t],
                log_q[own],
                counts[t, own],
                q[0] if t == psi.shape[0] - 1 else thetas[t, own],
                labels[own],
                b * BLOCK,
                key,
                weights[own],
                shares[own],
            )
    draw_with_heavy_rows(
        blocks, weights, shares, used, precision, -coef, noise, scratch, gram, scale, factor, step
    )


@kernel
def add_up(rows, work, weight, keys, stick, expert, counts, sums):
    """The sums of `update_expert`; rows that are no successes give their counts away."""
    blocks, labels, used = rows
    log_q, padded_coef, psi, q = work[1], work[9], work[10], work[12]
    top = psi.shape[0] - 1
    key = stream_key(*keys, stick, expert, (np.int64(top) + 1) * KINDS + TABLES)
    sums[:] = 0.0
    for b in range(blocks.shape[0]):
        own = slice(b * BLOCK, (b + 1) * BLOCK)
        if not used[b]:
            counts[:, own] = 0.0
            continue
        linear_predictors(blocks[b : b + 1], padded_coef[top:], psi[top:])
        add_layer(psi[top], log_q[own])
        exponentials(log_q[own], q[1])
        q[0] = weight
        draw_tables(counts[top, own], q[0], b * BLOCK, key, q[2])
        for i in range(BLOCK):
            row = b * BLOCK + i
            if labels[row] != ABSENT:
                sums[0] += counts[0, row] > 0.0
                sums[1] += q[1, i]
                sums[2] += q[2, i]
            if labels[row] != SUCCESS:
                counts[:, row] = 0.0
