"""The few training rows whose probabilities tell whether the chains agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.lazy_rows import Table
from pasb.numerics.rows import sorting

N_MONITORED = 24


def choose_monitored_rows(
    inner: Table, categories: NDArray[np.int64], used: NDArray[np.bool_]
) -> dict[str, NDArray]:
    """Training rows whose probabilities are watched: spread evenly over the categories."""
    some = not used.all()
    source = sorting(categories[used] if some else categories)
    n = min(N_MONITORED, len(source))
    picked = source[np.unique(np.linspace(0, len(source) - 1, n).astype(np.int64))]
    row = np.flatnonzero(used)[picked] if some else picked
    return {"row": row, "inner": inner[row], "category": categories[row]}
