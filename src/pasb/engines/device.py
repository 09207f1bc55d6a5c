"""Arrays and kernels on a GPU, or in Numba's simulator where there is none.

On a GPU the arrays are CuPy's, which also does the linear algebra; in the simulator
(``NUMBA_ENABLE_CUDASIM=1``) they are NumPy's. Kernels take either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from pasb.errors import EngineError


def simulated() -> bool:
    """Whether kernels run in Numba's simulator."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"


# threads of a block; the simulator has a Python thread for each
THREADS = 4 if simulated() else 128
MANY_THREADS = 4 if simulated() else 512
FEW_LANES, MANY_LANES = (1, 2) if simulated() else (32, 128)  # threads that share a column
LANES = 2 if simulated() else 32  # of a block, that read neighbouring numbers


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
    setattr(cuda.config, "CUDA_LOW_OCCUPANCY_WARNINGS", 0)  # noqa: B010  small tables are allowed
    return cupy


def available() -> bool:
    """Whether there is a GPU to use, with what is needed for it, or the simulator."""
    try:
        array_module()
    except EngineError:
        return False
    return True


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


def kernel_with(max_registers: int) -> Callable:
    """A decorator of kernels whose threads use so many registers at most."""
    from numba import cuda

    options = {} if simulated() else {"max_registers": max_registers}  # the simulator has none
    return cuda.jit(**options)


def view(array: Any) -> Any:
    """An array as kernels take it; to make one takes longer than to launch a kernel."""
    if simulated():
        return array
    from numba import cuda

    return cuda.as_cuda_array(array, sync=False)


class Launcher:
    """Kernels on one stream, whose launches are recorded once and then replayed as graphs.

    A launch takes Numba far longer than the GPU takes for a small kernel; a recorded sequence
    is launched as one. Arrays are given by name and must stay where they are.

    Parameters
    ----------
    views : dict
        What `view` made of the arrays.
    """

    def __init__(self, views: dict[str, Any]):
        self.views = views
        self.stream, self._numba_stream = _stream()
        self._graphs: dict[str, Any] = {}

    def launch(self, kernel: Any, grid: Any, threads: Any, *arguments: Any) -> None:
        """Start a kernel; arguments are numbers, or names of arrays."""
        views = [self.views[a] if isinstance(a, str) else a for a in arguments]
        kernel[grid, threads, self._numba_stream](*views)

    def play(self, name: str, launches: Callable[[], None]) -> None:
        """Launch a sequence of kernels that is the same every time."""
        if simulated():
            launches()
        elif name not in self._graphs:
            self._graphs[name] = None  # the first time it may have to be compiled
            launches()
        else:
            if self._graphs[name] is None:
                self.stream.begin_capture()
                launches()
                self._graphs[name] = self.stream.end_capture()
            self._graphs[name].launch(self.stream)


def _stream() -> tuple[Any, Any]:
    """A stream as CuPy and as Numba know it."""
    if simulated():
        return nullcontext(), 0
    import cupy
    from numba import cuda

    stream = cupy.cuda.Stream(non_blocking=True)
    return stream, cuda.external_stream(stream.ptr)


def free_bytes(xp: Any) -> int:
    """Memory that is free on the device."""
    if xp is np:
        return 2**62
    xp.get_default_memory_pool().free_all_blocks()
    return int(xp.cuda.runtime.memGetInfo()[0])


def to_host(array: Any) -> np.ndarray:
    """A NumPy array of the same numbers."""
    return array if isinstance(array, np.ndarray) else array.get()


def inverse_of_lower(xp: Any, matrix: Any) -> Any:
    """The inverse of a lower triangular matrix, itself one."""
    if xp is np:
        from scipy.linalg import solve_triangular
    else:
        from cupyx.scipy.linalg import solve_triangular
    return solve_triangular(matrix, xp.eye(len(matrix)), lower=True)


def product(xp: Any, a: Any, b: Any, out: Any) -> Callable[[], Any]:
    """What computes ``out = a @ b``, for tables side by side, again and again.

    All have three axes, are contiguous and stay where they are. To look at them every time, as
    `matmul` does, takes CuPy longer than small products take the GPU.
    """
    if xp is np:
        return lambda: np.matmul(a, b, out=out)
    from cupy.cuda import cublas, device

    n_tables, m, k = a.shape
    n = b.shape[2]
    one, zero = np.ones(1), np.zeros(1)
    # by columns, as cuBLAS has matrices, these are transposed, and so is their product
    sizes = (n, m, k, one.ctypes.data)
    second, first = (b.data.ptr, n, k * n), (a.data.ptr, k, m * k)
    result = (zero.ctypes.data, out.data.ptr, n, m * n, n_tables)

    def multiply(keep: Any = (a, b, out, one, zero)) -> None:
        handle = device.get_cublas_handle()
        cublas.dgemmStridedBatched(handle, 0, 0, *sizes, *second, *first, *result)

    return multiply
