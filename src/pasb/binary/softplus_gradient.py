"""Value and gradient of the log-likelihood of a softplus stick, all latents integrated out.

By the chain rule, layer by layer. With x = psi_t + log q_(t-1), the derivative of log q_t by
psi_t, and by log q_(t-1), is sigmoid(x) / q_t. It comes out of the same exponential as q_t, so the
way back needs none. All loops are vectorised.

Arguments, with K experts of T layers and blocks of any width:

- `rows` (`StickRows`), `block` (padded columns, width): the rows of a stick, those of one block;
- `coef`, `grad_coef` (K x T, padded columns), `log_weight`, `grad_weight` (K): coefficients and
  logs of the weights r_k, and the gradient by them;
- `psi`, `slopes` (K x T, width), `top` (K, width), `by_row` (5, width): work space of one block
  (`gradient_space`);
- `log_rate`, `rate`, `log_success`, `signs`, `powers` (width): of each row log lambda, lambda, the
  log of success, whether its label is a success, and whether it counts.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.softplus_link import (
    LINEAR_BELOW,
    LOG_GREATEST,
    add_layer,
    log_one_minus_exp,
    log_rates,
)
from pasb.binary.stick_rows import mark_block
from pasb.numerics.compiled import elementwise, kernel, summing
from pasb.numerics.vector import vector_exp, vector_log

LOG_LEAST_RATE = -600.0


@elementwise
def add_layer_with_slope(psi, log_q, slope):
    """Turn log q_(t-1) into log q_t, in place; `slope` becomes its derivative by psi_t."""
    for i in range(psi.size):
        x = psi[i] + log_q[i]
        e = vector_exp(-abs(x))
        u = 1.0 + e
        over = 1.0 / u
        # the last term gives back what the sum 1 + e rounded away
        q = max(max(x, 0.0) + (vector_log(u) + (e - (u - 1.0)) * over), 1e-300)
        up = over if x > 0.0 else e * over
        small = x < LINEAR_BELOW
        log_q[i] = x if small else vector_log(q)
        slope[i] = 1.0 if small else up / q


@elementwise
def shares_of_rate(log_q, log_weight, total, log_rate):
    """``log_rate = log(sum_k r_k q_k)``; `log_q` (experts, rows) become shares of that sum."""
    n_experts, n_rows = log_q.shape
    for i in range(n_rows):
        log_rate[i] = log_weight[0] + log_q[0, i]
    for k in range(1, n_experts):
        q, shift = log_q[k], log_weight[k]
        for i in range(n_rows):
            log_rate[i] = max(log_rate[i], shift + q[i])
    for i in range(n_rows):
        total[i] = 0.0
    for k in range(n_experts):
        q, shift = log_q[k], log_weight[k]
        for i in range(n_rows):
            part = vector_exp(shift + q[i] - log_rate[i])
            total[i] += part
            q[i] = part
    for i in range(n_rows):
        log_rate[i] += vector_log(total[i])
        total[i] = 1.0 / total[i]
    for k in range(n_experts):
        q = log_q[k]
        for i in range(n_rows):
            q[i] *= total[i]


@elementwise
def rates_within_bounds(log_rate, rate):
    """lambda, where it can be represented."""
    for i in range(rate.size):
        rate[i] = vector_exp(min(max(log_rate[i], LOG_LEAST_RATE), LOG_GREATEST))


@elementwise
def likelihood_of_rows(log_rate, rate, log_success, signs, powers):
    """`log_success` becomes a row's log-likelihood, `rate` its derivative by log lambda."""
    for i in range(rate.size):
        minus, success = -rate[i], log_success[i]
        by_success = vector_exp(log_rate[i] + minus - success)
        one = signs[i] > 0.5
        log_success[i] = powers[i] * (success if one else minus)
        rate[i] = powers[i] * (by_success if one else minus)


