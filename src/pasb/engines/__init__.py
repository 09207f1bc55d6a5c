"""Where chains run: in threads here, or as one batch on a GPU."""

from __future__ import annotations

from typing import Literal

from pasb.sampling.engine import Engine

EngineName = Literal["cpu", "cuda"]


def engine_of(name: EngineName, n_jobs: int) -> Engine:
    """The engine of a name; it loads only what it needs."""
    if name == "cpu":
        from pasb.engines.threads import ThreadEngine

        return ThreadEngine(n_jobs)
    from pasb.engines.cuda import CudaEngine

    return CudaEngine(n_jobs)
