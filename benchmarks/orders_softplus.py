"""Orders of softplus regressions: the frame of square101, and all orders of satimage.

Both are parts of ``python benchmarks/orders.py``: square101 and ranking, measured only when
they are named. The paper's runs have 20 000 sweeps; these are short, and say how short.
"""

from __future__ import annotations

import json
import os
import warnings
from itertools import permutations
from pathlib import Path
from time import perf_counter

import numpy as np

from pasb import SoftplusClassifier, datasets

RANKING_FILE = Path(__file__).parent / "results" / "orders-ranking.jsonl"


def fit(X, y, order, seed: int, n_sweeps: int, n_chains: int = 1, **settings):
    model = SoftplusClassifier(
        order=order,
        n_chains=n_chains,
        n_warmup=n_sweeps,
        n_draws=n_sweeps,
        random_state=seed,
        progress=False,
        moves="gibbs",
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def by_the_papers_rule(rng: np.random.Generator) -> list[str]:
    """The frame of square101 first, then ring by ring inwards, in random order within a ring."""
    order, first = ["1"], 2
    for size in (36, 28, 20, 12, 4):
        order += [str(s) for s in first + rng.permutation(size)]
        first += size
    return order


def square101(n_inferred: int = 2, n_fixed: int = 3, n_sweeps: int = 25):
    """Inferred orders against fixed ones by the paper's rule: K = T = 4, forward sticks.

    Two chains for each seed whose order is inferred, one for each fixed order.
    Log-likelihoods are means over the second half of the sweeps.
    """
    data = datasets.load("square101")
    settings = {"n_experts": 4, "n_layers": 4, "direction": "forward"}
    figures: dict = {"sweeps": 2 * n_sweeps}
    for name, n_runs, n_chains in (("inferred", n_inferred, 2), ("the paper's rule", n_fixed, 1)):
        reached, places, began = [], [], perf_counter()
        for seed in range(n_runs):
            fixed = by_the_papers_rule(np.random.default_rng(seed))
            order = "infer" if name == "inferred" else fixed
            model = fit(data.X, data.y, order, seed, n_sweeps, n_chains, **settings)
            reached += model.draws_.log_likelihood.mean(axis=1).tolist()
            last = model.classes_[model.draws_.order[:, -1]]
            places += (1 + np.argmax(last == "1", axis=1)).tolist()
        figures[f"{name}: log-likelihood"] = dict(enumerate(reached))
        figures[f"{name}: stick of the frame"] = dict(enumerate(places))
        figures[f"{name}: seconds a fit"] = (perf_counter() - began) / n_runs
    return figures


def ranking(n_rows: int = 500, n_sweeps: int = 100, seconds: float | None = None):
    """Where the inferred order of satimage ranks among all 720, softplus K = 5, T = 3.

    Every order runs as a fixed one, forward and reverse, on the same rows and with the same
    seed; so does the inferred one, the most frequent order of a run that infers it. What is
    done is kept in a file beside the results, so that a run can be stopped and started again;
    ``ORDERS_SECONDS`` in the environment ends each direction early, and ranks are then among
    the orders done so far. All of them take more than an hour of one core.
    """
    limit = seconds or float(os.environ.get("ORDERS_SECONDS", "inf"))
    part = datasets.load("satimage").partition(0)
    chosen = np.random.default_rng(0).permutation(len(part.y_train))[:n_rows]
    X, y = part.X_train[chosen], part.y_train[chosen]
    classes = np.unique(y).tolist()
    settings = {"n_experts": 5, "n_layers": 3}
    done: dict[tuple, float] = {}
    RANKING_FILE.parent.mkdir(exist_ok=True)
    if RANKING_FILE.exists():
        for line in RANKING_FILE.read_text().splitlines():
            *key, value = json.loads(line)
            done[_hashable(key)] = value
    figures: dict = {"rows": n_rows, "sweeps": 2 * n_sweeps}

    def log_likelihood(direction: str, order) -> float:
        key = _hashable([n_rows, n_sweeps, direction, order])
        if key not in done:
            model = fit(X, y, list(order), 0, n_sweeps, direction=direction, **settings)
            done[key] = float(model.draws_.log_likelihood.mean())
            with RANKING_FILE.open("a") as file:
                file.write(json.dumps([n_rows, n_sweeps, direction, list(order), done[key]]) + "\n")
        return done[key]

    # orders in turn by a random sequence, so that a stopped run has a fair sample of them
    everything = list(permutations(classes))
    sequence = np.random.default_rng(1).permutation(len(everything))
    for direction in ("forward", "reverse"):
        inferred = [
            fit(X, y, "infer", seed, n_sweeps, direction=direction, **settings).order_.tolist()
            for seed in range(3)
        ]
        values = {tuple(order): log_likelihood(direction, order) for order in inferred}
        fixed, deadline = [], perf_counter() + limit
        for k in sequence:
            fixed.append(log_likelihood(direction, everything[k]))
            if perf_counter() > deadline:
                break
        ranks = [1 + sum(v > values[tuple(order)] for v in fixed) for order in inferred]
        figures[direction] = {
            "fixed orders": len(fixed),
            **{f"rank, seed {seed}": rank for seed, rank in enumerate(ranks)},
            "best": max(fixed),
            "median": float(np.median(fixed)),
            "inferred": max(values.values()),
        }
    return figures


def _hashable(key) -> tuple:
    return tuple(tuple(part) if isinstance(part, list | tuple) else part for part in key)


PARTS = {"square101": square101, "ranking": ranking}
