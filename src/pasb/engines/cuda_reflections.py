"""Coefficients by QR decompositions as CUDA kernels, for vectors whose Cholesky factor fails.

As on the CPU (`pasb.binary.softplus_heavy`), the light rows are summed up as usual, and their
factor and the heavy rows go through Householder reflections, with the linear term as one more
column.

Arguments as in `pasb.engines.cuda_rows` and `pasb.engines.cuda_centre`. Of one vector, `alpha` (n)
are the precisions of the prior, `table` (n, R) the covariates, `weights` and `shares` those of its
rows, and `stack` (n + 1, R + n) has what is reflected, of which `height` entries of a column
count. As many as `lanes` threads go along a column; `lane` is the number of a thread among them,
and `values` the memory that a block of threads shares.

`light` (vectors, R) are values without those of heavy rows, `beta` (n) the coefficients so far.
Threads of a column work on the entries `first` to `last` of two columns `a` and `b`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from pasb.binary import softplus_rows
from pasb.binary.softplus_heavy import HEAVY
from pasb.binary.softplus_kernels import COEFFICIENTS, KINDS
from pasb.engines.cuda_centre import (
    REGISTERS,
    add_noise_and_solve,
    equilibrate,
    factorise,
    solve_lower,
)
from pasb.engines.device import FEW_LANES, MANY_LANES, MANY_THREADS, kernel_with, shared
from pasb.engines.device_functions import key_of

is_heavy = shared(softplus_rows.is_heavy)

LEAST_LIGHT = 1e-7  # pivot of the light rows, as on the CPU
TALL = 1024  # rows, from which more lanes go along a column


@cuda.jit
def lighten(values, weights, shares, failed, light):
    """The values of failed vectors, their weights or shares, without those of heavy rows."""
    row = cuda.grid(1)
    vector = cuda.blockIdx.y
    if row < weights.shape[1] and failed[vector] != 0:
        heavy = is_heavy(weights[vector, row], shares[vector, row], HEAVY)
        light[vector, row] = 0.0 if heavy else values[vector, row]


@cuda.jit(device=True)
def lane_sums(values, value, lane, lanes):
    """Sums over lanes, neighbouring threads; all of them get theirs."""
    i = cuda.threadIdx.x
    values[i] = value
    cuda.syncthreads()
    step = lanes // 2
    while step > 0:
        if lane < step:
            values[i] += values[i + step]
        cuda.syncthreads()
        step //= 2
    total = values[i - lane]
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def lane_product(a, b, first, last, lanes):
    """A lane's share of a'b; four loads at a time, because each takes long to arrive."""
    i = first
    total, more = 0.0, 0.0
    while i + 3 * lanes < last:
        p, q = a[i] * b[i], a[i + lanes] * b[i + lanes]
        r, s = a[i + 2 * lanes] * b[i + 2 * lanes], a[i + 3 * lanes] * b[i + 3 * lanes]
        total += p + q
        more += r + s
        i += 4 * lanes
    while i < last:
        total += a[i] * b[i]
        i += lanes
    return total + more


@cuda.jit(device=True)
def lane_subtract(a, factor, b, first, last, lanes):
    """A lane's share of a -= factor b."""
    i = first
    while i + 3 * lanes < last:
        p, q = a[i] - factor * b[i], a[i + lanes] - factor * b[i + lanes]
        r = a[i + 2 * lanes] - factor * b[i + 2 * lanes]
        s = a[i + 3 * lanes] - factor * b[i + 3 * lanes]
        a[i], a[i + lanes], a[i + 2 * lanes], a[i + 3 * lanes] = p, q, r, s
        i += 4 * lanes
    while i < last:
        a[i] -= factor * b[i]
        i += lanes


@cuda.jit(device=True)
def stack_heavy_rows(
    gram, linear, alpha, weights, shares, table, factor, scale, work, stack, count
):
    """Fill `stack` with rows that have the Gram matrix of all; their number, 0 if that failed.

    They are the columns of the light rows' Cholesky factor, and the heavy rows. `gram` and
    `linear` are those of the light rows, `count` an array of one number that threads share.
    """
    n, n_rows = table.shape
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    least = equilibrate(gram, alpha, scale, factor, n)
    if least >= 0.0:
        least = factorise(factor, n)
    if not least > LEAST_LIGHT:
        return 0
    solve_lower(factor, scale, linear, n, i0, step, work)
    for k in range(i0, n * n, step):
        v, j = k // n, k % n
        stack[v, j] = factor[j, v] / scale[v] if j <= v else 0.0
    for j in range(i0, n, step):
        stack[n, j] = work[j]
    if i0 == 0:
        count[0] = n
        for i in range(n_rows):
            if is_heavy(weights[i], shares[i], HEAVY):
                root = math.sqrt(weights[i])
                for v in range(n):
                    stack[v, count[0]] = root * table[v, i]
                stack[n, count[0]] = shares[i] / root
                count[0] += 1
    cuda.syncthreads()
    height = count[0]
    cuda.syncthreads()
    return height


