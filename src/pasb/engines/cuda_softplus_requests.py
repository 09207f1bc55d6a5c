"""The row half of softplus sticks whose rows are elsewhere, as CUDA kernels.

The same sums as `pasb.binary.softplus_requests`. One group of threads takes one *piece*, up to
`BLOCK` rows of one group, for one request; `pasb.engines.cuda_requests` adds up pieces and products
with columns, in a fixed order, so that an answer does not depend on the requests beside it.

Arguments: `blocks`, `pieces` as there; `roles` (requests, groups), `coef` (requests, experts x
layers, columns), `log_weight` (requests, experts); `keys` (requests,) and `numbers` (rows,) name
streams; `sums` (requests, numbers of an answer, pieces); `terms` (1, requests x experts x layers,
rows) get derivatives by predictors.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import cuda

from pasb.binary import softplus_rows
from pasb.binary.softplus_link import LOG_GREATEST, LOG_OFF
from pasb.engines.cuda_gradient import rate_of
from pasb.engines.device import THREADS, shared
from pasb.engines.device_functions import (
    block_sum,
    layer_with_slope,
    log_success,
    open_stream,
    with_layer,
)
from pasb.sticks import ABSENT, SUCCESS

draw_active = shared(softplus_rows.draw_active)


@cuda.jit(device=True)
def predictor(blocks, coef, k, row):
    """x'b of a row of block `k`."""
    total = 0.0
    for p in range(coef.shape[0]):
        total += coef[p] * blocks[k, p, row]
    return total


@cache
def of_size(n_experts: int, n_layers: int) -> SimpleNamespace:
    """The kernels whose threads need arrays of the size of the model."""
    n_vectors, n_slopes, n_tables = n_experts * n_layers, n_experts + 1, n_experts + 2

    @cuda.jit
    def row_slopes(blocks, pieces, roles, coef, log_weight, sums, terms):
        """Log-likelihoods and their derivatives by log-weights, and by predictors of rows."""
        values = cuda.shared.array(THREADS, np.float64)
        slopes = cuda.local.array((n_experts, n_layers), np.float64)
        shares = cuda.local.array(n_experts, np.float64)
        own = cuda.local.array(n_slopes, np.float64)
        piece, v, i = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        block, first = pieces[piece, 0], pieces[piece, 1]
        last, role = pieces[piece, 2], roles[v, pieces[piece, 3]]
        for q in range(n_slopes):
            own[q] = 0.0
        for row in range(first + i, last, cuda.blockDim.x):
            at = block * blocks.shape[2] + row
            if role == ABSENT:
                for j in range(n_vectors):
                    terms[0, v * n_vectors + j, at] = 0.0
                continue
            largest, total = -np.inf, 0.0
            for k in range(n_experts):
                log_q = 0.0
                for t in range(n_layers):
                    psi = predictor(blocks, coef[v, k * n_layers + t], block, row)
                    log_q, slope = layer_with_slope(psi, log_q)
                    slopes[k, t] = slope
                for t in range(n_layers - 2, -1, -1):
                    slopes[k, t] *= slopes[k, t + 1]
                shares[k] = log_weight[v, k] + log_q
                largest = max(largest, shares[k])
            for k in range(n_experts):
                shares[k] = math.exp(shares[k] - largest)
                total += shares[k]
            log_rate = largest + math.log(total)
            rate = rate_of(log_rate)
            value, factor = -rate, -rate
            if role == SUCCESS:
                value = log_success(log_rate, rate)
                factor = math.exp(log_rate - rate - value)
            own[0] += value
            for k in range(n_experts):
                share = shares[k] / total * factor
                own[k + 1] += share
                for t in range(n_layers):
                    terms[0, v * n_vectors + k * n_layers + t, at] = slopes[k, t] * share
        for q in range(n_slopes):
            total = block_sum(values, own[q])
            if i == 0:
                sums[v, q, piece] = total

    @cuda.jit
    def row_tables(blocks, pieces, roles, coef, log_weight, keys, numbers, sums):
        """Logs of success and of failure, and in how many successes each expert is active."""
        values = cuda.shared.array(THREADS, np.float64)
        log_rates = cuda.local.array(n_experts, np.float64)
        rates = cuda.local.array(n_experts, np.float64)
        left = cuda.local.array(n_experts, np.float64)
        active = cuda.local.array(n_experts, np.int64)
        own = cuda.local.array(n_tables, np.float64)
        piece, v, i = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        block, first = pieces[piece, 0], pieces[piece, 1]
        last, role = pieces[piece, 2], roles[v, pieces[piece, 3]]
        for q in range(n_tables):
            own[q] = 0.0
        for row in range(first + i, last, cuda.blockDim.x):
            log_rate = -np.inf
            for k in range(n_experts):
                log_q = 0.0
                for t in range(n_layers):
                    psi = predictor(blocks, coef[v, k * n_layers + t], block, row)
                    log_q = with_layer(psi, log_q)
                x = log_weight[v, k] + log_q
                log_rates[k] = x
                high, low = max(log_rate, x), min(log_rate, x)
                log_rate = high + math.log1p(math.exp(low - high))
            log_rate = max(log_rate, LOG_OFF)
            rate = math.exp(min(log_rate, LOG_GREATEST))
            own[0] += log_success(log_rate, rate)
            own[1] -= rate
            if role == SUCCESS:
                stream = open_stream(keys[v], numbers[block * blocks.shape[2] + row])
                draw_active(log_rates, rates, left, False, stream, active)
                for k in range(n_experts):
                    own[k + 2] += active[k]
        for q in range(n_tables):
            total = block_sum(values, own[q])
            if i == 0:
                sums[v, q, piece] = total

    return SimpleNamespace(row_slopes=row_slopes, row_tables=row_tables)
