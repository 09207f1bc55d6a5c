"""Value and gradient of softplus sticks as CUDA kernels, all latents integrated out.

The log-density is that of `pasb.binary.softplus_posterior`. Between two matrix products, one thread
takes one row from its predictors to the derivatives of its log-likelihood by them; the second
product adds these up over rows. A *place* is a stick that is being worked at; `members` says which
*pair* of chain and stick that is, -1 for none. Kernels pass over places that are not `running`.

Arguments as in `pasb.engines.cuda_rows`; with N coordinates of a position, coefficient vectors V =
K T:

- `members`, `running` (places): the pair of a place, and whether it still moves; `n_sticks` of a
  chain;
- `place`, `gradient` (places, N): positions, and the gradients there;
- `grad_coef` (places x V, n), `parts` (places, blocks of rows, 1 + K): derivatives of the
  log-likelihood by coefficients; the log-likelihood and its derivatives by log-weights, summed by
  blocks of rows;
- `terms` (places, V + 2): what the log-density is the sum of.

Of one row, `slopes` (K, T) and `shares` (K) are its derivatives of log q_T by predictors and its
shares of lambda, `log_weight` (K) the logs of the weights, `row` its number and `factor` what its
derivatives are multiplied by. Of one `position` (N), `n_coef` = V n and `n_experts` = K say where
the logs of the weights are. `pair` is that of chain and stick.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import cuda

from pasb.binary import softplus_posterior
from pasb.binary.softplus_gradient import LOG_LEAST_RATE
from pasb.binary.softplus_link import LINEAR_BELOW, LOG_GREATEST
from pasb.binary.softplus_posterior import COEF_BOUND, LOG_BOUND
from pasb.engines.device import THREADS, shared
from pasb.engines.device_functions import block_sum, layer_with_slope, log_success
from pasb.sticks import ABSENT, SUCCESS

digamma = shared(softplus_posterior.digamma)
MOST_SUMS = min(16, THREADS)  # over a block of rows at a time
CERTAIN = 6.5  # log of a rate from which on a row succeeds for certain: it has no information


@cuda.jit(device=True)
def rate_of(log_rate):
    """lambda, where it can be represented."""
    return math.exp(min(max(log_rate, LOG_LEAST_RATE), LOG_GREATEST))


@cache
def of_size(n_experts: int, n_layers: int) -> SimpleNamespace:
    """The kernels whose threads need arrays of the size of the model."""
    n_sums = min(n_experts + 1, MOST_SUMS)

    @cuda.jit(device=True)
    def log_rate_of_row(psi, place, log_weight, row, slopes, shares):
        """log lambda; `slopes` become derivatives of log q_T, `shares` those of lambda."""
        first = place * n_experts * n_layers
        largest = -np.inf
        for k in range(n_experts):
            log_q = 0.0
            for t in range(n_layers):
                log_q, slope = layer_with_slope(psi[first + k * n_layers + t, row], log_q)
                slopes[k, t] = slope
            for t in range(n_layers - 2, -1, -1):
                slopes[k, t] *= slopes[k, t + 1]
            shares[k] = log_weight[k] + log_q
            largest = max(largest, shares[k])
        total = 0.0
        for k in range(n_experts):
            shares[k] = math.exp(shares[k] - largest)
            total += shares[k]
        over = 1.0 / total
        for k in range(n_experts):
            shares[k] *= over
        return largest + math.log(total)

    @cuda.jit(device=True)
    def spread(psi, place, row, factor, slopes, shares):
        """Derivatives by predictors and log-weights, times a factor of the row."""
        first = place * n_experts * n_layers
        for k in range(n_experts):
            shares[k] *= factor
            for t in range(n_layers):
                psi[first + k * n_layers + t, row] = slopes[k, t] * shares[k]

    @cuda.jit(device=True)
    def clear(psi, place, row):
        first = place * n_experts * n_layers
        for j in range(first, first + n_experts * n_layers):
            psi[j, row] = 0.0

    @cuda.jit
    def row_gradients(psi, place, members, running, roles, category, parts):
        """Predictors become derivatives of the log-likelihood; a block's second index is the place.

        `psi` is (places x experts x layers, rows), `place` holds positions, `parts` (places, row
        blocks, 1 + experts) get sums over the rows of a block: values, and their derivatives by
        log-weights.
        """
        values = cuda.shared.array((n_sums, THREADS), np.float64)
        slopes = cuda.local.array((n_experts, n_layers), np.float64)
        shares = cuda.local.array(n_experts, np.float64)
        row, thread = cuda.grid(1), cuda.threadIdx.x
        b = cuda.blockIdx.y
        if running[b] == 0:
            return
        n_rows = category.shape[1]
        n_coef = place.shape[1] - n_experts * (n_layers + 1) - 2
        value = 0.0
        for k in range(n_experts):
            shares[k] = 0.0
        if row < n_rows:
            table = b // (members.shape[0] // category.shape[0])
            label = roles[members[b], category[table, row]]
            if label == ABSENT:
                clear(psi, b, row)
            else:
                log_rate = log_rate_of_row(psi, b, place[b, n_coef:], row, slopes, shares)
                rate = rate_of(log_rate)
                value, slope = -rate, -rate
                if label == SUCCESS:
                    value = log_success(log_rate, rate)
                    slope = math.exp(log_rate - rate - value)
                spread(psi, b, row, slope, slopes, shares)
        # several sums at a time, in a fixed order
        for first in range(0, n_experts + 1, n_sums):
            few = min(n_sums, n_experts + 1 - first)
            for q in range(few):
                values[q, thread] = value if first + q == 0 else shares[first + q - 1]
            cuda.syncthreads()
            step = cuda.blockDim.x // 2
            while step > 0:
                if thread < step:
                    for q in range(few):
                        values[q, thread] += values[q, thread + step]
                cuda.syncthreads()
                step //= 2
            if thread < few:
                parts[b, cuda.blockIdx.x, first + thread] = values[thread, 0]
            cuda.syncthreads()

    @cuda.jit
    def row_information(psi, place, pair, roles, category, table, of_weights):
        """Predictors become derivatives of log lambda times the root of its information.

        Of one pair at several positions `place`; a block's second index is the position.
        `of_weights` (positions, experts, rows) get those by log-weights.
        """
        slopes = cuda.local.array((n_experts, n_layers), np.float64)
        shares = cuda.local.array(n_experts, np.float64)
        row = cuda.grid(1)
        b = cuda.blockIdx.y
        if row >= category.shape[1]:
            return
        n_coef = place.shape[1] - n_experts * (n_layers + 1) - 2
        root = 0.0
        if roles[pair, category[table, row]] != ABSENT:
            log_rate = log_rate_of_row(psi, b, place[b, n_coef:], row, slopes, shares)
            if log_rate < CERTAIN:
                rate = math.exp(log_rate)
                linear = log_rate < LINEAR_BELOW
                root = math.sqrt(rate if linear else rate * (rate / math.expm1(rate)))
        if root > 0.0:
            spread(psi, b, row, root, slopes, shares)
        else:
            clear(psi, b, row)
        for k in range(n_experts):
            of_weights[b, k, row] = shares[k] if root > 0.0 else 0.0

    return SimpleNamespace(row_gradients=row_gradients, row_information=row_information)


@cuda.jit
def add_prior(
    ard,
    shape,
    rate_prior,
    hypers,
    widths,
    members,
    n_sticks,
    running,
    place,
    grad_coef,
    parts,
    gradient,
    terms,
):
    """The gradient by all coordinates, and the terms of the log-density.

    A block's first index is a coefficient vector, or behind them for all that belongs to no vector;
    its second the place. A term is minus infinity beyond the bounds of the posterior.
    """
    values = cuda.shared.array(THREADS, np.float64)
    j, b = cuda.blockIdx.x, cuda.blockIdx.y
    if running[b] == 0:
        return
    n_vectors, n = grad_coef.shape[0] // members.shape[0], grad_coef.shape[1]
    n_experts = parts.shape[2] - 1
    n_coef = n_vectors * n
    if j < n_vectors:
        table = b // (members.shape[0] // widths.shape[0])
        prior = rate_prior[members[b] // n_sticks]
        at = n_coef + n_experts + j
        log_rate = place[b, at]
        term, slope = 0.0, 0.0
        if not abs(log_rate) <= LOG_BOUND:
            term, log_rate = -np.inf, 0.0
        rate = math.exp(log_rate)
        for v in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            x = place[b, j * n + v]
            own = grad_coef[b * n_vectors + j, v]
            if v >= widths[table]:
                own = 0.0  # a column that this table does not have
            elif not abs(x) < COEF_BOUND:
                term = -np.inf
            elif ard:
                inside = rate + 0.5 * x * x
                term += shape * log_rate - (shape + 0.5) * math.log(inside)
                own -= (shape + 0.5) * x / inside
                slope += shape - (shape + 0.5) * rate / inside
            else:
                term -= 0.5 * shape * x * x
                own -= shape * x
            gradient[b, j * n + v] = own
        term = block_sum(values, term)
        slope = block_sum(values, slope)
        if cuda.threadIdx.x == 0:
            if ard and prior[0] > 0.0:
                terms[b, j] = term + (prior[0] * log_rate - prior[1] * rate)
                gradient[b, at] = slope + prior[0] - prior[1] * rate
            else:
                terms[b, j] = term
                gradient[b, at] = 0.0  # it stays where it is
        return
    likelihood = 0.0
    for q in range(n_experts + 1):
        total = 0.0
        for i in range(cuda.threadIdx.x, parts.shape[1], cuda.blockDim.x):
            total += parts[b, i, q]
        total = block_sum(values, total)
        if q == 0:
            likelihood = total
        elif cuda.threadIdx.x == 0:
            gradient[b, n_coef + q - 1] = total
    if cuda.threadIdx.x == 0:
        terms[b, n_vectors] = likelihood
        terms[b, n_vectors + 1] = weights_term(hypers, place[b], n_coef, n_experts, gradient[b])


@cuda.jit(device=True)
def weights_term(hypers, position, n_coef, n_experts, gradient):
    """The terms of weights, gamma_0 and c_0; their gradients are added to or written."""
    last = position.shape[0] - 1
    log_mass, log_inverse_scale = position[last - 1], position[last]
    inside = abs(log_mass) <= LOG_BOUND and abs(log_inverse_scale) <= LOG_BOUND
    for k in range(n_coef, n_coef + n_experts):
        inside = inside and abs(position[k]) <= LOG_BOUND
    if not inside:
        return -np.inf
    mass, inverse_scale = math.exp(log_mass), math.exp(log_inverse_scale)
    a = mass / n_experts
    total, shares, sum_r = 0.0, 0.0, 0.0
    for k in range(n_coef, n_coef + n_experts):
        r = math.exp(position[k])
        total += a * position[k] - inverse_scale * r
        gradient[k] += a - inverse_scale * r
        shares += position[k]
        sum_r += r
    total += mass * log_inverse_scale - n_experts * math.lgamma(a)
    total += (
        hypers[0] * log_mass
        - hypers[1] * mass
        + hypers[2] * log_inverse_scale
        - hypers[3] * inverse_scale
    )
    gradient[last - 1] = (
        a * shares + mass * (log_inverse_scale - digamma(a)) + hypers[0] - hypers[1] * mass
    )
    gradient[last] = mass - inverse_scale * sum_r + hypers[2] - hypers[3] * inverse_scale
    return total
