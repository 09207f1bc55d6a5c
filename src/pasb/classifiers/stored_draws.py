"""Draws of a compact model as a file holds them: float32, and only the experts in use.

The numbers of a compact model are those that float32 holds, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

SPARSE = "draws_coef_in_use"
MOST_GROWTH = 64  # from the numbers in a file to those in memory


def packed(parameters: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Arrays for a file, by their names there."""
    arrays = {f"draws_{name}": _single(parameters[name]) for name in sorted(parameters)}
    if "weight" in parameters:
        used = parameters["weight"] != 0
        if used.size <= MOST_GROWTH * np.count_nonzero(used):
            arrays[SPARSE] = arrays.pop("draws_coef")[used]
    return arrays


def unpacked(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """All arrays of a file, with those of draws as `packed` found them; ValueError if they lie."""
    out = {
        name: values.astype(np.float64)
        if name.startswith("draws_") and values.dtype == np.float32
        else values
        for name, values in arrays.items()
    }
    if SPARSE in out:
        coef, weight = out.pop(SPARSE), out.get("draws_weight")
        if weight is None or coef.ndim != 3 or coef.dtype != np.float64:
            raise ValueError("the coefficients in use are not those of experts")
        used = weight != 0
        n = np.count_nonzero(used)
        if len(coef) != n or used.size > MOST_GROWTH * n:
            raise ValueError("the coefficients in use do not fit the weights")
        out["draws_coef"] = np.zeros((*weight.shape, *coef.shape[1:]))
        out["draws_coef"][used] = coef
    return out


def _single(values: NDArray) -> NDArray:
    with np.errstate(over="ignore", under="ignore"):
        small = values.astype(np.float32)
    return small if np.array_equal(small, values) else values
