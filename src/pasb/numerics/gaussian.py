"""Draw from a normal distribution, given its precision matrix and linear term.

Precision matrices of the form diag(alpha) + X'WX may mix scales of many decades.
They are equilibrated to a unit diagonal first; should Cholesky fail nevertheless, a
QR decomposition of [sqrt(W) X; sqrt(alpha)] gives the same factor without forming
the matrix, and so the same distribution. The linear term goes through it row by row too: in a
sum, a heavy row's share would swamp those of the others. The caller counts these cases.

Shapes, with n columns: `precision` (n, n), of which only the lower triangle is read; `linear`,
`scale`, `mode`, `at` and `out` (n,); `factor` (n, n), of which only the lower triangle counts.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.numerics.compiled import kernel, summing
from pasb.variates.scalar import normal, open_stream, uniform

LAPACK_FROM = 96  # columns; below, the plain loop beats the call


@summing
def _cholesky_in_place(matrix):
    """Lower Cholesky factor in place, row by row; False when not positive definite."""
    n = matrix.shape[0]
    for i in range(n):
        row_i = matrix[i]
        for j in range(i):
            row_j = matrix[j]
            total = row_i[j]
            for k in range(j):
                total -= row_i[k] * row_j[k]
            row_i[j] = total / row_j[j]
        total = row_i[i]
        for k in range(i):
            total -= row_i[k] * row_i[k]
        if not total > 1e-14:  # the diagonal was 1: less than this is rounding error
            return False
        row_i[i] = math.sqrt(total)
    return True


@kernel
def equilibrated_cholesky(precision, scale, factor):
    """Factor ``diag(scale) precision diag(scale)``, which has a unit diagonal.

    Only the lower triangle of `precision` is read. `scale` and the lower triangle of
    `factor` are written. False when the matrix is not numerically positive definite.
    """
    n = precision.shape[0]
    for i in range(n):
        if not (precision[i, i] > 0.0 and precision[i, i] < np.inf):
            return False
        scale[i] = 1.0 / math.sqrt(precision[i, i])
    for i in range(n):
        for j in range(i):
            factor[i, j] = precision[i, j] * scale[i] * scale[j]
        factor[i, i] = 1.0
    if n < LAPACK_FROM:
        return _cholesky_in_place(factor)
    return _lapack_cholesky(factor)


@kernel
def _lapack_cholesky(factor):
    n = factor.shape[0]
    for i in range(n):
        for j in range(i):
            factor[j, i] = factor[i, j]
    try:
        factor[:, :] = np.linalg.cholesky(factor)
    except Exception:
        return False
    return np.min(np.diag(factor)) > 1e-7


@kernel
def solve_lower(factor, scale, linear, out):
    """``out = L^-1 S linear``, S = diag(scale)."""
    for i in range(factor.shape[0]):
        total = linear[i] * scale[i]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]


@kernel
def _add_noise_and_solve(factor, scale, key, out):
    """``out = S L^-T (out + z)`` with z standard normal, S = diag(scale)."""
    n = factor.shape[0]
    for i in range(n):
        z, _ = normal(open_stream(key, i))
        out[i] += z
    for i in range(n - 1, -1, -1):
        out[i] /= factor[i, i]
        for k in range(i):
            out[k] -= factor[i, k] * out[i]
    for i in range(n):
        out[i] *= scale[i]


@kernel
def draw_from_precision(precision, linear, key, scale, factor, out):
    """Draw ``out`` from N(precision^-1 linear, precision^-1); False if Cholesky failed.

    `scale` (n) and `factor` (n, n) are work space. Entry i of the normal vector reads
    the stream of row i under `key`.
    """
    if not equilibrated_cholesky(precision, scale, factor):
        return False
    solve_lower(factor, scale, linear, out)
    _add_noise_and_solve(factor, scale, key, out)
    return True


@kernel
def draw_around(mode, scale, factor, wide_share, width, key, out):
    """``out = mode + s S L^-T z`` with z standard normal and s = 1, or s = width.

    The wide component, `width` times as wide, is taken with probability `wide_share`; the stream is
    `key`. L is the lower triangular
    `factor`, S = diag(scale), as `equilibrated_cholesky` leaves them.
    """
    n = mode.shape[0]
    u, _ = uniform(open_stream(key, n))
    stretch = width if u < wide_share else 1.0
    for i in range(n):
        out[i], _ = normal(open_stream(key, i))
    for i in range(n - 1, -1, -1):
        out[i] /= factor[i, i]
        for k in range(i):
            out[k] -= factor[i, k] * out[i]
    for i in range(n):
        out[i] = mode[i] + stretch * scale[i] * out[i]


@kernel
def squared_distance(mode, scale, factor, at):
    """``|L' S^-1 (at - mode)|^2``: the squared distance in the metric of the precision."""
    n = mode.shape[0]
    total = 0.0
    for j in range(n):
        inner = 0.0
        for i in range(j, n):
            inner += factor[i, j] * (at[i] - mode[i]) / scale[i]
        total += inner * inner
    return total


@kernel
def draw_by_qr(blocks, weights, linear_weights, alpha, centre, key, scale, out):
    """Draw from N(Q^-1 b, Q^-1), Q = A + X'WX and b = A centre + X' linear_weights, by QR.

    W = diag(weights), A = diag(alpha). The distribution and, up to rounding, the draw are those of
    `draw_from_precision`; the condition number that matters is the square root of Q's. X is
    given as `blocks` (n_blocks, n or more, BLOCK), see `pasb.numerics.rows`; `weights` and
    `linear_weights` are (n_blocks * BLOCK,), `alpha`, `centre`, `scale` and `out` are (n,). Rows
    of weight zero do not count. `key` is that of a stream, whose row i belongs to column i.
    """
    n = alpha.shape[0]
    n_blocks, _, size = blocks.shape
    n_rows = n_blocks * size
    stacked = np.zeros((n_rows + n, n + 1))
    for k in range(n_blocks):
        for i in range(size):
            root = math.sqrt(weights[k * size + i])
            if root > 0.0:
                for v in range(n):
                    stacked[k * size + i, v] = root * blocks[k, v, i]
                stacked[k * size + i, n] = linear_weights[k * size + i] / root
    for v in range(n):
        root = math.sqrt(alpha[v])
        stacked[n_rows + v, v] = root
        stacked[n_rows + v, n] = root * centre[v]
    for v in range(n):
        scale[v] = 1.0 / math.sqrt(np.sum(stacked[:, v] ** 2))
        stacked[:, v] *= scale[v]
    _, upper = np.linalg.qr(stacked)
    factor = np.zeros((n, n))
    for i in range(n):
        sign = -1.0 if upper[i, i] < 0.0 else 1.0
        for j in range(i, n):
            factor[j, i] = sign * upper[i, j]
        out[i] = sign * upper[i, n]
    _add_noise_and_solve(factor, scale, key, out)
