"""Arrays and kernels on a GPU, or in Numba's simulator where there is none.

On a GPU the arrays are CuPy's, which also does the linear algebra; in the simulator
(``NUMBA_ENABLE_CUDASIM=1``) they are NumPy's. Kernels take either.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pasb.errors import EngineError


def simulated() -> bool:
    """Whether kernels run in Numba's simulator."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"


THREADS = 4 if simulated() else 128  # of a block; the simulator has a Python thread for each


def array_module() -> Any:
    """CuPy, or NumPy in the simulator; an error that says what is missing."""
    if simulated():
        return np
    if not hasattr(np, "row_stack"):  # some releases of numba-cuda still ask for it
        np.row_stack = np.vstack  # noqa: NPY201
    try:
        import cupy
        from numba import cuda
    except ImportError as error:
        raise EngineError(
            f"engine='cuda' needs CuPy and numba-cuda ({error}): pip install 'pasb[cuda]', or use "
            "engine='cpu'"
        ) from error
    if not cuda.is_available():
        raise EngineError("engine='cuda' found no usable NVIDIA GPU: use engine='cpu'")
    return cupy


def shared(function: Any) -> Any:
    """A compiled CPU function as a kernel can call it.

    Numba compiles it for the GPU. The simulator hands kernels arrays in a wrapping that
    compiled functions do not know, so there it is taken off.
    """
    if not simulated():
        return function

    def unwrapped(*arguments):
        return function(*[_plain(argument) for argument in arguments])

    return unwrapped


def _plain(argument: Any) -> Any:
    inside = getattr(argument, "__dict__", {}).get("_item")
    return argument if inside is None else inside._ary


def free_bytes(xp: Any) -> int:
    """Memory that is free on the device."""
    if xp is np:
        return 2**62
    xp.get_default_memory_pool().free_all_blocks()
    return int(xp.cuda.runtime.memGetInfo()[0])


def to_host(array: Any) -> np.ndarray:
    """A NumPy array of the same numbers."""
    return array if isinstance(array, np.ndarray) else array.get()
