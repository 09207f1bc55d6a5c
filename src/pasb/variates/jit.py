"""The two decorators under which every scalar sampler is compiled.

The samplers are plain scalar code: numbers and tuples in, numbers and tuples out,
no allocation and no exceptions. So the same source serves ``numba.njit`` kernels on
the CPU and ``numba.cuda`` kernels, which compile a sampler they call as a device
function. Nothing is compiled on import, and compiled code is kept on disk.

`error_model="numpy"` makes a division by zero an infinity, as on a GPU, where
nothing can be raised. Fast mathematics stays off: it would let the compiler assume
that NaN does not occur, and the guards against NaN would go. Nobody passes these functions
to C, so no wrapper for that is compiled.
"""

from __future__ import annotations

from typing import Any

from pasb.variates.code_cache import compiled

OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}
"""Of all compiled functions of the package."""

sampler = compiled(**OPTIONS)
"""Compile a scalar sampler."""

inlined_sampler = compiled(**OPTIONS, forceinline=True)
"""Compile a small sampler into its callers, which keeps the stream in registers."""
