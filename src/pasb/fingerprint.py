"""What makes a run this run: its seed, and what a checkpoint must agree with."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state

from pasb.chain import Schedule
from pasb.checkpoint import Checkpoint
from pasb.sweep import Problem


def seed_of(random_state, checkpoint: str | os.PathLike | None) -> int:
    """The seed of a run; without a random state, that of the checkpoint it resumes."""
    if random_state is None:
        stored = Checkpoint.peek(Path(checkpoint)) if checkpoint is not None else None
        if stored is not None:
            return int(stored["random_state"])
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, int | np.integer):
        check_random_state(random_state)  # raises for a negative one
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def run_fingerprint(problem: Problem, schedule: Schedule, n_chains: int) -> dict:
    """Everything the draws depend on, except their number."""
    rows = problem.rows
    digest = hashlib.sha256()
    for array in (rows.blocks, rows.weights, rows.bounds, rows.source):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    order = problem.fixed_order
    return {
        "data": digest.hexdigest(),
        "rows": rows.n_rows,
        "columns": rows.n_columns,
        "categories": rows.n_categories,
        "binary": type(problem.model).__name__,
        **{f"binary.{name}": _json(value) for name, value in problem.model.get_params().items()},
        "direction": problem.direction,
        "scheme": problem.scheme,
        "sticks": "augmented" if problem.augmented else "marginal",
        "order": ("swap" if problem.swaps_only else "infer") if order is None else order.tolist(),
        "n_swaps": problem.n_swaps,
        "n_chains": n_chains,
        "n_warmup": schedule.n_warmup,
        "thin": schedule.thin,
        "random_state": schedule.seed,
    }


def _json(value):
    """A hyperparameter in JSON, which has no infinity."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
