"""The centre half of a softplus update as CUDA kernels: coefficients and hyperparameters.

State arrays have a *slot* for each category of each chain; `slots` says which one a problem, a
stick of a chain, belongs to. Sums are taken in a fixed order: the same keys give the same draws.

Arguments as in `pasb.engines.cuda_rows`; `factors` (vectors, n, n), `scales` and `works` (vectors,
n) are work space of normal draws. Of one vector these are `factor`, `scale` and `work`, `n`
columns with the stream `key`, shared out among the threads: `thread` is the first, and every
`step`-th follows.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from pasb.binary import softplus_prior
from pasb.binary.precisions import GREATEST_PRECISION
from pasb.binary.softplus_kernels import COEFFICIENTS, KINDS, LEAST_PIVOT, PRECISIONS
from pasb.binary.softplus_prior import ALL, LEAST_PRECISION, NONE
from pasb.engines.device import THREADS, kernel_with, shared
from pasb.engines.device_functions import block_sum, key_of, open_stream, stream_key
from pasb.variates import scalar

normal = shared(scalar.normal)
draw_seats = shared(softplus_prior.draw_seats)
draw_weights_given = shared(softplus_prior.draw_weights_given)
draw_precision = shared(softplus_prior.draw_precision)
draw_rate = shared(softplus_prior.draw_rate)
draw_mean_rate = shared(softplus_prior.draw_mean_rate)
draw_hypers_from_prior = shared(softplus_prior.draw_hypers_from_prior)

REGISTERS = 128  # of a thread, so that blocks of 512 fit in
LEAST_SQUARE = 1e-14  # of a pivot where the diagonal was 1: less is rounding error


@cuda.jit(device=True)
def factorise(factor, n):
    """Cholesky factor in member, by the threads of a block; the least pivot, or -1.

    ``factor[j, i]`` is the entry of row i and column j, so that threads with neighbouring rows
    read neighbouring numbers.
    """
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    least = 1.0
    for j in range(n):
        for i in range(j + i0, n, step):
            total, more = factor[j, i], 0.0
            k = 0
            while k + 3 < j:  # four loads at a time, because each takes long to arrive
                total -= factor[k, i] * factor[k, j] + factor[k + 1, i] * factor[k + 1, j]
                more += factor[k + 2, i] * factor[k + 2, j] + factor[k + 3, i] * factor[k + 3, j]
                k += 4
            while k < j:
                total -= factor[k, i] * factor[k, j]
                k += 1
            factor[j, i] = total - more
        cuda.syncthreads()
        square = factor[j, j]
        if not square > LEAST_SQUARE:
            return -1.0
        pivot = math.sqrt(square)
        least = min(least, pivot)
        cuda.syncthreads()
        for i in range(j + i0, n, step):
            factor[j, i] = pivot if i == j else factor[j, i] / pivot
        cuda.syncthreads()
    return least


@cuda.jit(device=True)
def equilibrate(gram, alpha, scale, factor, n):
    """Gram matrix and prior precision with a unit diagonal; -1 if that cannot be.

    `gram` has the lower triangle, row by row, and `alpha` (n) the precisions of the prior.
    """
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(n):
        diagonal = gram[v * (v + 1) // 2 + v] + alpha[v]
        if not (diagonal > 0.0 and diagonal < np.inf):
            return -1.0
    cuda.syncthreads()
    for v in range(i0, n, step):
        scale[v] = 1.0 / math.sqrt(gram[v * (v + 1) // 2 + v] + alpha[v])
    cuda.syncthreads()
    for k in range(i0, n * n, step):
        a, b = k // n, k % n
        if b < a:
            factor[b, a] = gram[a * (a + 1) // 2 + b] * scale[a] * scale[b]
        elif a == b:
            factor[a, a] = 1.0
    cuda.syncthreads()
    return 0.0


@cuda.jit(device=True)
def solve_lower(factor, scale, linear, n, thread, step, out):
    """``out = L^-1 S linear``, by the threads of a block."""
    for v in range(thread, n, step):
        out[v] = linear[v] * scale[v]
    cuda.syncthreads()
    # an entry is divided by its pivot where it is used, and once more in the end
    for j in range(n):
        solved = out[j] / factor[j, j]
        for v in range(j + 1 + thread, n, step):
            out[v] -= factor[j, v] * solved
        cuda.syncthreads()
    for v in range(thread, n, step):
        out[v] /= factor[v, v]
    cuda.syncthreads()


@cuda.jit(device=True)
def add_noise_and_solve(factor, scale, key, n, thread, step, work, out):
    """Add S L^-T (work + z) to `out`, by the threads of a block; `work` is written over."""
    for v in range(thread, n, step):
        z, _ = normal(open_stream(key, v))
        work[v] += z
    cuda.syncthreads()
    for j in range(n - 1, -1, -1):
        solved = work[j] / factor[j, j]
        for v in range(thread, j, step):
            work[v] -= factor[v, j] * solved
        cuda.syncthreads()
    for v in range(thread, n, step):
        out[v] += scale[v] * (work[v] / factor[v, v])
    cuda.syncthreads()


@kernel_with(max_registers=REGISTERS)
def draw_coefficients(
    gram,
    linear,
    precision,
    layer,
    slots,
    stick_keys,
    sweep,
    factors,
    scales,
    works,
    own_coef,
    coef,
    some_steep,
    failed,
):
    """The coefficients of one layer given the sums; one block a vector.

    `gram` has the lower triangle, row by row; `own_coef` are the vectors' coefficients of the
    layer, `coef` and `precision` those of all slots. Where Cholesky fails, or a row is steep,
    `failed` says so and nothing is drawn: that is left to `pasb.engines.cuda_reflections`.
    """
    vector = cuda.blockIdx.x
    n = linear.shape[1]
    n_experts = coef.shape[1]
    problem, expert = vector // n_experts, vector % n_experts
    slot = slots[problem]
    factor, scale = factors[vector], scales[vector]
    alpha, beta, right = precision[slot, expert, layer], own_coef[vector], linear[vector]
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    steep = some_steep[vector] != 0
    cuda.syncthreads()
    if i0 == 0:
        some_steep[vector] = 0  # for the next layer
    for v in range(i0, n, step):
        right[v] -= alpha[v] * beta[v]
    least = equilibrate(gram[vector], alpha, scale, factor, n)
    if least >= 0.0:
        least = factorise(factor, n)
    if steep or least < LEAST_PIVOT:
        if i0 == 0:
            failed[vector] = 1
        return
    if i0 == 0:
        failed[vector] = 0
    key = key_of(stick_keys[problem], sweep[0], expert, (layer + 1) * KINDS + COEFFICIENTS)
    work = works[vector]
    solve_lower(factor, scale, right, n, i0, step, work)
    add_noise_and_solve(factor, scale, key, n, i0, step, work, beta)
    for v in range(i0, n, step):
        coef[slot, expert, layer, v] = beta[v]


@cuda.jit
def draw_gamma_process(
    n_active, exposure, hypers, slots, stick_keys, sweep, weight, active, mass, inverse_scale
):
    """gamma_0, weights and c_0; one block a problem, whose threads share out the experts."""
    values = cuda.shared.array(THREADS, np.float64)
    problem = cuda.blockIdx.x
    slot = slots[problem]
    seed, chain, stick = stick_keys[problem, 0], stick_keys[problem, 1], stick_keys[problem, 2]
    seats = 0.0
    n_experts = weight.shape[1]
    for k in range(cuda.threadIdx.x, n_experts, cuda.blockDim.x):
        seats += draw_seats(
            k, n_experts, n_active[problem, k], mass[slot, 0], seed, chain, sweep[0], stick
        )
        active[slot, k] = n_active[problem, k]
    seats = block_sum(values, seats)
    if cuda.threadIdx.x == 0:
        draw_weights_given(
            seats,
            n_active[problem],
            exposure[problem],
            hypers,
            seed,
            chain,
            sweep[0],
            stick,
            weight[slot],
            mass[slot],
            inverse_scale[slot],
        )


@cuda.jit
def draw_precisions(
    shape, rate_prior, widths, slots, stick_keys, sweep, coef, precision, rate, guards
):
    """Precisions given the coefficients, then their rate; one block a layer of a vector.

    `rate_prior` has a row for each chain, `widths`, the numbers of columns, one for each table.
    """
    values = cuda.shared.array(THREADS, np.float64)
    vector, t = cuda.blockIdx.x, cuda.blockIdx.y
    n_experts = coef.shape[1]
    problem, k = vector // n_experts, vector % n_experts
    table = problem // (slots.shape[0] // widths.shape[0])
    prior, n = rate_prior[problem // (slots.shape[0] // rate_prior.shape[0])], widths[table]
    slot = slots[problem]
    key = key_of(stick_keys[problem], sweep[0], k, (np.int64(t) + 1) * KINDS + PRECISIONS)
    total = 0.0
    own = rate[slot, k, t]
    for v in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        x = draw_precision(open_stream(key, v), coef[slot, k, t, v], ALL, shape, own)
        precision[slot, k, t, v] = x
        total += x
        if x <= LEAST_PRECISION or x >= GREATEST_PRECISION:
            cuda.atomic.add(guards, (problem // (slots.shape[0] // guards.shape[0]), 2), 1)
    total = block_sum(values, total)
    if cuda.threadIdx.x == 0 and prior[0] > 0.0:
        rate[slot, k, t] = draw_rate(open_stream(key, n), n, total, shape, prior)


@cuda.jit
def draw_mean_rates(prior, slots, stick_keys, sweep, rate, mean_rate, rate_prior):
    """The mean of the rates of every chain, given those of its sticks; one thread a chain.

    `mean_rate` (slots, 1) becomes that of all its categories, and part of the prior of its rates;
    `prior` (2) has shape and rate of the prior of its inverse.
    """
    c = cuda.grid(1)
    n_chains = rate_prior.shape[0]
    if c >= n_chains:
        return
    n_updated, n_slots = slots.shape[0] // n_chains, mean_rate.shape[0] // n_chains
    n_sticks = max(1, min(n_updated, n_slots - 1))  # the reference, which comes last, has none
    total = 0.0
    for j in range(c * n_updated, c * n_updated + n_sticks):
        for k in range(rate.shape[1]):
            for t in range(rate.shape[2]):
                total += rate[slots[j], k, t]
    own = stick_keys[c * n_updated]
    zero = np.int64(0)
    key = np.uint64(stream_key(own[0], own[1], sweep[0], np.int64(3 * n_slots), zero, zero))
    mean = draw_mean_rate(key, n_sticks * rate.shape[1] * rate.shape[2], total, prior)
    for slot in range(c * n_slots, (c + 1) * n_slots):
        mean_rate[slot] = mean
    rate_prior[c, 1] = 1.0 / mean


@cuda.jit
def draw_references(
    hypers,
    ard,
    shape,
    rate_prior,
    widths,
    references,
    stick_keys,
    sweep,
    coef,
    weight,
    active,
    precision,
    rate,
    mass,
    inverse_scale,
):
    """All parameters of a reference category from the prior; one block a chain.

    `references` are the slots, -1 in chains whose order is fixed.
    """
    c = cuda.blockIdx.x
    slot = references[c]
    if slot < 0:
        return
    table = c // (references.shape[0] // widths.shape[0])
    if cuda.threadIdx.x == 0:
        draw_hypers_from_prior(
            hypers,
            rate_prior[c],
            stick_keys[c, 0],
            stick_keys[c, 1],
            sweep[0],
            stick_keys[c, 2],
            weight[slot],
            rate[slot],
            mass[slot],
            inverse_scale[slot],
        )
    cuda.syncthreads()
    n_experts, n_layers, n = coef.shape[1], coef.shape[2], widths[table]
    for k in range(cuda.threadIdx.x, n_experts, cuda.blockDim.x):
        active[slot, k] = 0.0
    for i in range(cuda.threadIdx.x, n_experts * n_layers * n, cuda.blockDim.x):
        v, t, k = i % n, i // n % n_layers, i // n // n_layers
        layer = (np.int64(t) + 1) * KINDS
        if ard:
            key = key_of(stick_keys[c], sweep[0], k, layer + PRECISIONS)
            own = rate[slot, k, t]
            precision[slot, k, t, v] = draw_precision(open_stream(key, v), 0.0, NONE, shape, own)
        key = key_of(stick_keys[c], sweep[0], k, layer + COEFFICIENTS)
        z, _ = normal(open_stream(key, v))
        coef[slot, k, t, v] = z / math.sqrt(precision[slot, k, t, v])
