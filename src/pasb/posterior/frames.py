"""Tables as data frames of the library that the user has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def native_frame(columns: dict[str, Any], library: str) -> Any:
    """A data frame of pandas or polars, by the name of the library."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    for name, values in arrays.items():
        if values.dtype.kind in "iu" and values.itemsize < 8:
            arrays[name] = values.astype(np.int64)  # as from Python's integers
    if library == "pandas":  # directly, which takes three quarters of the time for one row
        import pandas as pd

        return pd.DataFrame(arrays)
    import narwhals

    return narwhals.from_dict(arrays, backend=library).to_native()  # type: ignore[arg-type]


def by_direction(frames: list[dict[str, Any]], directions: Sequence[str]) -> dict[str, Any]:
    """Columns of one frame from those of each direction, named in a column if there are two."""
    columns = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
    if len(frames) == 1:
        return columns
    lengths = [len(next(iter(frame.values()))) for frame in frames]
    return {"direction": np.repeat(list(directions), lengths), **columns}
