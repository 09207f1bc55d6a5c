"""Random numbers that stay the same for ever and on every platform.

NumPy guarantees the raw integers of `numpy.random.PCG64` and of
`numpy.random.SeedSequence` for a given seed, but not what `numpy.random.Generator`
makes of them. So the few variates that the data sets need are made here, from the
raw integers.
"""

from __future__ import annotations

import hashlib
import operator

import numpy as np


class SteadyStream:
    """A stream of random numbers that follows from a name and a seed.

    Parameters
    ----------
    name : str
        What the numbers are for. Streams with different names are independent.
    seed : int
        A non-negative integer.

    Examples
    --------
    >>> from pasb.datasets.steady_stream import SteadyStream
    >>> SteadyStream("example", 0).permutation(5)
    array([0, 2, 3, 1, 4])
    """

    def __init__(self, name: str, seed: int) -> None:
        seed = operator.index(seed)
        if seed < 0:
            raise ValueError(f"seed must be a non-negative integer, got {seed}")
        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, key]))

    def uniform(self, low: float, high: float, size: int | tuple[int, ...]) -> np.ndarray:
        """Draw from the uniform distribution between low and high."""
        raw = self._bits.random_raw(int(np.prod(size))) >> np.uint64(12)
        unit = (raw.astype(np.float64) + 0.5) * 2.0**-52
        return (low + (high - low) * unit).reshape(size)

    def normal(self, size: int | tuple[int, ...]) -> np.ndarray:
        """Draw from the standard normal distribution (Box and Muller)."""
        radius = np.sqrt(-2.0 * np.log(self.uniform(0.0, 1.0, size)))
        return radius * np.cos(self.uniform(0.0, 2.0 * np.pi, size))

    def integers(self, stop: int, size: int) -> np.ndarray:
        """Draw integers 0, ..., stop - 1, all equally likely."""
        scaled = np.floor(self.uniform(0.0, float(stop), size))
        return np.minimum(scaled, stop - 1).astype(np.int64)  # rounding can reach stop

    def permutation(self, n: int) -> np.ndarray:
        """Draw a permutation of 0, ..., n - 1, all equally likely."""
        return np.argsort(self._bits.random_raw(n), kind="stable")
