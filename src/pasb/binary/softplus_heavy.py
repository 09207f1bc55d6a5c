"""A normal draw where a few rows weigh more than rounding lets the others count.

A QR decomposition of [sqrt(W) X; sqrt(alpha)] gives the factor that Cholesky cannot, but over
all rows it costs more than the rest of an update. The light rows can be summed up as usual,
so only their Cholesky factor and the heavy rows themselves have to go through it.

Arguments, with n columns and rows in blocks:

- `blocks` (n_blocks, n_padded, BLOCK), `used` (n_blocks): covariates, and which blocks count;
- `weights`, `linear_weights` (n_blocks x BLOCK): of the rows: latent weights and linear terms;
- `alpha`, `centre` (n): precisions of the prior, and where it is centred;
- `key` (uint64): of the stream, whose row i belongs to coefficient i;
- `scratch` (n_padded, BLOCK), `gram` (n_padded, n_padded), `scale` (n), `factor` (n, n): work
  space;
- `out` (n): the draw.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.softplus_rows import is_heavy
from pasb.numerics.compiled import kernel
from pasb.numerics.gaussian import draw_by_qr, equilibrated_cholesky, solve_lower
from pasb.numerics.rows import BLOCK, weighted_gram

HEAVY = 1e6


@kernel
def draw_with_heavy_rows(
    blocks, weights, linear_weights, used, alpha, centre, key, scratch, gram, scale, factor, out
):
    """Draw `out` as `pasb.numerics.gaussian.draw_by_qr` does, to rounding the same draw.

    `scratch` to `factor` are work space.
    """
    n = alpha.shape[0]
    n_heavy = 0
    light, light_linear = np.empty(weights.size), np.empty(weights.size)
    heavy = np.empty(weights.size, dtype=np.bool_)
    for i in range(weights.size):
        heavy[i] = is_heavy(weights[i], linear_weights[i], HEAVY)
        n_heavy += heavy[i]
        light[i] = 0.0 if heavy[i] else weights[i]
        light_linear[i] = 0.0 if heavy[i] else linear_weights[i]
    linear = np.empty(gram.shape[0])
    weighted_gram(blocks, light, light_linear, used, scratch, gram, linear)
    for v in range(n):
        gram[v, v] += alpha[v]
        linear[v] += alpha[v] * centre[v]
    if not equilibrated_cholesky(gram[:n, :n], scale, factor):
        draw_by_qr(blocks, weights, linear_weights, alpha, centre, key, scale, out)
        return
    # the factor's columns, scaled back, are n rows that have the Gram matrix of all light rows
    rows = np.zeros((1, n, n + n_heavy))
    row_weights, row_linear = np.ones(n + n_heavy), np.empty(n + n_heavy)
    for j in range(n):
        for v in range(j, n):
            rows[0, v, j] = factor[v, j] / scale[v]
    solve_lower(factor, scale, linear[:n], row_linear)
    j = n
    for i in range(weights.size):
        if heavy[i]:
            rows[0, :, j] = blocks[i // BLOCK, :n, i % BLOCK]
            row_weights[j], row_linear[j] = weights[i], linear_weights[i]
            j += 1
    none = np.zeros(n)
    draw_by_qr(rows, row_weights, row_linear, none, none, key, scale, out)
