"""Fill the lattice with evidences alone, where the approximations would not fit in memory.

Sets shrink by one category at a time. A fit starts from the mode of its category with one
more behind it, that of the fewest rows, so what it starts from follows from the data and not
from which thread was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.laplace import Laplace
from pasb.evidences.approximations import Approximations
from pasb.orders.lattice import Lattice

Modes = dict[tuple[int, int], NDArray[np.float64]]


def evidence_lattice(
    store: Approximations, evidence_of: Callable[[Laplace, Any], float] | None = None
) -> Lattice:
    """The evidences of all orders: S 2^(S-1) fits, `store.n_jobs` of them at the same time.

    Parameters
    ----------
    store : Approximations
        Makes the fits; it keeps none of them.
    evidence_of : callable
        The log-evidence of a stick from its normal approximation and its roles; by default what was
        found with it.
    """
    n = store.n_categories
    evidences: dict[tuple[int, int], float] = {}
    by_rows = np.argsort(store.counts, kind="stable").tolist()  # few rows first
    larger: Modes = {}

    def fit(stick: tuple[int, int]) -> tuple[float, NDArray[np.float64]]:
        category, later = stick
        absent = store.all_but(category) & ~later
        start = None
        if absent:
            added = next(s for s in by_rows if absent >> s & 1)
            start = larger[category, later | 1 << added]
        roles = store.roles(category, later)
        found = store.sampler.approximate(roles, start)
        value = found.log_evidence if evidence_of is None else evidence_of(found, roles)
        return value, found.mode.copy()  # without the rest of what was found

    with ThreadPoolExecutor(store.n_jobs, thread_name_prefix="pasb") as pool:
        for size in range(n - 1, 0, -1):
            sets = [later for later in range(2**n) if later.bit_count() == size]
            sticks = [(c, later) for later in sets for c in range(n) if not later >> c & 1]
            modes: Modes = {}
            for stick, (value, mode) in zip(sticks, pool.map(fit, sticks), strict=True):
                evidences[stick], modes[stick] = value, mode
            larger = modes
    return Lattice.of(n, lambda c, later: evidences[c, later])
