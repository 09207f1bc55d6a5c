"""Value and gradient of the log-posterior of a stick's coefficients.

Latents and precisions are integrated out. Rows are sorted by category, so one pass over the
blocks of the categories that are on the stick or behind it gives the gradient and, for every
category, the sum of the logs that the order table needs.

Arguments as in `pasb.binary.linear_kernels`.
"""

from __future__ import annotations

from pasb.binary.coefficient_prior import subtract_pull
from pasb.binary.robit_kernels import residuals_and_sum, sum_alone
from pasb.binary.t_link import LOGISTIC
from pasb.numerics.compiled import elementwise, kernel, summing
from pasb.numerics.rows import BLOCK, TILE
from pasb.numerics.vector import vector_exp, vector_log1p_exp_neg
from pasb.sticks import FAILURE, SUCCESS

# mypy: disable-error-code="call-arg"


@elementwise
def predict(block, coef, out):
    """Linear predictors of the rows of one block."""
    for i in range(BLOCK):
        out[i] = 0.0
    for p in range(0, block.shape[0], TILE):
        b0 = coef[p]
        b1 = coef[p + 1]
        b2 = coef[p + 2]
        b3 = coef[p + 3]
        x0 = block[p]
        x1 = block[p + 1]
        x2 = block[p + 2]
        x3 = block[p + 3]
        for i in range(BLOCK):
            out[i] += b0 * x0[i] + b1 * x1[i] + b2 * x2[i] + b3 * x3[i]


@summing
def add_products(block, values, out):
    """Add the products of every column of a block with `values` to `out`."""
    for p in range(0, block.shape[0], TILE):
        x0 = block[p]
        x1 = block[p + 1]
        x2 = block[p + 2]
        x3 = block[p + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(BLOCK):
            v = values[i]
            s0 += v * x0[i]
            s1 += v * x1[i]
            s2 += v * x2[i]
            s3 += v * x3[i]
        out[p] += s0
        out[p + 1] += s1
        out[p + 2] += s2
        out[p + 3] += s3


@summing
def logistic_residuals(eta, weights, sign, residual):
    """Derivatives of the log-likelihood of labels that all have one sign."""
    for i in range(eta.size):
        u = sign * eta[i]
        e = vector_exp(-abs(u))
        # of both labels' logs the same arithmetic, so that mirror images have the same bits
        residual[i] = sign * weights[i] * (e if u > 0.0 else 1.0) / (1.0 + e)


@summing
def logistic_sum(eta, weights, sign):
    """Weighted log-likelihood of rows whose label is that of `sign`, 1 or -1."""
    total = 0.0
    for i in range(eta.size):
        u = sign * eta[i]
        total += weights[i] * (min(u, 0.0) - vector_log1p_exp_neg(abs(u)))
    return total


@kernel
def slopes(regression, roles, coef, eta, residual, slope, sums):
    """Gradient of the log-posterior; `sums` get the log-likelihood of each category's rows.

    `coef`, padded, and `slope` have an entry for every column of the blocks; `eta` and
    `residual` are work space for one block.
    """
    (blocks, weights, bounds), prior, link = regression
    slope[:] = 0.0
    sums[:] = 0.0
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        predicted = False
        for s in range(roles.shape[0]):
            a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
            if a >= b or (roles[s] != SUCCESS and roles[s] != FAILURE):
                continue
            if not predicted:
                predict(blocks[k], coef, eta)
                residual[:] = 0.0
                predicted = True
            sign = 1.0 if roles[s] == SUCCESS else -1.0
            h = weights[start + a : start + b]
            if link[0] == LOGISTIC:
                logistic_residuals(eta[a:b], h, sign, residual[a:b])
                sums[s] += logistic_sum(eta[a:b], h, sign)
            else:
                sums[s] += residuals_and_sum(eta[a:b], h, sign, *link, residual[a:b])
        if predicted:
            add_products(blocks[k], residual, slope)
    subtract_pull(coef, prior, slope)


@kernel
def log_likelihoods(regression, roles, coef, eta, sums):
    """The sums of `slopes`, bit by bit, without the gradient."""
    (blocks, weights, bounds), _, link = regression
    sums[:] = 0.0
    for k in range(blocks.shape[0]):
        start = k * BLOCK
        predicted = False
        for s in range(roles.shape[0]):
            a, b = max(bounds[s] - start, 0), min(bounds[s + 1] - start, BLOCK)
            if a >= b or (roles[s] != SUCCESS and roles[s] != FAILURE):
                continue
            if not predicted:
                predict(blocks[k], coef, eta)
                predicted = True
            sign = 1.0 if roles[s] == SUCCESS else -1.0
            h = weights[start + a : start + b]
            if link[0] == LOGISTIC:
                sums[s] += logistic_sum(eta[a:b], h, sign)
            else:
                sums[s] += sum_alone(eta[a:b], h, sign, *link)
