"""Draws from one distribution, as an array.

Element i of a result, counted in row-major order, is drawn from its own stream, keyed by
the seed, the name of the distribution and i. So the draws depend neither on the shape of the
result nor on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pasb.variates import kernels
from pasb.variates.arguments import Size, common_shape
from pasb.variates.scalar.stream import stream_key

Seed = int | np.random.Generator | None
Result = Any  # a number when every argument is one and no size is asked for, else an array

_DISTRIBUTIONS = (
    "uniform",
    "normal",
    "exponential",
    "gamma",
    "log_gamma",
    "polya_gamma",
    "crt",
    "poisson",
    "zero_truncated_poisson",
    "binomial",
    "inverse_gaussian",
    "truncated_normal",
    "truncated_t",
)


def distribution_key(distribution: str, seed: Seed) -> np.uint64:
    """Key of the streams from which `distribution` draws under `seed`.

    Two distributions under one seed have different keys: their draws are independent.
    """
    if seed is None:
        number = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    elif isinstance(seed, np.random.Generator):
        number = int(seed.integers(0, 2**64, dtype=np.uint64))
    elif isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        number = int(seed)
        if not 0 <= number < 2**64:
            raise ValueError(f"seed must lie between 0 and 2**64 - 1, got {seed}")
    else:
        raise TypeError(
            f"seed must be an int, a numpy.random.Generator or None, got {type(seed).__name__}"
        )
    return np.uint64(stream_key(np.uint64(number), 0, 0, 0, 0, _DISTRIBUTIONS.index(distribution)))


def draw(
    distribution: str,
    size: Size,
    seed: Seed,
    arguments: dict[str, np.ndarray],
    *,
    kernel: Callable | None = None,
    dtype: type = np.float64,
) -> Result:
    """Broadcast the arguments, run the kernel, and shape the result."""
    shape = common_shape(size, arguments)
    out: np.ndarray = np.empty(shape, dtype=dtype)
    flat = []
    for array in arguments.values():
        # One number for all elements is passed as it is; the kernel does not step on.
        if array.size != 1:
            array = np.broadcast_to(array, shape)
        flat.append(np.ascontiguousarray(array).reshape(-1))
    kernel = kernel or getattr(kernels, distribution)
    kernel(distribution_key(distribution, seed), *flat, out.reshape(-1))
    if size is None and shape == ():
        return out.item()
    return out
