"""The update of support vector machines as CUDA kernels, all sticks of all chains in one launch.

A *pair* is a stick of a chain. Where columns are updated one after the other, or proposals decided,
one group of threads takes a pair, and its threads share out the rows; elsewhere threads take rows
or columns. Sums are taken in a fixed order. Columns that are drawn together are in
`pasb.engines.cuda_together`.

State arrays have a *slot* for each category of each chain; `slots` says which one a pair has.
Arguments, with N rows and P columns:

- `table` (P, N), `weights`, `group` (N,), `bounds` (groups + 1,): the rows, sorted by group;
- `roles` (pairs, groups), `stick_keys` (pairs, 3), `sweep` (1,): the rows' roles on the sticks, and
  where random numbers are found;
- `coef`, `precision` (slots, P), `eta` (slots, N): the state, and linear predictors;
- `pull`, `residual` (pairs, N): as in `pasb.binary.support_vector_kernels`;
- `kind`, `shape`, `rate`: of the prior of the precisions; `inclusion`, `prior_log_odds`: the
  probability that a column is in, and its log-odds;
- `counts` (chains, 2), `guards` (chains, 4): as `pasb.engines.support_vector_batch` names them.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from pasb.binary import support_vector_draws as draws
from pasb.binary.linear_kernels import COEFFICIENTS, LATENTS, PRECISIONS, STRETCH
from pasb.binary.precisions import GREATEST_PRECISION, LEAST_PRECISION
from pasb.binary.support_vector_kernels import ARD, FIXED, SHARED
from pasb.engines.device import MANY_THREADS, shared
from pasb.engines.device_functions import block_sums, key_of, open_stream
from pasb.sticks import ABSENT, FAILURE, IMPUTED, SUCCESS

row_latent = shared(draws.row_latent)
column_coefficient = shared(draws.column_coefficient)
prior_coefficient = shared(draws.prior_coefficient)
bounded_precision = shared(draws.bounded_precision)
stretch_proposal = shared(draws.stretch_proposal)

ZERO = np.int64(0)
AT_BOUND, CUT = 0, 1  # among the guards


@cuda.jit(device=True)
def log_prior_of_factor(kind, shape, rate, sums, log_factor):
    """The prior's part in stretching by a factor, as in `pasb.binary.support_vector_stretch`.

    `kind` is how precisions are drawn, `shape` and `rate` are those of their prior, `log_factor`
    is the log of the factor. `sums` are how many columns are in, the sum of their precisions times
    squares and that of their precisions, the least precision and minus the greatest.
    """
    if kind == FIXED:
        return sums[0] * log_factor - 0.5 * sums[1] * math.exp(2.0 * log_factor)
    shrunk = math.exp(-2.0 * log_factor)
    if sums[3] * shrunk < LEAST_PRECISION or -sums[4] * shrunk > GREATEST_PRECISION:
        return -math.inf
    n, total = sums[0], sums[2]
    if kind == SHARED:
        n, total = 1.0, sums[3]
    return -2.0 * n * shape * log_factor - rate * total * shrunk


@cuda.jit(device=True)
def hinge_loss(values, eta, factor, weights, group, roles):
    """Minus the log of the pseudo-likelihood of a stick whose predictors are stretched.

    `values` is shared memory for a sum over threads, `eta` and `weights` are by row, `group` is
    that of each row, `roles` are those of groups on the stick; predictors are `eta` times `factor`.
    """
    total = 0.0
    for row in range(cuda.threadIdx.x, eta.shape[0], cuda.blockDim.x):
        role = roles[group[row]]
        if role in (SUCCESS, FAILURE):
            signed = factor if role == SUCCESS else -factor
            total += 2.0 * weights[row] * max(1.0 - signed * eta[row], 0.0)
    return block_sums(values, total, 0.0)[0]


@cuda.jit(device=True)
def block_leasts(values, first, second):
    """The least of two numbers each of the threads of a block."""
    i = cuda.threadIdx.x
    values[0, i], values[1, i] = first, second
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if i < step:
            values[0, i] = min(values[0, i], values[0, i + step])
            values[1, i] = min(values[1, i], values[1, i + step])
        cuda.syncthreads()
        step //= 2
    first, second = values[0, 0], values[1, 0]
    cuda.syncthreads()
    return first, second


@cuda.jit
def stretch(
    kind,
    shape,
    rate,
    n_moves,
    weights,
    group,
    roles,
    slots,
    stick_keys,
    sweep,
    eta,
    coef,
    precision,
    counts,
):
    """Stretch coefficients and precisions of a pair by the factors that are accepted.

    `n_moves` are proposed. Sticks with imputed labels are left alone.
    """
    values = cuda.shared.array((2, MANY_THREADS), np.float64)
    sums = cuda.local.array(5, np.float64)
    pair, i, step = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    for g in range(roles.shape[1]):
        if roles[pair, g] == IMPUTED:
            return
    slot = slots[pair]
    count, squares, total, least, most = 0.0, 0.0, 0.0, np.inf, np.inf
    for v in range(i, coef.shape[1], step):
        b, alpha = coef[slot, v], precision[slot, v]
        if v == 0 or b != 0.0:
            count += 1.0
            squares += alpha * b * b
            total += alpha
            least = min(least, alpha)
            most = min(most, -alpha)
    sums[0], sums[1] = block_sums(values, count, squares)
    sums[2], _ = block_sums(values, total, 0.0)
    sums[3], sums[4] = block_leasts(values, least, most)
    key = key_of(stick_keys[pair], sweep[0], ZERO, STRETCH)
    log_factor, accepted = 0.0, 0
    here = log_prior_of_factor(kind, shape, rate, sums, log_factor)
    here -= hinge_loss(values, eta[slot], 1.0, weights, group, roles[pair])
    for move in range(n_moves):
        change, log_u = stretch_proposal(open_stream(key, move), move)
        proposed = log_factor + change
        there = log_prior_of_factor(kind, shape, rate, sums, proposed)
        there -= hinge_loss(values, eta[slot], math.exp(proposed), weights, group, roles[pair])
        if log_u < there - here:
            log_factor, here = proposed, there
            accepted += 1
    if i == 0:
        chain = pair // (slots.shape[0] // counts.shape[0])
        cuda.atomic.add(counts, (chain, 0), n_moves)
        cuda.atomic.add(counts, (chain, 1), accepted)
    if accepted == 0:
        return
    factor, shrunk = math.exp(log_factor), math.exp(-2.0 * log_factor)
    for v in range(i, coef.shape[1], step):
        if kind == SHARED or (kind == ARD and (v == 0 or coef[slot, v] != 0.0)):
            precision[slot, v] *= shrunk
        coef[slot, v] *= factor
    for row in range(i, eta.shape[1], step):
        eta[slot, row] *= factor


@cuda.jit
def latents(weights, group, roles, slots, stick_keys, sweep, eta, pull, residual, guards):
    """Labels where they are imputed, latents, and what the coefficients leave unexplained.

    One row a thread; the second index of a group of threads is the pair.
    """
    row = cuda.grid(1)
    pair = cuda.blockIdx.y
    if row >= pull.shape[1]:
        return
    role, h = roles[pair, group[row]], weights[row]
    if role == ABSENT or h == 0.0:
        pull[pair, row] = 0.0
        residual[pair, row] = 0.0
        return
    own = eta[slots[pair], row]
    key = key_of(stick_keys[pair], sweep[0], ZERO, LATENTS)
    pulled, linear_weight, cut = row_latent(open_stream(key, row), role, own, h)
    pull[pair, row] = pulled
    residual[pair, row] = linear_weight - pulled * own
    if cut:
        cuda.atomic.add(guards, (pair // (slots.shape[0] // guards.shape[0]), CUT), 1)


@cuda.jit
def spike_and_slab(
    prior_log_odds, table, slots, stick_keys, sweep, pull, residual, precision, coef
):
    """Whether each column is in, and its coefficient if it is, column by column; a pair a group.

    A thread has its own rows of `residual`, so only the sums wait for all threads.
    """
    values = cuda.shared.array((2, MANY_THREADS), np.float64)
    pair, i, step = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    slot = slots[pair]
    key = key_of(stick_keys[pair], sweep[0], ZERO, COEFFICIENTS)
    for v in range(table.shape[0]):
        before = coef[slot, v]
        curvature, slope = 0.0, 0.0
        for row in range(i, table.shape[1], step):
            x = table[v, row]
            curvature += pull[pair, row] * x * x
            slope += residual[pair, row] * x
        curvature, slope = block_sums(values, curvature, slope)
        slope += before * curvature
        alpha = precision[slot, v]
        drawn = column_coefficient(
            open_stream(key, v), v == 0, prior_log_odds, alpha, curvature, slope
        )
        change = drawn - before
        if change != 0.0:
            for row in range(i, table.shape[1], step):
                residual[pair, row] -= change * pull[pair, row] * table[v, row]
            if i == 0:
                coef[slot, v] = drawn


@cuda.jit
def draw_precisions(kind, shape, rate, slots, stick_keys, sweep, coef, precision, guards):
    """Precisions of the coefficients that are in; under "ard" those of the others by prior."""
    values = cuda.shared.array((2, MANY_THREADS), np.float64)
    pair, i, step = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
    slot, n_columns = slots[pair], coef.shape[1]
    key = key_of(stick_keys[pair], sweep[0], ZERO, PRECISIONS)
    if kind == SHARED:
        count, squares = 0.0, 0.0
        for v in range(i, n_columns, step):
            b = coef[slot, v]
            if v == 0 or b != 0.0:
                count += 1.0
                squares += b * b
        count, squares = block_sums(values, count, squares)
        own = bounded_precision(open_stream(key, 0), shape + 0.5 * count, rate + 0.5 * squares)
        for v in range(i, n_columns, step):
            precision[slot, v] = own
    if kind == ARD:
        for v in range(i, n_columns, step):
            b = coef[slot, v]
            more = 0.5 if v == 0 or b != 0.0 else 0.0
            stream = open_stream(key, v)
            precision[slot, v] = bounded_precision(stream, shape + more, rate + 0.5 * b * b)
    chain = pair // (slots.shape[0] // guards.shape[0])
    for v in range(i, n_columns, step):
        if precision[slot, v] <= LEAST_PRECISION or precision[slot, v] >= GREATEST_PRECISION:
            cuda.atomic.add(guards, (chain, AT_BOUND), 1)


@cuda.jit
def draw_references(inclusion, kind, shape, rate, references, stick_keys, sweep, coef, precision):
    """All parameters of a reference category from the prior; one group a chain.

    `references` are the slots, -1 in chains whose order is fixed.
    """
    c = cuda.blockIdx.x
    slot = references[c]
    if slot < 0:
        return
    key = key_of(stick_keys[c], sweep[0], ZERO, COEFFICIENTS)
    precision_key = key_of(stick_keys[c], sweep[0], ZERO, PRECISIONS)
    for v in range(cuda.threadIdx.x, coef.shape[1], cuda.blockDim.x):
        if kind != FIXED:
            named = v if kind == ARD else 0
            precision[slot, v] = bounded_precision(open_stream(precision_key, named), shape, rate)
        stream = open_stream(key, v)
        coef[slot, v] = prior_coefficient(stream, v == 0, inclusion, precision[slot, v])


@cuda.jit
def log_sums(eta, weights, bounds, sums):
    """Sums of the logs of success and failure; a group takes the rows of one group in one slot.

    `sums` is (2, slots, groups).
    """
    values = cuda.shared.array((2, MANY_THREADS), np.float64)
    slot, g = cuda.blockIdx.x, cuda.blockIdx.y
    success, failure = 0.0, 0.0
    for row in range(bounds[g] + cuda.threadIdx.x, bounds[g + 1], cuda.blockDim.x):
        x = eta[slot, row]
        odds = x + min(max(x, -1.0), 1.0)
        both = math.log1p(math.exp(-abs(odds)))
        success += weights[row] * (min(odds, 0.0) - both)
        failure -= weights[row] * (max(odds, 0.0) + both)
    success, failure = block_sums(values, success, failure)
    if cuda.threadIdx.x == 0:
        sums[0, slot, g] = success
        sums[1, slot, g] = failure
