"""How many threads `n_jobs` stands for."""

from __future__ import annotations

import os
from functools import cache

from joblib import cpu_count, effective_n_jobs

MOST_THREADS = 1024


def cores(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for, on the cores that this process may use."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give 1 or more, or -1 for every core")
    if n_jobs is None:
        return effective_n_jobs(None)  # 1, unless a joblib context says otherwise
    if n_jobs > MOST_THREADS:
        raise ValueError(f"n_jobs must be at most {MOST_THREADS} threads; got {n_jobs}")
    return n_jobs if n_jobs > 0 else max(1, _available() + 1 + n_jobs)


def _available() -> int:
    """Cores that this process may use, by its affinity now and its limits when first asked."""
    limit = _limit()
    return min(limit, len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else limit


_limit = cache(cpu_count)  # reads files of the system, which takes longer than a prediction
