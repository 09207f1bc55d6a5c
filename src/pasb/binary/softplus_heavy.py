"""A normal draw where a few rows weigh more than rounding lets the others count.

A QR decomposition of [sqrt(W) X; sqrt(alpha)] gives the factor that Cholesky cannot, but over
all rows it costs more than the rest of an update. The light rows can be summed up as usual,
so only their Cholesky factor and the heavy rows themselves have to go through it.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.logistic_kernels import kernel
from pasb.gaussian import draw_by_qr, equilibrated_cholesky
from pasb.rows import BLOCK, weighted_gram

HEAVY = 1e6


@kernel
def draw_with_heavy_rows(
    blocks, weights, used, alpha, linear, key, scratch, gram, scale, factor, out
):
    """Draw `out` from N(Q^-1 linear, Q^-1), Q = diag(alpha) + X' diag(weights) X.

    Same law and, to rounding, the same draw as `pasb.gaussian.draw_by_qr`. `scratch` to
    `factor` are work space.
    """
    n = alpha.shape[0]
    n_heavy = 0
    light = np.empty(weights.size)
    for i in range(weights.size):
        heavy = weights[i] > HEAVY
        n_heavy += heavy
        light[i] = 0.0 if heavy else weights[i]
    weighted_gram(blocks, light, light, used, scratch, gram, np.empty(gram.shape[0]))
    for v in range(n):
        gram[v, v] += alpha[v]
    if not equilibrated_cholesky(gram[:n, :n], scale, factor):
        draw_by_qr(blocks, weights, alpha, linear, key, scale, out)
        return
    # the factor's columns, scaled back, are n rows that have the Gram matrix of all light rows
    rows = np.zeros((1, n, n + n_heavy))
    row_weights = np.ones(n + n_heavy)
    for j in range(n):
        for v in range(j, n):
            rows[0, v, j] = factor[v, j] / scale[v]
    j = n
    for i in range(weights.size):
        if weights[i] > HEAVY:
            rows[0, :, j] = blocks[i // BLOCK, :n, i % BLOCK]
            row_weights[j] = weights[i]
            j += 1
    draw_by_qr(rows, row_weights, np.zeros(n), linear, key, scale, out)
