"""The two decorators under which every scalar sampler is compiled.

The samplers are plain scalar code: numbers and tuples in, numbers and tuples out,
no allocation and no exceptions. So the same source serves ``numba.njit`` kernels on
the CPU and ``numba.cuda`` kernels, which compile a sampler they call as a device
function. Nothing is compiled on import, and compiled code is kept on disk.

`error_model="numpy"` makes a division by zero an infinity, as on a GPU, where
nothing can be raised. Fast mathematics stays off: it would let the compiler assume
that NaN does not occur, and the guards against NaN would go.
"""

from __future__ import annotations

from numba import njit

sampler = njit(cache=True, error_model="numpy", nogil=True)
"""Compile a scalar sampler."""

inlined_sampler = njit(cache=True, error_model="numpy", nogil=True, forceinline=True)
"""Compile a small sampler into its callers, which keeps the stream in registers."""
