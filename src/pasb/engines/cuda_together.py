"""Coefficients of support vector machines that are drawn together, as CUDA kernels.

Of the columns that are in, as many as there is room for; see `joint_step` and `dense_step` of
`pasb.binary.support_vector_kernels`. Arguments as in `pasb.engines.cuda_hinge`, and

- `chosen` (pairs, n), `n_chosen` (pairs,): columns whose coefficients are drawn, and how many;
- `gram` (pairs, n (n + 1) / 2), `linear`, `scales`, `works`, `drawn` (pairs, n), `factors` (pairs,
  n, n): sums over rows, and work space of the draw;
- `failed` (pairs,): whether it was not possible.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from pasb.binary.support_vector import CHOICE
from pasb.engines.cuda_centre import (
    REGISTERS,
    add_noise_and_solve,
    equilibrate,
    factorise,
    solve_lower,
)
from pasb.engines.device import MANY_THREADS, THREADS, kernel_with, shared
from pasb.engines.device_functions import block_sum, block_sums, key_of, open_stream
from pasb.variates import scalar

uniform = shared(scalar.uniform)

TILE = 4  # columns; a thread keeps TILE x TILE sums of a Gram matrix
ZERO = np.int64(0)


@cuda.jit
def choose_columns(everything, slots, stick_keys, sweep, coef, chosen, n_chosen):
    """The constant, and others that are in: all, or as many as there is room for; a pair a group.

    With `everything` all columns, in or not.
    """
    values = cuda.shared.array((2, MANY_THREADS), np.float64)
    pair, i = cuda.blockIdx.x, cuda.threadIdx.x
    slot, n_columns = slots[pair], coef.shape[1]
    if everything:
        for v in range(i, n_columns, cuda.blockDim.x):
            chosen[pair, v] = v
        if i == 0:
            n_chosen[pair] = n_columns
        return
    key = key_of(stick_keys[pair], sweep[0], ZERO, CHOICE)
    count = 0.0
    for v in range(1 + i, n_columns, cuda.blockDim.x):
        if coef[slot, v] != 0.0:
            count += 1.0
    count, _ = block_sums(values, count, 0.0)
    if i > 0:
        return
    chosen[pair, 0] = 0
    n, room = 1, chosen.shape[1]
    for v in range(1, n_columns):
        if coef[slot, v] == 0.0:
            continue
        u = uniform(open_stream(key, v))[0]
        if u * count < room - n:
            chosen[pair, n] = v
            n += 1
        count -= 1.0
    n_chosen[pair] = n


@cuda.jit
def chosen_products(table, tiles, chosen, n_chosen, pull, gram):
    """Sums of `pull` times two chosen columns; a group takes a tile of the Gram matrix of a pair.

    `tiles` (tiles, 2) has the first of the TILE columns on either side.
    """
    values = cuda.shared.array(THREADS, np.float64)
    sums = cuda.local.array((TILE, TILE), np.float64)
    right = cuda.local.array(TILE, np.float64)
    tile, pair = cuda.blockIdx.x, cuda.blockIdx.y
    first, second, n = tiles[tile, 0], tiles[tile, 1], n_chosen[pair]
    if first >= n:
        return
    for a in range(TILE):
        for b in range(TILE):
            sums[a, b] = 0.0
    last = n - 1  # columns beyond it are added up in vain
    for row in range(cuda.threadIdx.x, table.shape[1], cuda.blockDim.x):
        h = pull[pair, row]
        if h == 0.0:
            continue
        for b in range(TILE):
            right[b] = table[chosen[pair, min(second + b, last)], row]
        for a in range(TILE):
            left = h * table[chosen[pair, min(first + a, last)], row]
            for b in range(TILE):
                sums[a, b] += left * right[b]
    for a in range(TILE):
        for b in range(TILE):
            total = block_sum(values, sums[a, b])
            at, other = first + a, second + b
            if cuda.threadIdx.x == 0 and at < n and other <= at:
                gram[pair, at * (at + 1) // 2 + other] = total


@cuda.jit
def chosen_slopes(table, chosen, n_chosen, residual, linear):
    """Sums of `residual` times a chosen column; a group takes a column of a pair."""
    values = cuda.shared.array(THREADS, np.float64)
    j, pair = cuda.blockIdx.x, cuda.blockIdx.y
    if j >= n_chosen[pair]:
        return
    v = chosen[pair, j]
    total = 0.0
    for row in range(cuda.threadIdx.x, table.shape[1], cuda.blockDim.x):
        total += residual[pair, row] * table[v, row]
    total = block_sum(values, total)
    if cuda.threadIdx.x == 0:
        linear[pair, j] = total


@kernel_with(max_registers=REGISTERS)
def draw_together(
    purpose,
    guard,
    slots,
    stick_keys,
    sweep,
    chosen,
    n_chosen,
    gram,
    linear,
    precision,
    scales,
    works,
    factors,
    drawn,
    coef,
    failed,
    guards,
):
    """The coefficients of the chosen columns at once; a group takes a pair.

    `purpose` is that of the stream. Where Cholesky fails the coefficients stay as they are;
    `failed` says so, and the guard with the number `guard` counts it.
    """
    pair, i0, step = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    slot, n = slots[pair], n_chosen[pair]
    factor, scale, right, out = factors[pair], scales[pair], linear[pair], drawn[pair]
    work = works[pair]
    for j in range(i0, n, step):
        out[j] = coef[slot, chosen[pair, j]]
        work[j] = precision[slot, chosen[pair, j]]
        right[j] -= work[j] * out[j]
    cuda.syncthreads()
    least = equilibrate(gram[pair], work, scale, factor, n)
    if least >= 0.0:
        least = factorise(factor, n)
    if i0 == 0:
        failed[pair] = 0 if least >= 0.0 else 1
    if least < 0.0:
        if i0 == 0:
            cuda.atomic.add(guards, (pair // (slots.shape[0] // guards.shape[0]), guard), 1)
        return
    key = key_of(stick_keys[pair], sweep[0], ZERO, purpose)
    solve_lower(factor, scale, right, n, i0, step, work)
    add_noise_and_solve(factor, scale, key, n, i0, step, work, out)
    for j in range(i0, n, step):
        coef[slot, chosen[pair, j]] = out[j]
