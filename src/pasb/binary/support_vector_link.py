"""From coefficients to the probabilities of the support vector model, eq. (stick_prob1).

Arguments as in `pasb.binary.linear_kernels`.
"""

from __future__ import annotations

import numpy as np

from pasb.numerics.compiled import elementwise, kernel, summing
from pasb.numerics.rows import BLOCK, TILE
from pasb.numerics.vector import vector_log1p_exp_neg


@elementwise
def sparse_predictors(blocks, coef, out):
    """``out[i] = x_i' coef`` for every row of `blocks`; columns that are out cost nothing.

    A row's terms are added in the same order whatever the rows around it.
    """
    columns = np.nonzero(coef)[0]
    n_full = columns.size // TILE * TILE
    for k in range(blocks.shape[0]):
        block = blocks[k]
        row = out[k * BLOCK : (k + 1) * BLOCK]
        for i in range(BLOCK):
            row[i] = 0.0
        for j in range(0, n_full, TILE):
            v0, v1, v2, v3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            b0, b1, b2, b3 = coef[v0], coef[v1], coef[v2], coef[v3]
            x0, x1, x2, x3 = block[v0], block[v1], block[v2], block[v3]
            for i in range(BLOCK):
                row[i] += b0 * x0[i] + b1 * x1[i] + b2 * x2[i] + b3 * x3[i]
        for j in range(n_full, columns.size):
            b = coef[columns[j]]
            x = block[columns[j]]
            for i in range(BLOCK):
                row[i] += b * x[i]


@kernel
def log_odds(eta):
    """Log-odds of success under the normalised likelihood, eq. (stick_prob1)."""
    # 2 eta up to the hinge, eta + sign(eta) beyond
    return eta + min(max(eta, -1.0), 1.0)


@elementwise
def log_success_and_failure(eta, log_failure):
    """Turn linear predictors into log-probabilities; `eta` becomes that of success."""
    for i in range(eta.size):
        odds = eta[i] + min(max(eta[i], -1.0), 1.0)
        both = vector_log1p_exp_neg(abs(odds))
        log_failure[i] = -max(odds, 0.0) - both
        eta[i] = min(odds, 0.0) - both


@summing
def sum_logs(eta, weights, bounds, success, failure):
    """Sums of the log-probabilities over the rows of each category."""
    for s in range(bounds.shape[0] - 1):
        e = eta[bounds[s] : bounds[s + 1]]
        h = weights[bounds[s] : bounds[s + 1]]
        total_success = 0.0
        total_failure = 0.0
        for i in range(e.size):
            odds = e[i] + min(max(e[i], -1.0), 1.0)
            both = vector_log1p_exp_neg(abs(odds))
            total_success += h[i] * (min(odds, 0.0) - both)
            total_failure -= h[i] * (max(odds, 0.0) + both)
        success[s] = total_success
        failure[s] = total_failure