@cuda.jit(device=True)
def stack_all_rows(alpha, beta, weights, shares, table, stack):
    """Fill `stack` with [sqrt(W) X; sqrt(alpha)] and the linear term; the number of rows."""
    n, n_rows = table.shape
    i0, step = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(n):
        for i in range(i0, n_rows, step):
            stack[v, i] = math.sqrt(weights[i]) * table[v, i]
        for i in range(i0, n, step):
            stack[v, n_rows + i] = math.sqrt(alpha[v]) if i == v else 0.0
    for i in range(i0, n_rows, step):
        stack[n, i] = shares[i] / math.sqrt(weights[i]) if weights[i] > 0.0 else 0.0
    for v in range(i0, n, step):
        stack[n, n_rows + v] = -math.sqrt(alpha[v]) * beta[v]
    cuda.syncthreads()
    return n_rows + n


@cuda.jit(device=True)
def reflect(stack, n, height, lane, lanes, values, scale, factor, work):
    """The factor of the rows of `stack`, given by columns, by Householder reflections.

    Lanes go along a column, and as many columns as there are lanes' groups are done at once.
    There is one more column, the linear term, which `work` takes.
    """
    member, members = cuda.threadIdx.x // lanes, cuda.blockDim.x // lanes
    for first in range(0, n, members):
        v = first + member
        square = 0.0
        if v < n:
            square = lane_product(stack[v], stack[v], lane, height, lanes)
        square = lane_sums(values, square, lane, lanes)
        if v < n:
            inverse = 1.0 / math.sqrt(square)
            for i in range(lane, height, lanes):
                stack[v, i] *= inverse
            if lane == 0:
                scale[v] = inverse
    cuda.syncthreads()
    for j in range(n):
        square = lane_product(stack[j], stack[j], j + lane, height, lanes)
        norm = math.sqrt(lane_sums(values, square, lane, lanes))
        head = stack[j, j]
        diagonal = -norm if head > 0.0 else norm
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            stack[j, j] = head - diagonal
            factor[j, j] = norm
        cuda.syncthreads()
        half = norm * (norm + abs(head))  # half the squared length of the reflector
        sign = -1.0 if diagonal < 0.0 else 1.0
        for first in range(j + 1, n + 1, members):
            v = first + member
            inner = 0.0
            if v <= n:
                inner = lane_product(stack[j], stack[v], j + lane, height, lanes)
            inner = lane_sums(values, inner, lane, lanes) / half
            if v <= n:
                lane_subtract(stack[v], inner, stack[j], j + lane, height, lanes)
                if lane == 0 and v < n:
                    factor[j, v] = sign * stack[v, j]
                elif lane == 0:
                    work[j] = sign * stack[v, j]
        cuda.syncthreads()


@kernel_with(max_registers=REGISTERS)
def draw_by_reflections(
    table,
    weights,
    shares,
    gram,
    linear,
    precision,
    layer,
    slots,
    stick_keys,
    sweep,
    stacks,
    factors,
    scales,
    works,
    own_coef,
    coef,
    failed,
    guards,
):
    """The draws that failed, by QR decompositions; blocks share them out.

    They are of the heavy rows and the factor of the light ones, whose sums are `gram` and
    `linear`; of all rows where that fails too. `stacks` is (blocks, columns + 1, rows + columns).
    """
    values = cuda.shared.array(MANY_THREADS, np.float64)
    count = cuda.shared.array(1, np.int64)
    n_experts = coef.shape[1]
    n_vectors, n_problems = failed.shape[0], stick_keys.shape[0]
    n = table.shape[1]
    thread, n_threads = cuda.threadIdx.x, cuda.blockDim.x
    stack = stacks[cuda.blockIdx.x]
    seen = 0
    for vector in range(n_vectors):
        if failed[vector] == 0:
            continue
        mine = seen % cuda.gridDim.x == cuda.blockIdx.x
        seen += 1
        if not mine:
            continue
        problem, expert = vector // n_experts, vector % n_experts
        own_table = table[problem // (n_problems // table.shape[0])]
        slot = slots[problem]
        factor, scale = factors[vector], scales[vector]
        alpha, right, own_shares = precision[slot, expert, layer], linear[vector], shares[vector]
        own, beta, work = weights[vector], own_coef[vector], works[vector]
        for v in range(thread, n, n_threads):
            right[v] -= alpha[v] * beta[v]
        cuda.syncthreads()
        height = stack_heavy_rows(
            gram[vector],
            right,
            alpha,
            own,
            own_shares,
            own_table,
            factor,
            scale,
            work,
            stack,
            count,
        )
        if height == 0:
            height = stack_all_rows(alpha, beta, own, own_shares, own_table, stack)
        lanes = FEW_LANES if height < TALL else MANY_LANES
        reflect(stack, n, height, thread % lanes, lanes, values, scale, factor, work)
        key = key_of(stick_keys[problem], sweep[0], expert, (layer + 1) * KINDS + COEFFICIENTS)
        add_noise_and_solve(factor, scale, key, n, thread, n_threads, work, beta)
        for v in range(thread, n, n_threads):
            coef[slot, expert, layer, v] = beta[v]
        if thread == 0:
            cuda.atomic.add(guards, (problem // (n_problems // guards.shape[0]), 0), 1)
        cuda.syncthreads()
