"""The force on a trajectory of a softplus stick: its gradient in single precision.

A trajectory leaves the posterior invariant whatever force it follows, as long as the force is a
function of the place alone: what is added to the momentum depends on the place, what is added to
the place on the momentum, so no volume changes, and turned round it goes back. The energies that
decide whether it is accepted are in double precision. So a force that is off by one part in ten
million costs nothing but that part of the accuracy with which energy is kept, and takes a third of
the time. (`pasb.binary.softplus_gradient` has the same gradient in double precision, with the
formulas.) Blocks of rows are turned into singles as they are used.

Arguments as in `pasb.binary.softplus_gradient`, in double precision.
"""

from __future__ import annotations

import numpy as np

from pasb.binary.softplus_gradient import product_into, times, total_of
from pasb.binary.stick_rows import mark_block
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.single import HALF, ONE, ZERO, single_exp, single_log

LINEAR_BELOW = np.float32(-37.0)  # as in double precision
LEAST = np.float32(1e-30)
SMALL_RATE, TWELFTH = np.float32(0.02), np.float32(1.0 / 12.0)

# mypy: disable-error-code="call-arg"


@elementwise
def add_single_layer(psi, log_q, slope):
    """Turn log q_(t-1) into log q_t, in place; `slope` becomes its derivative by psi_t."""
    for i in range(psi.size):
        x = psi[i] + log_q[i]
        e = single_exp(-abs(x))
        u = ONE + e
        over = ONE / u
        # the last term gives back what the sum 1 + e rounded away
        q = max(max(x, ZERO) + (single_log(u) + (e - (u - ONE)) * over), LEAST)
        up = over if x > ZERO else e * over
        small = x < LINEAR_BELOW
        log_q[i] = x if small else single_log(q)
        slope[i] = ONE if small else up / q


@elementwise
def single_shares(log_q, log_weight, total, log_rate):
    """``log_rate = log(sum_k r_k q_k)``; `log_q` (experts, rows) become shares of that sum."""
    n_experts, n_rows = log_q.shape
    for i in range(n_rows):
        log_rate[i] = log_weight[0] + log_q[0, i]
    for k in range(1, n_experts):
        q, shift = log_q[k], log_weight[k]
        for i in range(n_rows):
            log_rate[i] = max(log_rate[i], shift + q[i])
    for i in range(n_rows):
        total[i] = ZERO
    for k in range(n_experts):
        q, shift = log_q[k], log_weight[k]
        for i in range(n_rows):
            part = single_exp(shift + q[i] - log_rate[i])
            total[i] += part
            q[i] = part
    for i in range(n_rows):
        log_rate[i] += single_log(total[i])
        total[i] = ONE / total[i]
    for k in range(n_experts):
        q = log_q[k]
        for i in range(n_rows):
            q[i] *= total[i]


@elementwise
def slopes_of_rows(log_rate, signs, powers, slope):
    """Derivatives of the log-likelihood of rows by log lambda.

    That of a success is lambda / (exp(lambda) - 1), by its power series where lambda is small.
    """
    for i in range(log_rate.size):
        rate = single_exp(log_rate[i])
        e = single_exp(-rate)
        series = ONE - HALF * rate + TWELFTH * rate * rate
        ratio = rate * e / max(ONE - e, HALF * SMALL_RATE)
        success = series if rate < SMALL_RATE else ratio
        slope[i] = powers[i] * (success if signs[i] > HALF else -rate)


@elementwise
def copied_into(values, out):
    """Copy an array into one of another precision."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = values[i, j]


@elementwise
def single_predictors(block, coef, out):
    """``out[j, i] = x_i' coef[j]`` for the rows of one block, terms added column by column."""
    width = block.shape[1]
    for j in range(coef.shape[0]):
        b, y = coef[j], out[j]
        for i in range(width):
            y[i] = ZERO
        for p in range(0, b.size, 4):
            b0, b1, b2, b3 = b[p], b[p + 1], b[p + 2], b[p + 3]
            x0, x1, x2, x3 = block[p], block[p + 1], block[p + 2], block[p + 3]
            for i in range(width):
                z = y[i] + b0 * x0[i]
                z += b1 * x1[i]
                z += b2 * x2[i]
                y[i] = z + b3 * x3[i]


@kernel
def single_gradient(rows, coef, log_weight, work, grad_coef, grad_weight):
    """The gradient of the log-likelihood of `StickRows` by coefficients and log-weights.

    Arguments are those of `pasb.binary.softplus_gradient.value_and_gradient`, in double precision;
    `work` is `force_space`.
    """
    block, own_coef, own_weight, psi, slopes, top, by_row = work
    n_experts, n_layers = top.shape[0], psi.shape[0] // top.shape[0]
    log_rate, scratch, signs, powers = by_row[0], by_row[1], by_row[2], by_row[3]
    copied_into(coef, own_coef)
    for k in range(n_experts):
        own_weight[k] = log_weight[k]
    grad_coef[:, :] = 0.0
    grad_weight[:] = 0.0
    for b in range(rows.blocks.shape[0]):
        if not mark_block(rows, b, signs, powers):
            continue
        copied_into(rows.blocks[b], block)
        single_predictors(block, own_coef, psi)
        for k in range(n_experts):
            top[k] = ZERO
            for t in range(k * n_layers, (k + 1) * n_layers):
                add_single_layer(psi[t], top[k], slopes[t])
            for t in range((k + 1) * n_layers - 2, k * n_layers - 1, -1):
                times(slopes[t + 1], slopes[t])
        single_shares(top, own_weight, scratch, log_rate)
        slopes_of_rows(log_rate, signs, powers, scratch)
        for k in range(n_experts):
            times(scratch, top[k])
            grad_weight[k] += total_of(top[k])
            for t in range(k * n_layers, (k + 1) * n_layers):
                product_into(slopes[t], top[k], psi[t])
        grad_coef += np.dot(psi, block.T)


def force_space(n_experts: int, n_layers: int, n_padded: int, width: int) -> tuple:
    """A block, coefficients, log-weights; predictors, slopes, shares of experts, four of a row."""
    n_vectors = n_experts * n_layers
    shapes = ((n_padded, width), (n_vectors, n_padded), (n_experts,))
    of_rows = ((n, width) for n in (n_vectors, n_vectors, n_experts, 4))
    return tuple(np.zeros(shape, dtype=np.float32) for shape in (*shapes, *of_rows))
