"""The compiled half of `pasb.binary.support_vector`.

A row with label b in {-1, 1}, linear predictor eta and weight h has the pseudo-likelihood
exp(-2 h max(1 - b eta, 0)). Given its latent w it is that of a normal observation with
precision ``pull`` = h^2 / w and linear term b (h + pull).

Arguments as in `pasb.binary.linear_kernels`, and

- `pull`, `residual` (n_blocks x BLOCK): 1/w times the square of the row weight, and the linear
  term, less what the coefficients explain so far;
- `prior_log_odds` (float), `inclusion` (float): log-odds, and probability, that a column is in;
- `kind`, `shape`, `rate`: of the prior of the precisions (`pasb.binary.support_vector`);
- `precision_key` (uint64): of the stream of the precisions;
- `chosen` (columns that are in), `plain` (n_padded), `scratch` (n_padded, BLOCK), `gram`
  (n_padded, n_padded), `linear` (n_padded): which columns those are; work space; Gram matrix and
  linear term.

Of sums over some blocks, `which` (blocks) are their numbers and `v` is the column; `change` is by
how much its coefficient moves.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.precisions import within_bounds
from pasb.binary.support_vector_link import log_odds
from pasb.numerics.compiled import elementwise, kernel, summing
from pasb.numerics.gaussian import draw_by_qr, draw_from_precision
from pasb.numerics.rows import BLOCK, TILE, add_tile, weighted_gram
from pasb.sticks import ABSENT, IMPUTED, SUCCESS
from pasb.variates.scalar import (
    gamma,
    inverse_gaussian,
    normal,
    open_stream,
    uniform,
)

# 1/w of a row on the hinge has no mean; beyond this it only ties the row faster to the hinge
GREATEST_LATENT = 1e12
FARTHEST = 1e300

PANEL = 32  # columns, 64 kB of a block

ARD, SHARED, FIXED = (np.int64(k) for k in range(3))


@kernel
def draw_latents(eta, weights, bounds, roles, key, pull, linear_weights, used):
    """Labels where they are imputed, then 1/w ~ InverseGaussian(1 / (h |1 - b eta|), 1).

    Returns how often 1/w had to be cut off.
    """
    n_cut = 0
    used[:] = False
    for s in range(roles.shape[0]):
        role = roles[s]
        for i in range(bounds[s], bounds[s + 1]):
            pull[i] = 0.0
            linear_weights[i] = 0.0
            if role == ABSENT or weights[i] == 0.0:
                continue
            stream = open_stream(key, i)
            success = role == SUCCESS
            if role == IMPUTED:
                u, stream = uniform(stream)
                success = u * (1.0 + math.exp(-log_odds(eta[i]))) < 1.0
            label = 1.0 if success else -1.0
            gap = weights[i] * abs(1.0 - label * eta[i])
            latent, stream = inverse_gaussian(stream, 1.0 / min(gap, FARTHEST), 1.0)
            if latent > GREATEST_LATENT:
                latent = GREATEST_LATENT
                n_cut += 1
            pull[i] = weights[i] * weights[i] * latent
            linear_weights[i] = label * (weights[i] + pull[i])
        if role != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True
    return n_cut


@kernel
def dense_step(blocks, latents, work, precision, key, coef):
    """Draw all of `coef` at once given the latents; False if that took a QR.

    Parameters
    ----------
    blocks : array of shape (n_blocks, padded columns, BLOCK)
    latents : tuple
        ``(pull, linear_weights, used)``, of shapes (rows), (rows) and (n_blocks), as `draw_latents`
        leaves them.
    work : tuple
        ``(scratch, gram, linear, scale, factor)``, with `m` padded columns of shapes (m, BLOCK),
        (m, m), (m), (m) and (m, m).
    precision, coef : arrays of shape (n_columns,)
    key : uint64
    """
    pull, linear_weights, used = latents
    scratch, gram, linear, scale, factor = work
    n = coef.shape[0]
    weighted_gram(blocks, pull, linear_weights, used, scratch, gram, linear)
    for v in range(n):
        gram[v, v] += precision[v]
    if draw_from_precision(gram[:n, :n], linear[:n], key, scale[:n], factor[:n, :n], coef):
        return True
    centre = np.zeros(n)
    draw_by_qr(blocks, pull, linear_weights, precision, centre, key, scale[:n], coef)
    return False


@kernel
def spike_and_slab_step(blocks, pull, residual, eta, used, precision, prior_log_odds, key, coef):
    """Draw whether each column is in, and its coefficient if it is, column by column.

    `residual` comes in as the linear weights. It is kept up to date as they less pull times
    the linear predictor, so that a column costs one pass over its rows, and a second one
    only if its coefficient changed. The coefficient is integrated out of the odds of being
    in. The constant, column 0, is always in.
    """
    n_used = 0
    which = np.empty(used.shape[0], dtype=np.int64)
    for k in range(used.shape[0]):
        if used[k]:
            which[n_used] = k
            n_used += 1
            role = slice(k * BLOCK, (k + 1) * BLOCK)
            residual[role] -= pull[role] * eta[role]
    for v in range(coef.shape[0]):
        curvature, slope = _column_sums(blocks, which[:n_used], v, pull, residual)
        slope += coef[v] * curvature
        total = precision[v] + curvature
        stream = open_stream(key, v)
        u, stream = uniform(stream)
        log_odds_of_in = prior_log_odds + 0.5 * (
            math.log(precision[v] / total) + slope * slope / total
        )
        drawn = 0.0
        if v == 0 or u * (1.0 + math.exp(-log_odds_of_in)) < 1.0:
            z, stream = normal(stream)
            drawn = slope / total + z / math.sqrt(total)
        change = drawn - coef[v]
        if change != 0.0:
            _add_column(blocks, which[:n_used], v, pull, -change, residual)
            coef[v] = drawn


@kernel
def joint_step(blocks, latents, precision, keys, columns, work, coef):
    """Draw many of the coefficients that are in at once; False if that was not possible.

    Columns of a wide kernel are so alike that one coefficient can hardly move while the
    others stay. Of those that are in, as many as `chosen` has room for are taken, at random.
    `residual` must be up to date for `coef`, and is not kept so. Whether the matrix can be
    factored does not depend on what is drawn, so leaving `coef` alone if not is exact, too.

    Parameters
    ----------
    blocks, latents, precision, work, coef
        As `dense_step` takes them, but for `residual` in the place of `linear_weights`; `work` has
        as many columns as are drawn at once.
    keys : tuple of two uint64
        For the choice of columns, and for their coefficients.
    columns : tuple
        ``(chosen, plain)``, of shapes (columns drawn at once) and (the same padded, BLOCK).
    """
    pull, residual, used = latents
    chosen, plain = columns
    scratch, gram, linear, scale, factor = work
    n = _choose_columns(coef, keys[0], chosen)
    _gram_of_columns(blocks, chosen[:n], pull, residual, used, plain, scratch, gram, linear)
    for i in range(n):
        here = coef[chosen[i]]
        linear[i] += gram[i, i] * here
        gram[i, i] += precision[chosen[i]]
        for j in range(i):
            linear[i] += gram[i, j] * coef[chosen[j]]
            linear[j] += gram[i, j] * here
    drawn = scratch.reshape(scratch.size)[:n]
    if not draw_from_precision(gram[:n, :n], linear[:n], keys[1], scale[:n], factor[:n, :n], drawn):
        return False
    for j in range(n):
        coef[chosen[j]] = drawn[j]
    return True


@summing
def _gram_of_columns(blocks, chosen, pull, residual, used, plain, scratch, gram, linear):
    """As `pasb.numerics.rows.weighted_gram` for some of the columns.

    They are so many that a block of them does not fit into the cache: products are taken
    panel by panel.
    """
    n = chosen.size
    n_padded = (n + TILE - 1) // TILE * TILE
    gram[:n_padded, :n_padded] = 0.0
    linear[:n_padded] = 0.0
    plain[n:n_padded] = 0.0
    scratch[n:n_padded] = 0.0
    for k in range(blocks.shape[0]):
        if not used[k]:
            continue
        p = pull[k * BLOCK : (k + 1) * BLOCK]
        r = residual[k * BLOCK : (k + 1) * BLOCK]
        for j in range(n):
            x = blocks[k, chosen[j]]
            copy = plain[j]
            pulled = scratch[j]
            total = 0.0
            for i in range(BLOCK):
                copy[i] = x[i]
                pulled[i] = p[i] * x[i]
                total += r[i] * x[i]
            linear[j] += total
        for top in range(0, n_padded, PANEL):
            for left in range(0, top + 1, PANEL):
                for a in range(top, min(top + PANEL, n_padded), TILE):
                    for b in range(left, min(left + PANEL, a + 1), TILE):
                        add_tile(scratch, plain, a, b, gram)


@kernel
def _choose_columns(coef, key, chosen):
    """The constant, and others that are in: all, or as many as there is room for."""
    n_in = 0
    for v in range(1, coef.shape[0]):
        n_in += coef[v] != 0.0
    chosen[0] = 0
    n = 1
    for v in range(1, coef.shape[0]):
        if coef[v] == 0.0:
            continue
        u, _ = uniform(open_stream(key, v))
        if u * n_in < chosen.size - n:
            chosen[n] = v
            n += 1
        n_in -= 1
    return n


@summing
def _column_sums(blocks, which, v, pull, residual):
    """Sums of pull x^2 and of residual x over the rows of some blocks."""
    curvature = 0.0
    slope = 0.0
    for j in range(which.size):
        k = which[j]
        x = blocks[k, v]
        p = pull[k * BLOCK : (k + 1) * BLOCK]
        r = residual[k * BLOCK : (k + 1) * BLOCK]
        c = 0.0
        s = 0.0
        for i in range(BLOCK):
            c += p[i] * x[i] * x[i]
            s += r[i] * x[i]
        curvature += c
        slope += s
    return curvature, slope


@elementwise
def _add_column(blocks, which, v, pull, change, residual):
    for j in range(which.size):
        k = which[j]
        x = blocks[k, v]
        p = pull[k * BLOCK : (k + 1) * BLOCK]
        r = residual[k * BLOCK : (k + 1) * BLOCK]
        for i in range(BLOCK):
            r[i] += change * p[i] * x[i]


@kernel
def draw_precisions(coef, kind, shape, rate, key, precision):
    """Precisions of the coefficients that are in; under "ard" those of the others by prior."""
    if kind == ARD:
        for v in range(coef.shape[0]):
            in_model = v == 0 or coef[v] != 0.0
            draw, _ = gamma(open_stream(key, v), shape + 0.5 if in_model else shape)
            precision[v] = within_bounds(draw / (rate + 0.5 * coef[v] * coef[v]))
    if kind == SHARED:
        n_in = 1
        squares = coef[0] * coef[0]
        for v in range(1, coef.shape[0]):
            n_in += coef[v] != 0.0
            squares += coef[v] * coef[v]
        draw, _ = gamma(open_stream(key, 0), shape + 0.5 * n_in)
        precision[:] = within_bounds(draw / (rate + 0.5 * squares))


@kernel
def draw_prior(inclusion, kind, shape, rate, key, precision_key, coef, precision):
    """Precisions, then which columns are in, then their coefficients, from the prior."""
    for v in range(coef.shape[0]):
        if kind == ARD or (kind == SHARED and v == 0):
            draw, _ = gamma(open_stream(precision_key, v), shape)
            precision[v] = within_bounds(draw / rate)
        elif kind == SHARED:
            precision[v] = precision[0]
        stream = open_stream(key, v)
        u, stream = uniform(stream)
        z, stream = normal(stream)
        coef[v] = z / math.sqrt(precision[v]) if v == 0 or u < inclusion else 0.0
