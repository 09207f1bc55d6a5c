"""The row half of linear sticks as CUDA kernels: many vectors of coefficients in one launch.

The same sums as `pasb.binary.row_requests`. A *piece* is up to `BLOCK` rows of one group: rows
`first` to `last` of a block. One group of threads takes one piece, and vector after vector over it.
Then the sums of pieces, and products of columns over spans of blocks, are added in a fixed order,
so that the answer to a vector does not depend on the vectors beside it.

Arguments as in `row_terms`: `blocks` (blocks, columns, BLOCK), `terms` (2, vectors, rows), `kind`
of request, `df` and `constant` of the t distribution, whose pieces are `pieces_of_t`; `u` is a
linear predictor times its sign. `n_rows` counts rows, padding included, of which `span` are added
by one group of threads into its entry of `out`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from pasb.binary import t_link
from pasb.binary.robit_kernels import LEAST_CURVATURE
from pasb.binary.row_requests import NEWTON, VALUE
from pasb.engines.device import THREADS, shared, simulated
from pasb.engines.device_functions import block_sum
from pasb.sticks import ABSENT, FAILURE, SUCCESS

VECTORS = 2 if simulated() else 32  # that a group of threads takes over its piece
TILE = 4  # columns; a thread keeps TILE x TILE sums of a Gram matrix

log_cdf_and_slope = shared(t_link.log_cdf_and_slope)


@cuda.jit(device=True)
def logistic_terms(u):
    """Log-likelihood, its derivative and its negative second one, towards the label."""
    e = math.exp(-abs(u))
    slope = (e if u > 0.0 else 1.0) / (1.0 + e)
    return min(u, 0.0) - math.log1p(e), slope, slope * (1.0 - slope)


@cuda.jit(device=True)
def robit_terms(u, df, constant, pieces_of_t, kind):
    """The same for a t distribution; curvatures as in `robit_kernels.newton_terms`."""
    value, ratio = log_cdf_and_slope(u, df, constant, pieces_of_t)
    curvature = 0.0
    if kind == NEWTON:
        other = log_cdf_and_slope(-u, df, constant, pieces_of_t)[1]
        fall = u if df == np.inf else (df + 1.0) * u / (df + u * u)
        curvature = max(ratio * (ratio + fall), LEAST_CURVATURE * ratio * other)
    return value, ratio, curvature


@cuda.jit
def row_terms(blocks, weights, pieces, roles, coef, kind, df, constant, t, sums, terms):
    """Sums of log-likelihoods over pieces; derivatives of every row, unless `kind` is `VALUE`.

    `blocks` is (blocks, columns, BLOCK), `weights` (rows or none), `pieces` (pieces, 4) has block,
    first, last and group, `roles` (vectors, groups), `coef` (vectors, columns), `t` the
    pieces of a t distribution, none for the logistic link, as `df` is 0 there and `constant`
    does not count; `sums` is (vectors, pieces), `terms`
    (2, vectors, rows) has first and negative second derivatives.
    """
    values = cuda.shared.array(THREADS, np.float64)
    piece, i = cuda.blockIdx.x, cuda.threadIdx.x
    k, first = pieces[piece, 0], pieces[piece, 1]
    last, group = pieces[piece, 2], pieces[piece, 3]
    size = blocks.shape[2]
    begin = cuda.blockIdx.y * VECTORS
    for v in range(begin, min(begin + VECTORS, coef.shape[0])):
        role = roles[v, group]
        seen = role in (SUCCESS, FAILURE)
        if kind == NEWTON and role != ABSENT:
            seen = True
        total = 0.0
        for row in range(first + i, last, cuda.blockDim.x):
            value, slope, curvature = 0.0, 0.0, 0.0
            h = weights[k * size + row] if weights.shape[0] > 0 else 1.0
            if seen:
                sign = 1.0 if role == SUCCESS else -1.0
                eta = 0.0
                for p in range(coef.shape[1]):
                    eta += coef[v, p] * blocks[k, p, row]
                if t.shape[0] == 0:
                    value, slope, curvature = logistic_terms(sign * eta)
                else:
                    value, slope, curvature = robit_terms(sign * eta, df, constant, t, kind)
                slope *= sign
            total += h * value
            if kind != VALUE:
                terms[0, v, k * size + row] = h * slope
                if kind == NEWTON:
                    terms[1, v, k * size + row] = h * curvature
        if seen:
            total = block_sum(values, total)
        if i == 0:
            sums[v, piece] = total if seen else 0.0


@cuda.jit
def add_ranges(parts, ranges, out):
    """Sums of `parts` (lines, n) over ranges: `out` (lines, ranges); a group for each of them."""
    values = cuda.shared.array(THREADS, np.float64)
    line, r, i = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    total = 0.0
    for j in range(ranges[r] + i, ranges[r + 1], cuda.blockDim.x):
        total += parts[line, j]
    total = block_sum(values, total)
    if i == 0:
        out[line, r] = total


@cuda.jit
def add_spans(parts, out):
    """Sums of `parts` (lines, spans), a thread for each line."""
    line = cuda.grid(1)
    if line < parts.shape[0]:
        total = 0.0
        for j in range(parts.shape[1]):
            total += parts[line, j]
        out[line] = total


@cuda.jit
def column_products(blocks, n_rows, terms, span, out):
    """Sums of first derivatives times columns over spans of rows: (vectors, columns, spans)."""
    values = cuda.shared.array(THREADS, np.float64)
    s, v, p = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    size = blocks.shape[2]
    total = 0.0
    for row in range(s * span + cuda.threadIdx.x, min((s + 1) * span, n_rows), cuda.blockDim.x):
        total += terms[0, v, row] * blocks[row // size, p, row % size]
    total = block_sum(values, total)
    if cuda.threadIdx.x == 0:
        out[v, p, s] = total


@cuda.jit
def weighted_products(blocks, n_rows, terms, tiles, span, out):
    """Sums of second derivatives times two columns: (vectors, tiles x TILE x TILE, spans).

    `tiles` (tiles, 2) has the first of the TILE columns on either side.
    """
    values = cuda.shared.array(THREADS, np.float64)
    sums = cuda.local.array((TILE, TILE), np.float64)
    right = cuda.local.array(TILE, np.float64)
    s, v, tile = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    first, second = tiles[tile, 0], tiles[tile, 1]
    size = blocks.shape[2]
    for a in range(TILE):
        for b in range(TILE):
            sums[a, b] = 0.0
    for row in range(s * span + cuda.threadIdx.x, min((s + 1) * span, n_rows), cuda.blockDim.x):
        k, i = row // size, row % size
        h = terms[1, v, row]
        for b in range(TILE):
            right[b] = blocks[k, second + b, i]
        for a in range(TILE):
            left = h * blocks[k, first + a, i]
            for b in range(TILE):
                sums[a, b] += left * right[b]
    for a in range(TILE):
        for b in range(TILE):
            total = block_sum(values, sums[a, b])
            if cuda.threadIdx.x == 0:
                out[v, (tile * TILE + a) * TILE + b, s] = total
