"""Do softplus chains reach their posterior? Gibbs updates against trajectories, stick by stick.

One stick, a class of a bundled table against the rest, from random starts: the training
log-likelihood of each chain, R-hat and effective sample size of the success probabilities of test
rows, their log loss, seconds and gradients a draw. ``python benchmarks/softplus_trajectories.py``
takes about ten minutes on two cores.
"""

from __future__ import annotations

from functools import partial
from time import thread_time

import numpy as np

from pasb import datasets
from pasb.binary import Softplus
from pasb.binary.binary_model import Keys
from pasb.numerics.rows import Rows, blocked
from pasb.posterior.diagnostics import rhat_and_ess
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from report import write

RATE = 8.0  # mean rate of the precisions' prior
N_CHAINS = 4
SCHEDULES = {"gibbs": (4000, 4000, 20), "mixed": (200, 200, 1)}  # warm-up, sweeps, thinning
TABLES = {"vehicle": "van", "glass": "2", "segment": None}
MOST_ROWS = 600


def stick(name: str, label: str | None):
    """Rows of a class and of all others, test rows, and their labels."""
    part = datasets.load(name).partition(0)
    X, y = np.asarray(part.X_train, dtype=float)[:MOST_ROWS], part.y_train[:MOST_ROWS]
    classes = [str(c) for c in np.unique(y)]
    chosen = np.unique(y)[classes.index(label) if label in classes else 0]
    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0

    def columns(table):
        return np.column_stack([np.ones(len(table)), (table - centre) / spread])

    X_test = columns(np.asarray(part.X_test, dtype=float)[:MOST_ROWS])
    rows = Rows.of(columns(X), (y != chosen).astype(np.int64), 2)
    return rows, X_test, part.y_test[:MOST_ROWS] == chosen


def measure(name: str, label: str | None, moves: str) -> dict:
    rows, X_test, truth = stick(name, label)
    blocks, (n_warmup, n_sweeps, thin) = blocked(X_test), SCHEDULES[moves]
    model = Softplus(rate=(1.0, 1 / RATE), moves=moves)
    problem = Problem(rows, model, fixed_order=np.array([0, 1]))
    draws, likelihoods, seconds, gradients = [], [], 0.0, 0
    for chain in range(N_CHAINS):
        sweeper = Sweeper(problem, n_warmup=n_warmup)
        state = sweeper.start(Keys(1, chain, 0))
        began, own, total = thread_time(), [], 0.0
        for sweep in range(1, n_warmup + n_sweeps + 1):
            sweeper.sweep(state, Keys(1, chain, sweep))
            if sweep > n_warmup:
                total += state.log_likelihood / n_sweeps
            if sweep > n_warmup and sweep % thin == 0:
                kept = {key: state.parameters[key][None, :1] for key in model.kept}
                own.append(np.exp(model.log_probabilities(kept, blocks)[0][0, 0, : len(truth)]))
        seconds += (thread_time() - began) / N_CHAINS
        gradients += sweeper.tally.of("softplus_trajectory_gradients")
        draws.append(own)
        likelihoods.append(round(total, 1))
    probabilities = np.array(draws)
    rhat, ess = rhat_and_ess(probabilities)
    mean = probabilities.mean(axis=(0, 1))
    return {
        "log-likelihoods of the chains": " ".join(map(str, likelihoods)),
        "R-hat, median": float(np.median(rhat)),
        "R-hat, 95 %": float(np.quantile(rhat, 0.95)),
        "effective draws, median": float(np.median(ess)),
        "effective draws a second": float(np.median(ess)) / (N_CHAINS * seconds),
        "log loss": float(-np.mean(np.log(np.where(truth, mean, 1 - mean)))),
        "seconds a chain": seconds,
        "gradients a sweep": gradients / N_CHAINS / (n_warmup + n_sweeps),
    }


def main() -> None:
    parts = {
        f"{name}, {moves}": partial(measure, name, label, moves)
        for name, label in TABLES.items()
        for moves in SCHEDULES
    }
    write(parts, list(parts), "softplus-trajectories-")


if __name__ == "__main__":
    main()
