"""The stack-softplus function and the logs of success and failure, row by row.

With psi_t = x'b_k^(t+1), q_0 = 1 and q_t = log(1 + q_(t-1) exp(psi_t)), a row fails with
probability exp(-lambda), lambda = sum_k r_k q_T (the paper's equation for lambda_{i z_s}). Only
log q is kept: q itself underflows for a linear predictor below -745.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.logistic_kernels import kernel
from pasb.rows import BLOCK, elementwise, linear_predictors
from pasb.vector import vector_exp, vector_log, vector_softplus

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
def log_rates(log_q, log_weight, out):
    """``out[i] = log(sum_k r_k q_(k, i))``; `log_q` is (experts, rows)."""
    n_experts, n_rows = log_q.shape
    for i in range(n_rows):
        out[i] = log_weight[0] + log_q[0, i]
    for k in range(1, n_experts):
        q = log_q[k]
        shift = log_weight[k]
        for i in range(n_rows):
            x = shift + q[i]
            # log(e^a + e^b) is the larger plus a softplus of minus their distance
            out[i] = max(out[i], x) + vector_softplus(-abs(out[i] - x))


@elementwise
def exponentials(x, out):
    """``out = exp(x)``, at most 1e300."""
    for i in range(x.size):
        out[i] = vector_exp(min(x[i], LOG_GREATEST))


@kernel
def log_link(blocks, coef, log_weight, psi, log_success, log_failure):
    """Logs of success and failure of every row under several parameters.

    `coef` is (vectors, experts x layers, padded columns), `log_weight` (vectors, experts),
    the results (vectors, blocks x BLOCK); `psi`, (experts, layers, BLOCK), is scratch.
    Experts that take no part are passed over.
    """
    n_experts, n_layers, _ = psi.shape
    log_q = np.empty((n_experts, BLOCK))
    log_rate = np.empty(BLOCK)
    for b in range(blocks.shape[0]):
        for s in range(coef.shape[0]):
            log_q[:, :] = 0.0
            for k in range(n_experts):
                if log_weight[s, k] <= LOG_OFF:
                    continue
                layers = coef[s, k * n_layers : (k + 1) * n_layers]
                linear_predictors(blocks[b : b + 1], layers, psi[k])
                for t in range(n_layers):
                    add_layer(psi[k, t], log_q[k])
            log_rates(log_q, log_weight[s], log_rate)
            start = b * BLOCK
            log_one_minus_exp(log_rate, log_success[s, start : start + BLOCK])
            failure = log_failure[s, start : start + BLOCK]
            exponentials(log_rate, failure)
            failure *= -1.0


@kernel
def log_one_minus_exp(log_rate, out):
    """log(1 - exp(-rate)), in full precision for every rate."""
    for i in range(log_rate.size):
        if log_rate[i] < LINEAR_BELOW:
            out[i] = log_rate[i]
            continue
        rate = math.exp(min(log_rate[i], LOG_GREATEST))
        if rate < 0.7:
            out[i] = math.log(-math.expm1(-rate))
        else:
            out[i] = math.log1p(-math.exp(-rate))


@kernel
def sum_by_category(values, bounds, out):
    """``out[s]`` becomes the sum of `values` over the rows of category s."""
    for s in range(bounds.shape[0] - 1):
        total = 0.0
        for i in range(bounds[s], bounds[s + 1]):
            total += values[i]
        out[s] = total
