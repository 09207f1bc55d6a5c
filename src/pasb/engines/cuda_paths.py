"""Trajectories of softplus sticks as CUDA kernels: what is not value and gradient.

What `pasb.moves.softplus_trajectory.follow` does for one stick, for many at once. Each has its own
step, metric and number of steps; one that has ended stands still. A *place* is a stick that is
being worked at; `members` says which *pair* of chain and stick that is, -1 for none.

Half a step of the momentum ends one step, and half a step begins the next one. `drift` reads the
momentum with the second half added, `kick` adds it for good.

Positions have as many columns as the widest table of the batch. Coordinates of columns that a table
lacks are zero and stay zero.

Arguments as in `pasb.engines.cuda_gradient` and `pasb.engines.cuda_rows`, and

- `slots` (pairs), `names` (pairs, 3): where the parameters of a pair are; seed, chain and stick;
- `position` (pairs, N), `outcome` (pairs, 4): where trajectories begin and end, and what they did;
- `steps`, `n_steps` (pairs): length of a step, and how many; `taken` (places): steps made so far;
- `factors` (pairs, blocks, m, m), `rest` (pairs, others): the metric, as in
  `pasb.binary.softplus_metric.Metric`;
- `momentum`, `force` (places, N): in whitened coordinates; `energy`, `error` (places): that of the
  beginning, and how far it is off;
- `place_coef` (places, V n): coefficients of the places;
- `first` (0 or 1): whether there was no step yet; `n_columns`: n.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from pasb.binary.softplus_link import LOG_LEAST
from pasb.engines.device import LANES, MANY_THREADS, THREADS, shared
from pasb.engines.device_functions import block_sum, open_stream, stream_key
from pasb.moves.softplus_trajectory import MOST_ERROR
from pasb.variates import scalar

normal = shared(scalar.normal)

# columns of `outcome`
GRADIENTS, ACCEPTANCE, MOVED, DIVERGED = range(4)


@cuda.jit(device=True)
def key_of_pair(name, sweep):
    """Key of the streams of a trajectory; `name` is the seed, the chain and the stick."""
    zero = np.int64(0)
    return np.uint64(stream_key(name[0], name[1], sweep, name[2], zero, zero))


@cuda.jit
def look(slots, widths, coef, weight, rate, mass, inverse_scale, position):
    """The positions of all pairs; a block's second index is the pair."""
    i, pair = cuda.grid(1), cuda.blockIdx.y
    if i >= position.shape[1]:
        return
    slot = slots[pair]
    _, n_experts, n_layers, n = coef.shape
    n_coef = n_experts * n_layers * n
    if i < n_coef:
        width = widths[pair // (slots.shape[0] // widths.shape[0])]
        v, t, k = i % n, i // n % n_layers, i // n // n_layers
        position[pair, i] = coef[slot, k, t, v] if v < width else 0.0
        return
    i -= n_coef
    if i < n_experts:
        x = weight[slot, i]
    elif i < n_experts * (n_layers + 1):
        j = i - n_experts
        x = rate[slot, j // n_layers, j % n_layers]
    else:
        x = mass[slot, 0] if i == n_experts * (n_layers + 1) else inverse_scale[slot, 0]
    position[pair, n_coef + i] = math.log(x)


@cuda.jit
def take(slots, widths, rate_prior, position, coef, weight, rate, mass, inverse_scale):
    """Write positions into the state; a block's second index is the pair."""
    i, pair = cuda.grid(1), cuda.blockIdx.y
    if i >= position.shape[1]:
        return
    slot = slots[pair]
    _, n_experts, n_layers, n = coef.shape
    n_coef = n_experts * n_layers * n
    if i < n_coef:
        v, t, k = i % n, i // n % n_layers, i // n // n_layers
        if v < widths[pair // (slots.shape[0] // widths.shape[0])]:
            coef[slot, k, t, v] = position[pair, i]
        return
    x = math.exp(max(position[pair, i], LOG_LEAST))
    i -= n_coef
    if i < n_experts:
        weight[slot, i] = x
    elif i < n_experts * (n_layers + 1):
        j = i - n_experts
        if rate_prior[pair // (slots.shape[0] // rate_prior.shape[0]), 0] > 0.0:
            rate[slot, j // n_layers, j % n_layers] = x
    elif i == n_experts * (n_layers + 1):
        mass[slot, 0] = x
    else:
        inverse_scale[slot, 0] = x


@cuda.jit
def enter(
    members, position, names, sweep, widths, n_columns, place, place_coef, momentum, running, taken
):
    """Let places begin where their pairs are, with new momenta.

    A block's second index is the place. `place_coef` (places, coefficients) is a copy, for matrix
    products.
    """
    i, b = cuda.grid(1), cuda.blockIdx.y
    pair = members[b]
    if i == 0:
        running[b] = 1 if pair >= 0 else 0
        taken[b] = 0
    if pair < 0 or i >= position.shape[1]:
        return
    x = position[pair, i]
    place[b, i] = x
    n_coef = place_coef.shape[1]
    width = widths[b // (members.shape[0] // widths.shape[0])]
    # how the coordinates of this table are numbered, whatever the width of the batch
    own = n_coef // n_columns * width + i - n_coef
    if i < n_coef:
        place_coef[b, i] = x
        v = i % n_columns
        own = i // n_columns * width + v if v < width else -1
    z = 0.0
    if own >= 0:
        z, _ = normal(open_stream(key_of_pair(names[pair], sweep[0]), np.int64(own + 1)))
    momentum[b, i] = z


@cuda.jit
def kick(first, members, running, factors, rest, steps, gradient, momentum, force):
    """New forces, and what they do to the momenta; nothing yet with `first`.

    The force is the gradient by whitened coordinates, ``factors.T @ gradient`` block by block, and
    factors are upper triangles. The threads of a block have `LANES` coordinates and share out
    the terms of each; its second index is the place.
    """
    values = cuda.shared.array(MANY_THREADS, np.float64)
    b, thread = cuda.blockIdx.y, cuda.threadIdx.x
    if running[b] == 0:
        return
    pair = members[b]
    i = cuda.blockIdx.x * LANES + thread % LANES
    part, n_parts = thread // LANES, cuda.blockDim.x // LANES
    _, n_blocks, m, _ = factors.shape
    n, covered = momentum.shape[1], n_blocks * m
    total, more = 0.0, 0.0
    if i < covered:
        block, column = i // m, i % m
        own, slope = factors[pair, block], gradient[b, block * m :]
        row = part
        while row + 3 * n_parts <= column:  # four loads at a time, because each takes long
            second, third, fourth = row + n_parts, row + 2 * n_parts, row + 3 * n_parts
            total += own[row, column] * slope[row] + own[second, column] * slope[second]
            more += own[third, column] * slope[third] + own[fourth, column] * slope[fourth]
            row += 4 * n_parts
        while row <= column:
            total += own[row, column] * slope[row]
            row += n_parts
    values[thread] = total + more
    cuda.syncthreads()
    step = n_parts // 2
    while step > 0:
        if part < step:
            values[thread] += values[thread + step * LANES]
        cuda.syncthreads()
        step //= 2
    if part == 0 and i < n:
        new = values[thread] if i < covered else rest[pair, i - covered] * gradient[b, i]
        if first == 0:
            half = 0.5 * steps[pair]
            momentum[b, i] = (momentum[b, i] + half * force[b, i]) + half * new
        force[b, i] = new


@cuda.jit
def drift(members, running, factors, rest, steps, momentum, force, place, place_coef):
    """Move by one step; the threads of a block share `LANES` to a coordinate.

    The velocity is ``factors @ momentum``, with the half step that the momentum lacks.
    """
    values = cuda.shared.array(MANY_THREADS, np.float64)
    b, thread = cuda.blockIdx.y, cuda.threadIdx.x
    if running[b] == 0:
        return
    pair = members[b]
    i = cuda.blockIdx.x * (cuda.blockDim.x // LANES) + thread // LANES
    lane = thread % LANES
    half = 0.5 * steps[pair]
    _, n_blocks, m, _ = factors.shape
    n, covered = momentum.shape[1], n_blocks * m
    total = 0.0
    if i < covered:
        block, row = i // m, i % m
        # from a multiple of the lanes on, so that they read whole stretches of memory
        for column in range(row // LANES * LANES + lane, m, LANES):
            if column >= row:
                at = block * m + column
                total += factors[pair, block, row, column] * (momentum[b, at] + half * force[b, at])
    values[thread] = total
    cuda.syncthreads()
    step = LANES // 2
    while step > 0:
        if lane < step:
            values[thread] += values[thread + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0 and i < n:
        velocity = values[thread]
        if i >= covered:
            velocity = rest[pair, i - covered] * (momentum[b, i] + half * force[b, i])
        x = place[b, i] + 2.0 * half * velocity
        place[b, i] = x
        if i < place_coef.shape[1]:
            place_coef[b, i] = x


@cuda.jit
def judge(first, members, running, n_steps, terms, momentum, taken, energy, error, outcome):
    """The error in energy after a step, and what follows from it; one block a place."""
    values = cuda.shared.array(THREADS, np.float64)
    b, thread = cuda.blockIdx.x, cuda.threadIdx.x
    if running[b] == 0:
        return
    kinetic = 0.0
    for i in range(thread, momentum.shape[1], cuda.blockDim.x):
        kinetic += 0.5 * momentum[b, i] ** 2
    kinetic = block_sum(values, kinetic)
    if thread != 0:
        return
    log_density, outside = 0.0, False
    for j in range(terms.shape[1]):
        log_density += terms[b, j]
        outside = outside or terms[b, j] == -np.inf
    own = outcome[members[b]]
    if first != 0:
        energy[b] = kinetic - log_density
        own[GRADIENTS] = 0.0 if outside else 1.0
        own[ACCEPTANCE], own[MOVED], own[DIVERGED] = 0.0, 0.0, 0.0
        running[b] = 0 if outside else 1  # beyond the bounds: it stays there
        return
    taken[b] += 1
    own[GRADIENTS] += 1.0
    error[b] = (-log_density - energy[b]) + kinetic
    at_the_end = taken[b] == n_steps[members[b]]
    if outside or math.isnan(error[b]) or (at_the_end and not error[b] < MOST_ERROR):
        own[DIVERGED] = 1.0
    if at_the_end or own[DIVERGED] > 0.0:
        running[b] = 0


@cuda.jit
def land(members, chances, taken, error, place, position, outcome):
    """Take the ends of trajectories, or not; one block a place.

    `chances` are uniform variables, one for each pair.
    """
    b = cuda.blockIdx.x
    pair = members[b]
    if pair < 0 or taken[b] == 0 or outcome[pair, DIVERGED] > 0.0:
        return
    moved = math.log(chances[pair]) < -error[b]
    if cuda.threadIdx.x == 0:
        outcome[pair, ACCEPTANCE] = math.exp(min(0.0, -error[b]))
        outcome[pair, MOVED] = 1.0 if moved else 0.0
    if moved:
        for i in range(cuda.threadIdx.x, position.shape[1], cuda.blockDim.x):
            position[pair, i] = place[b, i]
