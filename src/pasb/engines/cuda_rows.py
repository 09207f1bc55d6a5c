"""The row half of a softplus update as CUDA kernels.

What happens to a row is the code that the CPU runs (`pasb.binary.softplus_rows`). A *problem* is
a stick of a chain; *vectors*, one for each expert, are numbered problem by problem. Rows are the
fastest axis, so that neighbouring threads read neighbouring numbers. Chains of one *table*
stand together; rows that only pad it have the category S, which is absent from every stick.

Arguments of the kernels of a batch, with R rows, K experts of T layers and n columns, those of the
largest table. `pasb.engines.softplus_arrays.SoftplusArrays` makes the arrays:

- `table` (tables, n, R), `category` (tables, R), `bounds` (tables, groups + 1): covariates by
  column, the group of each row, and where groups begin; `widths` (tables): columns that a table
  has;
- `roles` (problems, groups + 1): what the rows of a group are on a stick;
- `slots` (problems): where in the state arrays the parameters of a stick are;
- `coef`, `precision` (slots, K, T, n), `rate` (slots, K, T), `weight`, `active` (slots, K),
  `mass`, `inverse_scale` (slots, 1): the state; `own_coef` (vectors, n) has the coefficients of
  one layer;
- `psi`, `theta` (T, vectors, R) or, of one layer, (vectors, R): predictors and gamma variables;
- `log_exposure`, `weights`, `shares` (vectors, R): log exposures, Polya-Gamma variables, and the
  rows' shares of the linear term; `active` of rows (vectors, R): whether an expert is active;
- `gram` (vectors, n (n + 1) / 2), `linear` (vectors, n): X'WX, its lower triangle, and linear
  term;
- `n_active`, `exposure` (problems, K): sums over the rows;
- `hypers` (4), `rate_prior` (chains, 2), `ard` (bool), `shape` (float): priors, as in
  `pasb.binary.softplus_prior`;
- `stick_keys` (problems, 3): seed, chain and stick, which name random numbers; `sweep` (1);
  `layer`;
- `failed`, `some_steep` (vectors), `guards` (chains, 3): whether Cholesky failed, whether a row is
  steep, and how often guards fired.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import cuda

from pasb.binary import softplus_rows
from pasb.binary.softplus_kernels import KINDS, LATENTS, NO_EXPERT
from pasb.binary.softplus_link import LOG_GREATEST, LOG_OFF
from pasb.engines.device import THREADS, shared
from pasb.engines.device_functions import block_sum, key_of, log_success, open_stream, with_layer
from pasb.sticks import ABSENT

draw_row = shared(softplus_rows.draw_row)
draw_row_weight = shared(softplus_rows.draw_row_weight)
is_steep = shared(softplus_rows.is_steep)


@cuda.jit
def gather(slots, coef, weight, own_coef, own_weight):
    """The sticks' coefficients, layer by layer, and weights, from those of all categories.

    `own_weight` is (vectors, 1).
    """
    i = cuda.grid(1)
    n_layers, n_vectors, n = own_coef.shape
    n_experts = weight.shape[1]
    if i < n_vectors * n_layers * n:
        v = i % n
        layer = i // n % n_layers
        vector = i // n // n_layers
        slot, expert = slots[vector // n_experts], vector % n_experts
        own_coef[layer, vector, v] = coef[slot, expert, layer, v]
        if layer == 0 and v == 0:
            own_weight[vector, 0] = weight[slot, expert]


@cuda.jit
def polya_gammas(
    psi,
    log_exposure,
    active,
    shape,
    layer,
    stick_keys,
    roles,
    category,
    sweep,
    weights,
    linear,
    some_steep,
    guards,
):
    """w ~ PG(shape + n, psi + log exposure) of one layer; a block's second index is the vector.

    `shape` is (vectors, rows), or (vectors, 1) where it is the same for all rows; `linear` becomes
    the `shares`. `some_steep`
    becomes 1 for vectors with a steep row; `guards` has a row for each chain.
    """
    row = cuda.grid(1)
    vector = cuda.blockIdx.y
    if row >= psi.shape[1]:
        return
    n_problems = roles.shape[0]
    n_experts = psi.shape[0] // n_problems
    problem, expert = vector // n_experts, vector % n_experts
    table = problem // (n_problems // category.shape[0])
    if roles[problem, category[table, row]] == ABSENT:
        weights[vector, row] = 0.0
        linear[vector, row] = 0.0
        return
    key = key_of(stick_keys[problem], sweep[0], expert, (layer + 1) * KINDS + LATENTS)
    h = shape[vector, row if shape.shape[1] > 1 else 0]
    c = psi[vector, row] + log_exposure[vector, row]
    n = np.float64(active[vector, row])
    w, share, frozen = draw_row_weight(h, n, c, open_stream(key, row))
    weights[vector, row] = w
    linear[vector, row] = share
    if frozen:
        cuda.atomic.add(guards, (problem // (n_problems // guards.shape[0]), 1), 1)
    if is_steep(w, share):
        some_steep[vector] = 1


@cuda.jit
def add_exposure(psi, roles, category, log_exposure):
    """One more layer: exposures under the new coefficients."""
    row = cuda.grid(1)
    vector = cuda.blockIdx.y
    if row < psi.shape[1]:
        n_problems = roles.shape[0]
        problem = vector // (psi.shape[0] // n_problems)
        table = problem // (n_problems // category.shape[0])
        if roles[problem, category[table, row]] != ABSENT:
            log_exposure[vector, row] = with_layer(psi[vector, row], log_exposure[vector, row])


@cuda.jit
def count_active(active, log_exposure, roles, category, n_active, exposure):
    """Sums over rows that the weights depend on; one block a vector."""
    values = cuda.shared.array(THREADS, np.float64)
    vector = cuda.blockIdx.x
    n_problems = roles.shape[0]
    n_experts = active.shape[0] // n_problems
    problem = vector // n_experts
    table = problem // (n_problems // category.shape[0])
    count, total = 0.0, 0.0
    for row in range(cuda.threadIdx.x, active.shape[1], cuda.blockDim.x):
        if roles[problem, category[table, row]] != ABSENT:
            count += active[vector, row]
            total += math.exp(min(log_exposure[vector, row], 690.0))
    count = block_sum(values, count)
    total = block_sum(values, total)
    if cuda.threadIdx.x == 0:
        n_active[problem, vector % n_experts] = count
        exposure[problem, vector % n_experts] = total


@cache
def of_size(n_experts: int, n_layers: int) -> SimpleNamespace:
    """The kernels whose threads need arrays of the size of the model."""

    @cuda.jit(device=True)
    def log_probabilities(psi, weight, row):
        """Logs of the probabilities of success and failure of a row.

        `psi` is (experts, layers, rows), `weight` (experts,).
        """
        log_rate = -np.inf
        for k in range(n_experts):
            if weight[k] == 0.0:  # turned off; those that are not needed are tiny
                continue
            value = 0.0
            for t in range(n_layers):
                value = with_layer(psi[k, t, row], value)
            x = value + math.log(weight[k])
            high, low = max(log_rate, x), min(log_rate, x)
            log_rate = high + math.log1p(math.exp(low - high))
        log_rate = max(log_rate, LOG_OFF)
        rate = math.exp(min(log_rate, LOG_GREATEST))
        return log_success(log_rate, rate), -rate

    @cuda.jit
    def latents(psi, weight, stick_keys, roles, category, sweep, active, log_exposure, theta):
        """Arrivals and theta of every row; a block's second index is the problem.

        `psi` and `theta` are (layers, vectors, rows), `weight` is (vectors, 1).
        """
        row = cuda.grid(1)
        problem = cuda.blockIdx.y
        if row >= psi.shape[2]:
            return
        first = problem * n_experts
        table = problem // (roles.shape[0] // category.shape[0])
        label = roles[problem, category[table, row]]
        if label == ABSENT:
            for k in range(n_experts):
                active[first + k, row] = 0
                log_exposure[first + k, row] = 0.0
            return
        own_psi = cuda.local.array((n_experts, n_layers), np.float64)
        log_q = cuda.local.array((n_experts, n_layers), np.float64)
        q = cuda.local.array((n_experts, n_layers), np.float64)
        own_theta = cuda.local.array((n_experts, n_layers), np.float64)
        log_weight = cuda.local.array(n_experts, np.float64)
        log_rate = cuda.local.array(n_experts, np.float64)
        rate = cuda.local.array(n_experts, np.float64)
        left = cuda.local.array(n_experts, np.float64)
        own_exposure = cuda.local.array(n_experts, np.float64)
        own_active = cuda.local.array(n_experts, np.int8)
        off = cuda.local.array(n_experts, np.bool_)
        for k in range(n_experts):
            off[k] = False
            log_weight[k] = math.log(weight[first + k, 0])
            value = 0.0
            for t in range(n_layers):
                own_psi[k, t] = psi[t, first + k, row]
                value = with_layer(own_psi[k, t], value)
                log_q[k, t] = value
                q[k, t] = math.exp(min(value, LOG_GREATEST))
        key = key_of(stick_keys[problem], sweep[0], NO_EXPERT, LATENTS)
        draw_row(
            own_psi,
            log_q,
            q,
            log_weight,
            off,
            label,
            open_stream(key, row),
            log_rate,
            rate,
            left,
            own_active,
            own_exposure,
            own_theta,
        )
        for k in range(n_experts):
            active[first + k, row] = own_active[k]
            log_exposure[first + k, row] = own_exposure[k]
            for t in range(1, n_layers):
                theta[t, first + k, row] = own_theta[k, t]

    @cuda.jit
    def log_sums(psi, weight, bounds, sums):
        """Sums of log-probabilities over the rows of a category; one block a sum.

        `psi` is (slots, experts, layers, rows) with a slot for each category of each chain;
        a block's first index is the slot, its second the category of the rows. `sums` is
        (2, slots, categories): of success and of failure.
        """
        values = cuda.shared.array(THREADS, np.float64)
        slot, s = cuda.blockIdx.x, cuda.blockIdx.y
        table = slot // (psi.shape[0] // bounds.shape[0])
        first, last = bounds[table, s], bounds[table, s + 1]
        success, failure = 0.0, 0.0
        for row in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
            good, bad = log_probabilities(psi[slot], weight[slot], row)
            success += good
            failure += bad
        success = block_sum(values, success)
        failure = block_sum(values, failure)
        if cuda.threadIdx.x == 0:
            sums[0, slot, s] = success
            sums[1, slot, s] = failure

    @cuda.jit
    def probabilities(psi, weight, orders, reverse, out):
        """Probabilities of the categories; a block's second index is the draw.

        `psi` is (draws, categories, experts, layers, rows), `out` (draws, categories, rows),
        `orders` (draws, categories) the order of a draw, `reverse` (draws) whether it stops on
        failure.
        """
        row = cuda.grid(1)
        draw = cuda.blockIdx.y
        if row >= psi.shape[4]:
            return
        last = orders.shape[1] - 1
        log_left = 0.0
        for j in range(last):
            s = orders[draw, j]
            success, failure = log_probabilities(psi[draw, s], weight[draw, s], row)
            stop, go_on = (failure, success) if reverse[draw] else (success, failure)
            out[draw, s, row] = math.exp(log_left + stop)
            log_left += go_on
        out[draw, orders[draw, last], row] = math.exp(log_left)

    return SimpleNamespace(latents=latents, log_sums=log_sums, probabilities=probabilities)