@summing
def total_of(values):
    """Their sum."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@elementwise
def times(factor, values):
    """Multiply `values` in place."""
    for i in range(values.size):
        values[i] *= factor[i]


@elementwise
def product_into(factor, values, out):
    """``out = factor * values``."""
    for i in range(values.size):
        out[i] = factor[i] * values[i]


@elementwise
def predictors(block, coef, out):
    """``out[j, i] = x_i' coef[j]`` for the rows of one block, terms added column by column.

    As `pasb.numerics.rows.one_predictor`, for blocks of any width. (BLAS adds columns in an order
    that depends on their number, and is no faster here.)
    """
    width = block.shape[1]
    for j in range(coef.shape[0]):
        b, y = coef[j], out[j]
        for i in range(width):
            y[i] = 0.0
        for p in range(0, b.size, 4):
            b0, b1, b2, b3 = b[p], b[p + 1], b[p + 2], b[p + 3]
            x0, x1, x2, x3 = block[p], block[p + 1], block[p + 2], block[p + 3]
            for i in range(width):
                z = y[i] + b0 * x0[i]
                z += b1 * x1[i]
                z += b2 * x2[i]
                y[i] = z + b3 * x3[i]


@kernel
def layers_of_block(block, coef, log_weight, psi, slopes, top, by_row):
    """log lambda of the rows of one block, and how it follows from predictors and weights.

    `slopes` (experts x layers, width) become derivatives of log q_T by predictors, `top` (experts,
    width) shares of lambda. ``by_row[0]`` becomes log lambda; ``by_row[1]`` and `psi` are scratch.
    """
    n_experts, n_layers = top.shape[0], psi.shape[0] // top.shape[0]
    predictors(block, coef, psi)
    for k in range(n_experts):
        top[k] = 0.0
        for t in range(k * n_layers, (k + 1) * n_layers):
            add_layer_with_slope(psi[t], top[k], slopes[t])
        for t in range((k + 1) * n_layers - 2, k * n_layers - 1, -1):
            times(slopes[t + 1], slopes[t])
    shares_of_rate(top, log_weight, by_row[1], by_row[0])


@kernel
def value_and_gradient(rows, coef, log_weight, work, grad_coef, grad_weight):
    """Log-likelihood of `StickRows`, and its gradient by coefficients and log-weights.

    `coef` and `grad_coef` are (experts x layers, padded columns); `work` is `gradient_space`.
    """
    psi, slopes, top, by_row = work
    n_experts, n_layers = top.shape[0], psi.shape[0] // top.shape[0]
    log_rate, rate, log_success, signs, powers = by_row
    grad_coef[:, :] = 0.0
    grad_weight[:] = 0.0
    total = 0.0
    for b in range(rows.blocks.shape[0]):
        if not mark_block(rows, b, signs, powers):
            continue
        layers_of_block(rows.blocks[b], coef, log_weight, psi, slopes, top, by_row)
        rates_within_bounds(log_rate, rate)
        log_one_minus_exp(log_rate, rate, log_success)
        likelihood_of_rows(log_rate, rate, log_success, signs, powers)
        total += total_of(log_success)
        for k in range(n_experts):
            times(rate, top[k])
            grad_weight[k] += total_of(top[k])
            for t in range(k * n_layers, (k + 1) * n_layers):
                product_into(slopes[t], top[k], psi[t])
        grad_coef += np.dot(psi, rows.blocks[b].T)
    return total


@elementwise
def values_of_rows(rate, log_success, signs, powers):
    """`log_success` becomes a row's log-likelihood."""
    for i in range(rate.size):
        log_success[i] = powers[i] * (log_success[i] if signs[i] > 0.5 else -rate[i])


@kernel
def log_likelihood(rows, coef, log_weight, work):
    """The value alone, of the same arguments; some 60 % of the time."""
    psi, _, top, by_row = work
    n_experts, n_layers = top.shape[0], psi.shape[0] // top.shape[0]
    log_rate, rate, log_success = by_row[0], by_row[1], by_row[2]
    signs, powers = by_row[3], by_row[4]
    total = 0.0
    for b in range(rows.blocks.shape[0]):
        if not mark_block(rows, b, signs, powers):
            continue
        predictors(rows.blocks[b], coef, psi)
        for k in range(n_experts):
            top[k] = 0.0
            for t in range(k * n_layers, (k + 1) * n_layers):
                add_layer(psi[t], top[k])
        log_rates(top, log_weight, rate, log_rate)
        rates_within_bounds(log_rate, rate)
        log_one_minus_exp(log_rate, rate, log_success)
        values_of_rows(rate, log_success, signs, powers)
        total += total_of(log_success)
    return total


def gradient_space(n_experts: int, n_layers: int, width: int) -> tuple:
    """Predictors and slopes, shares of experts, and five numbers of every row of a block."""
    n_vectors = n_experts * n_layers
    return tuple(np.zeros((n, width)) for n in (n_vectors, n_vectors, n_experts, 5))
