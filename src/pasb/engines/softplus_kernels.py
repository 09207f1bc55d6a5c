"""The row and centre halves of a softplus update as CUDA kernels.

What happens to a row, and every scalar draw, is the code that the CPU runs (`softplus_rows`,
`softplus_prior`, the samplers). A *problem* is a stick of a chain; vectors are numbered problem
by problem, expert by expert. Rows are the fastest axis, so that neighbouring threads read
neighbouring numbers. Sums are taken in a fixed order: the same keys give the same draws.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import cuda

from pasb.binary import softplus_prior, softplus_rows
from pasb.binary.base import ABSENT
from pasb.binary.softplus_kernels import COEFFICIENTS, KINDS, LATENTS, LEAST_PIVOT, NO_EXPERT
from pasb.binary.softplus_link import LINEAR_BELOW, LOG_GREATEST, LOG_LEAST
from pasb.binary.softplus_prior import ALL
from pasb.engines.device import THREADS, shared, simulated
from pasb.variates import scalar

normal, stream_key = shared(scalar.normal), scalar.stream_key
# in the simulator a compiled function would turn unsigned numbers into Python's
open_stream = scalar.open_stream.py_func if simulated() else scalar.open_stream
draw_row = shared(softplus_rows.draw_row)
draw_row_weight = shared(softplus_rows.draw_row_weight)
draw_weights = shared(softplus_prior.draw_weights)
draw_precisions = shared(softplus_prior.draw_precisions)
draw_from_prior = shared(softplus_prior.draw_from_prior)

LEAST_SQUARE = 1e-14  # of a pivot where the diagonal was 1: less is rounding error


@cuda.jit(device=True)
def key_of(name, sweep, expert, kind):
    """Key of the streams of an expert; `name` is the seed, the chain and the stick."""
    return np.uint64(stream_key(name[0], name[1], sweep, name[2], np.int64(expert), kind))


@cuda.jit(device=True)
def with_layer(psi, log_q):
    """log q_t from psi_t and log q_(t-1)."""
    x = psi + log_q
    if x < LINEAR_BELOW:
        return x
    return math.log(x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x)))


@cuda.jit(device=True)
def block_sum(values, value):
    """Sum over the threads of a block, in a fixed order; all threads get it."""
    i = cuda.threadIdx.x
    values[i] = value
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if i < step:
            values[i] += values[i + step]
        cuda.syncthreads()
        step //= 2
    total = values[0]
    cuda.syncthreads()
    return total


@cuda.jit
def polya_gammas(
    psi, log_exposure, active, shape, layer, chains, parts, category, sweep, weights, linear, frozen
):
    """w ~ PG(shape + n, psi + log exposure) of one layer; a block's second index is the vector.

    `shape` is (vectors, rows), or (vectors, 1) where it is the same for all rows.
    """
    row = cuda.grid(1)
    vector = cuda.blockIdx.y
    if row >= psi.shape[1]:
        return
    n_experts = psi.shape[0] // parts.shape[0]
    problem, expert = vector // n_experts, vector % n_experts
    if parts[problem, category[row]] == ABSENT:
        weights[vector, row] = 0.0
        linear[vector, row] = 0.0
        return
    key = key_of(chains[problem], sweep, expert, (layer + 1) * KINDS + LATENTS)
    h = shape[vector, row if shape.shape[1] > 1 else 0]
    c = psi[vector, row] + log_exposure[vector, row]
    n = np.float64(active[vector, row])
    w, share, stuck = draw_row_weight(h, n, c, open_stream(key, row))
    weights[vector, row] = w
    linear[vector, row] = share
    if stuck:
        cuda.atomic.add(frozen, 0, 1)


@cuda.jit
def add_exposure(psi, parts, category, log_exposure):
    """One more layer: exposures under the new coefficients."""
    row = cuda.grid(1)
    vector = cuda.blockIdx.y
    if row < psi.shape[1]:
        n_experts = psi.shape[0] // parts.shape[0]
        if parts[vector // n_experts, category[row]] != ABSENT:
            log_exposure[vector, row] = with_layer(psi[vector, row], log_exposure[vector, row])


@cuda.jit
def count_active(active, log_exposure, parts, category, n_active, exposure):
    """Sums over rows that the weights depend on; one block a vector."""
    values = cuda.shared.array(THREADS, np.float64)
    vector = cuda.blockIdx.x
    n_experts = active.shape[0] // parts.shape[0]
    problem = vector // n_experts
    count, total = 0.0, 0.0
    for row in range(cuda.threadIdx.x, active.shape[1], cuda.blockDim.x):
        if parts[problem, category[row]] != ABSENT:
            count += active[vector, row]
            total += math.exp(min(log_exposure[vector, row], 690.0))
    count = block_sum(values, count)
    total = block_sum(values, total)
    if cuda.threadIdx.x == 0:
        n_active[problem, vector % n_experts] = count
        exposure[problem, vector % n_experts] = total


@cuda.jit(device=True)
def factorise(factor, n):
    """Cholesky factor in place (lower), by the threads of a block; the least pivot, or -1."""
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    least = 1.0
    for j in range(n):
        square = factor[j, j]
        if not square > LEAST_SQUARE:
            return -1.0
        pivot = math.sqrt(square)
        least = min(least, pivot)
        cuda.syncthreads()
        for i in range(j + i0, n, step):
            factor[i, j] = pivot if i == j else factor[i, j] / pivot
        cuda.syncthreads()
        width = n - j - 1
        for k in range(i0, width * width, step):
            a, b = j + 1 + k // width, j + 1 + k % width
            if b <= a:
                factor[a, b] -= factor[a, j] * factor[b, j]
        cuda.syncthreads()
    return least


@cuda.jit(device=True)
def draw_with_factor(factor, scale, linear, key, n, work, out):
    """Add S L^-T (L^-1 S linear + z) to `out`, by the threads of a block."""
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(i0, n, step):
        work[v] = linear[v] * scale[v]
    cuda.syncthreads()
    for j in range(n):
        if i0 == 0:
            work[j] /= factor[j, j]
        cuda.syncthreads()
        for v in range(j + 1 + i0, n, step):
            work[v] -= factor[v, j] * work[j]
        cuda.syncthreads()
    for v in range(i0, n, step):
        z, _ = normal(open_stream(key, v))
        work[v] += z
    cuda.syncthreads()
    for j in range(n - 1, -1, -1):
        if i0 == 0:
            work[j] /= factor[j, j]
        cuda.syncthreads()
        for v in range(i0, j, step):
            work[v] -= factor[j, v] * work[j]
        cuda.syncthreads()
    for v in range(i0, n, step):
        out[v] += scale[v] * work[v]
    cuda.syncthreads()


@cuda.jit
def draw_coefficients(
    gram, linear, precision, layer, chains, sweep, factors, scales, works, coef, failed
):
    """The coefficients of one layer given the sums; one block a vector.

    `gram` has the lower triangle, row by row; `coef` and `precision` are those of the layer.
    Where Cholesky fails, `failed` says so and nothing is drawn.
    """
    vector = cuda.blockIdx.x
    n = linear.shape[1]
    n_experts = linear.shape[0] // chains.shape[0]
    problem, expert = vector // n_experts, vector % n_experts
    factor, scale = factors[vector], scales[vector]
    alpha, beta, right = precision[vector], coef[vector], linear[vector]
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(i0, n, step):
        right[v] -= alpha[v] * beta[v]
    bad = False
    for v in range(n):
        diagonal = gram[vector, v * (v + 1) // 2 + v] + alpha[v]
        bad = bad or not (diagonal > 0.0 and diagonal < np.inf)
    if bad:
        if i0 == 0:
            failed[vector] = 1
        return
    for v in range(i0, n, step):
        scale[v] = 1.0 / math.sqrt(gram[vector, v * (v + 1) // 2 + v] + alpha[v])
    cuda.syncthreads()
    for k in range(i0, n * n, step):
        a, b = k // n, k % n
        if b < a:
            factor[a, b] = gram[vector, a * (a + 1) // 2 + b] * scale[a] * scale[b]
        elif a == b:
            factor[a, a] = 1.0
    cuda.syncthreads()
    least = factorise(factor, n)
    if least < LEAST_PIVOT:
        if i0 == 0:
            failed[vector] = 1
        return
    if i0 == 0:
        failed[vector] = 0
    key = key_of(chains[problem], sweep, expert, (layer + 1) * KINDS + COEFFICIENTS)
    draw_with_factor(factor, scale, right, key, n, works[vector], beta)


@cuda.jit
def draw_by_reflections(
    which,
    table,
    weights,
    linear,
    precision,
    layer,
    chains,
    sweep,
    stacks,
    factors,
    scales,
    works,
    coef,
):
    """The same draw by a QR decomposition of [sqrt(W) X; sqrt(alpha)]; one block a failure.

    `stacks` is (failures, columns, rows + columns), each a matrix by columns.
    """
    values = cuda.shared.array(THREADS, np.float64)
    number = cuda.blockIdx.x
    vector = which[number]
    n, n_rows = table.shape
    height = n_rows + n
    n_experts = linear.shape[0] // chains.shape[0]
    problem, expert = vector // n_experts, vector % n_experts
    stack, factor, scale = stacks[number], factors[vector], scales[vector]
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(n):
        square = 0.0
        for i in range(i0, height, step):
            if i < n_rows:
                x = math.sqrt(weights[vector, i]) * table[v, i]
            else:
                x = math.sqrt(precision[vector, v]) if i - n_rows == v else 0.0
            stack[v, i] = x
            square += x * x
        square = block_sum(values, square)
        if i0 == 0:
            scale[v] = 1.0 / math.sqrt(square)
        cuda.syncthreads()
        for i in range(i0, height, step):
            stack[v, i] *= scale[v]
        cuda.syncthreads()
    for j in range(n):
        square = 0.0
        for i in range(j + i0, height, step):
            square += stack[j, i] * stack[j, i]
        norm = math.sqrt(block_sum(values, square))
        head = stack[j, j]
        diagonal = -norm if head > 0.0 else norm
        cuda.syncthreads()
        if i0 == 0:
            stack[j, j] = head - diagonal
        cuda.syncthreads()
        half = norm * (norm + abs(head))  # half the squared length of the reflector
        sign = -1.0 if diagonal < 0.0 else 1.0
        for v in range(j + 1, n):
            inner = 0.0
            for i in range(j + i0, height, step):
                inner += stack[j, i] * stack[v, i]
            inner = block_sum(values, inner) / half
            for i in range(j + i0, height, step):
                stack[v, i] -= inner * stack[j, i]
            cuda.syncthreads()
            if i0 == 0:
                factor[v, j] = sign * stack[v, j]
        if i0 == 0:
            factor[j, j] = norm
        cuda.syncthreads()
    key = key_of(chains[problem], sweep, expert, (layer + 1) * KINDS + COEFFICIENTS)
    draw_with_factor(factor, scale, linear[vector], key, n, works[vector], coef[vector])


@cuda.jit
def draw_hyperparameters(
    n_active,
    exposure,
    hypers,
    ard,
    shape,
    rate_prior,
    chains,
    sweep,
    coef,
    weight,
    mass,
    scale,
    precision,
    rate,
):
    """Weights, masses, scales and precisions; one thread a problem."""
    problem = cuda.grid(1)
    if problem >= chains.shape[0]:
        return
    seed, chain, stick = chains[problem, 0], chains[problem, 1], chains[problem, 2]
    draw_weights(
        n_active[problem],
        exposure[problem],
        hypers,
        seed,
        chain,
        sweep,
        stick,
        weight[problem],
        mass[problem],
        scale[problem],
    )
    if ard:
        draw_precisions(
            coef[problem],
            ALL,
            shape,
            rate_prior,
            seed,
            chain,
            sweep,
            stick,
            precision[problem],
            rate[problem],
        )


@cuda.jit
def draw_references(
    hypers, ard, shape, rate_prior, chains, sweep, coef, weight, precision, rate, mass, scale
):
    """All parameters of a reference category from the prior; one thread a chain."""
    c = cuda.grid(1)
    if c < chains.shape[0]:
        draw_from_prior(
            hypers,
            ard,
            shape,
            rate_prior,
            chains[c, 0],
            chains[c, 1],
            sweep,
            chains[c, 2],
            coef[c],
            weight[c],
            precision[c],
            rate[c],
            mass[c],
            scale[c],
        )


@cache
def of_size(n_experts: int, n_layers: int) -> SimpleNamespace:
    """The kernels whose threads need arrays of the size of the model."""

    @cuda.jit
    def latents(psi, weight, chains, parts, category, sweep, active, log_exposure, theta):
        """Arrivals and theta of every row; a block's second index is the problem.

        `psi` and `theta` are (layers, vectors, rows).
        """
        row = cuda.grid(1)
        problem = cuda.blockIdx.y
        if row >= psi.shape[2]:
            return
        first = problem * n_experts
        label = parts[problem, category[row]]
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
            log_weight[k] = math.log(weight[problem, k])
            value = 0.0
            for t in range(n_layers):
                own_psi[k, t] = psi[t, first + k, row]
                value = with_layer(own_psi[k, t], value)
                log_q[k, t] = value
                q[k, t] = math.exp(min(value, LOG_GREATEST))
        key = key_of(chains[problem], sweep, NO_EXPERT, LATENTS)
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
    def log_sums(psi, weight, bounds, success, failure):
        """Sums of log-probabilities over the rows of a category; one block a sum.

        `psi` is (vectors, experts, layers, rows) with a vector for each category of each
        chain; a block's first index is the vector, its second the category of the rows.
        """
        values = cuda.shared.array(THREADS, np.float64)
        vector, s = cuda.blockIdx.x, cuda.blockIdx.y
        good, bad = 0.0, 0.0
        for row in range(bounds[s] + cuda.threadIdx.x, bounds[s + 1], cuda.blockDim.x):
            log_rate = -np.inf
            for k in range(n_experts):
                value = 0.0
                for t in range(n_layers):
                    value = with_layer(psi[vector, k, t, row], value)
                x = value + (math.log(weight[vector, k]) if weight[vector, k] > 0.0 else LOG_LEAST)
                high, low = max(log_rate, x), min(log_rate, x)
                log_rate = high + math.log1p(math.exp(low - high))
            rate = math.exp(min(log_rate, LOG_GREATEST))
            bad -= rate
            if log_rate < LINEAR_BELOW:
                good += log_rate
            elif rate < 0.7:
                good += math.log(-math.expm1(-rate))
            else:
                good += math.log1p(-math.exp(-rate))
        good = block_sum(values, good)
        bad = block_sum(values, bad)
        if cuda.threadIdx.x == 0:
            success[vector, s] = good
            failure[vector, s] = bad

    return SimpleNamespace(latents=latents, log_sums=log_sums)
