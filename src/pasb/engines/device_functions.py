"""What the kernels of softplus sticks have in common."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from pasb.binary.softplus_link import LINEAR_BELOW
from pasb.engines.device import simulated
from pasb.variates import scalar

stream_key = scalar.stream_key
# in the simulator a compiled function would turn unsigned numbers into Python's
open_stream = scalar.open_stream.py_func if simulated() else scalar.open_stream


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
def layer_with_slope(psi, log_q):
    """The same, and its derivative by psi_t, which is that by log q_(t-1) too."""
    x = psi + log_q
    if x < LINEAR_BELOW:
        return x, 1.0
    e = math.exp(-abs(x))
    q = max(x, 0.0) + math.log1p(e)
    return math.log(q), (1.0 if x > 0.0 else e) / ((1.0 + e) * q)


@cuda.jit(device=True)
def log_success(log_rate, rate):
    """log(1 - exp(-rate))."""
    if log_rate < LINEAR_BELOW:
        return log_rate
    if rate < 0.7:
        return math.log(-math.expm1(-rate))
    return math.log1p(-math.exp(-rate))


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


@cuda.jit(device=True)
def block_sums(values, first, second):
    """Two sums at once; `values` is (2, threads)."""
    i = cuda.threadIdx.x
    values[0, i], values[1, i] = first, second
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if i < step:
            values[0, i] += values[0, i + step]
            values[1, i] += values[1, i + step]
        cuda.syncthreads()
        step //= 2
    first, second = values[0, 0], values[1, 0]
    cuda.syncthreads()
    return first, second
