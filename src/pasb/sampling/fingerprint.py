"""What makes a run this run: its seed, and what a checkpoint must agree with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from pasb.errors import CheckpointError
from pasb.sampling.problem import Problem, Schedule
from pasb.storage.checkpoint import Checkpoint


def seed_of(random_state: Any, checkpoint: str | os.PathLike | None = None) -> int:
    """The seed of a run; without a random state, that of the checkpoint it resumes."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if random_state is None:
        stored = Checkpoint.peek(Path(checkpoint)) if checkpoint is not None else None
        if stored is not None:
            seed = stored.get("random_state")
            if type(seed) is not int or seed < 0:
                raise CheckpointError(
                    f"the checkpoint in '{checkpoint}' does not hold the seed of a run; use "
                    "another folder"
                )
            return seed
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, int | np.integer):
        check_random_state(random_state)  # raises for a negative one
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def run_fingerprint(problems: Sequence[Problem], schedule: Schedule) -> dict:
    """Everything the draws depend on, except their number.

    `problems` are those of the chains; they differ in direction, fixed order and the columns that
    they see at most.
    """
    problem, rows = problems[0], problems[0].rows
    digest = hashlib.sha256()
    for own in {id(problem.rows): problem.rows for problem in problems}.values():
        digest.update(getattr(own, "digest", "").encode())  # of rows that are elsewhere
        groups = own.groups if own.groups.given else ()
        for array in (own.blocks, own.weights, own.bounds, *groups):
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).data)
    return {
        "data": digest.hexdigest(),
        "rows": rows.n_rows,
        "columns": rows.n_columns,
        "categories": rows.n_categories,
        "binary": type(problem.model).__name__,
        **{f"binary.{name}": _json(value) for name, value in problem.model.get_params().items()},
        "direction": _one_or_all([problem.direction for problem in problems]),
        "scheme": problem.scheme,
        "sticks": "augmented" if problem.augmented else "marginal",
        "order": _one_or_all([_order(problem) for problem in problems]),
        "n_swaps": problem.n_swaps,
        "n_chains": len(problems),
        "n_warmup": schedule.n_warmup,
        "thin": schedule.thin,
        "random_state": schedule.seed,
    }


def _order(problem: Problem):
    if problem.fixed_order is None:
        return "swap" if problem.swaps_only else "infer"
    return problem.fixed_order.tolist()


def _one_or_all(values: list):
    """What all chains have in common, or a list with an entry a chain."""
    return values[0] if all(value == values[0] for value in values) else values


def _json(value):
    """A hyperparameter in JSON, which has no infinity."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
