"""The stack-softplus function and the logs of success and failure, row by row.

With psi_t = x'b_k^(t+1), q_0 = 1 and q_t = log(1 + q_(t-1) exp(psi_t)), a row fails with
probability exp(-lambda), lambda = sum_k r_k q_T (the paper's equation for lambda_{i z_s}). Only
log q is kept: q itself underflows for a linear predictor below -745.

Arguments as in `pasb.binary.softplus_kernels`; the results `log_success` and `log_failure` have an
entry for each row, `success` and `failure` (n_groups) for each group of rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.rows import BLOCK, linear_predictors
from pasb.numerics.vector import vector_exp, vector_log, vector_softplus

LINEAR_BELOW = -37.0  # below, log(1 + e^x) is e^x to double precision
LEAST = 1e-300  # stands for weights that underflow; they change no probability
LOG_LEAST = math.log(LEAST)
LOG_OFF = -1e8  # stands for the log of a weight that is zero: the expert takes no part
LOG_GREATEST = math.log(1e300)


def log_weights(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logs of expert weights, finite for those that are zero too."""
    return np.where(weight > 0, np.log(np.maximum(weight, LEAST)), LOG_OFF)


@elementwise
def add_layer(psi, log_q):
    """Turn log q_(t-1) into log q_t = log log(1 + exp(psi_t + log q_(t-1))), in place."""
    for i in range(psi.size):
        x = psi[i] + log_q[i]
        y = vector_log(max(vector_softplus(x), 1e-300))
        log_q[i] = x if x < LINEAR_BELOW else y


@elementwise
def log_rates(log_q, log_weight, total, out):
    """``out[i] = log(sum_k r_k q_(k, i))``; `log_q` is (experts, rows), `total` is scratch."""
    n_experts, n_rows = log_q.shape
    for i in range(n_rows):
        out[i] = log_weight[0] + log_q[0, i]
    for k in range(1, n_experts):
        q = log_q[k]
        shift = log_weight[k]
        for i in range(n_rows):
            out[i] = max(out[i], shift + q[i])
    for i in range(n_rows):
        total[i] = 0.0
    for k in range(n_experts):
        q = log_q[k]
        shift = log_weight[k]
        for i in range(n_rows):
            total[i] += vector_exp(shift + q[i] - out[i])
    for i in range(n_rows):
        out[i] += vector_log(total[i])


@elementwise
def exponentials(x, out):
    """``out = exp(x)``, at most 1e300."""
    for i in range(x.size):
        out[i] = vector_exp(min(x[i], LOG_GREATEST))


@kernel
def log_link_of_block(block, coef, log_weight, psi, log_q, work, log_success, log_failure):
    """Logs of success and failure of the rows of one block.

    `coef` is (experts x layers, padded columns); `psi` (layers, BLOCK), `log_q` (experts, BLOCK)
    and `work` (2, BLOCK) are scratch. Experts that take no part are passed over.
    """
    n_layers = psi.shape[0]
    n_experts = log_q.shape[0]
    for k in range(n_experts):
        log_q[k] = 0.0
        if log_weight[k] > LOG_OFF:
            layers = coef[k * n_layers : (k + 1) * n_layers]
            linear_predictors(block.reshape(1, block.shape[0], BLOCK), layers, psi)
            for t in range(n_layers):
                add_layer(psi[t], log_q[k])
    log_rates(log_q, log_weight, work[0], work[1])
    exponentials(work[1], log_failure)
    log_one_minus_exp(work[1], log_failure, log_success)
    for i in range(BLOCK):
        log_failure[i] = -log_failure[i]


def link_space(n_experts: int, n_layers: int) -> tuple[NDArray[np.float64], ...]:
    """The scratch of `log_link_of_block`, and logs of success and failure of one block."""
    shapes = (n_layers, n_experts, 2, 2)
    return tuple(np.zeros((n, BLOCK)) for n in shapes)


@kernel
def log_link(blocks, coef, log_weight, psi, log_q, work, log_success, log_failure):
    """Logs of success and failure of every row under several parameters.

    `coef` is (vectors, experts x layers, padded columns), `log_weight` (vectors, experts),
    the results (vectors, blocks x BLOCK); the scratch is that of `log_link_of_block`.
    """
    for b in range(blocks.shape[0]):
        rows = slice(b * BLOCK, (b + 1) * BLOCK)
        for s in range(coef.shape[0]):
            success, failure = log_success[s, rows], log_failure[s, rows]
            log_link_of_block(blocks[b], coef[s], log_weight[s], psi, log_q, work, success, failure)


@elementwise
def log_one_minus_exp(log_rate, rate, out):
    """log(1 - exp(-rate)), in full precision for every rate; `log_rate` is its logarithm."""
    for i in range(rate.size):
        x = rate[i]
        # log((1 - e^-x) / x) by its power series
        z = min(x * x, 1.0)
        p = -3617.0 / 170729965486080000.0
        p = p * z + 1.0 / 1046139494400.0
        p = p * z - 691.0 / 15692092416000.0
        p = p * z + 1.0 / 479001600.0
        p = p * z - 1.0 / 9676800.0
        p = p * z + 1.0 / 181440.0
        p = p * z - 1.0 / 2880.0
        p = p * z + 1.0 / 24.0
        small = log_rate[i] + (p * z - 0.5 * x)
        y = vector_exp(-x)
        u = max(1.0 - y, 0.25)  # nothing is that small where it counts
        # the second term gives back what the difference 1 - y rounded away
        large = vector_log(u) - (y - (1.0 - u)) / u
        out[i] = small if x < 0.7 else large


@kernel
def log_sums_of(blocks, bounds, coef, log_weight, psi, log_q, work, logs, success, failure):
    """Sums of the logs of success and failure over the rows of each category.

    `logs` (2, BLOCK) is scratch, and so are `psi` to `work`, see `log_link_of_block`.
    """
    success[:] = 0.0
    failure[:] = 0.0
    s = 0
    for b in range(blocks.shape[0]):
        log_link_of_block(blocks[b], coef, log_weight, psi, log_q, work, logs[0], logs[1])
        row = b * BLOCK
        while row < min((b + 1) * BLOCK, bounds[-1]):
            while row >= bounds[s + 1]:
                s += 1
            stop = min((b + 1) * BLOCK, bounds[s + 1])
            for i in range(row - b * BLOCK, stop - b * BLOCK):
                success[s] += logs[0, i]
                failure[s] += logs[1, i]
            row = stop
