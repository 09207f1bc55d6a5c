"""All orders of satimage under softplus regression, and where the inferred one stands.

``python benchmarks/orders_gpu.py [--sweeps 1000] [--chains 8]`` on a machine with a GPU. Given the
order the sticks are independent, so the log-likelihood of an order is the sum of those of its
sticks, and the chains of the 186 sticks that six categories have say it for all 720 orders. For
each direction: the rank of the inferred order by mean log-likelihoods over several chains, and
that of the fit itself among fixed orders with one chain each, which is what the paper shows.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from itertools import permutations
from pathlib import Path
from time import perf_counter

import numpy as np

import pasb
from pasb import SoftplusClassifier, datasets
from pasb.engines.stick_batch import StickBatch, all_sticks
from pasb.evidences.evidences import members
from pasb.sampling.problem import Problem

SEED = 11


def fit(n_sweeps: int) -> SoftplusClassifier:
    part = datasets.load("satimage").partition(0)
    model = SoftplusClassifier(
        engine="cuda",
        moves="gibbs",
        n_chains=1,
        n_warmup=n_sweeps // 2,
        n_draws=n_sweeps // 4,
        thin=2,
        random_state=SEED,
        progress=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(part.X_train, part.y_train)


def of_sticks(problem: Problem, n_sweeps: int, n_chains: int) -> dict[tuple[int, int], np.ndarray]:
    """Mean log-likelihoods of the chains of each stick over the second half of the sweeps."""
    sticks = [stick for stick in all_sticks(problem) for _ in range(n_chains)]
    batch = StickBatch(sticks, SEED, 0)
    total = np.zeros(len(sticks))
    for number in range(1, n_sweeps + 1):
        values = batch.sweep(number)
        if number > n_sweeps // 2:
            total += values
    total /= n_sweeps - n_sweeps // 2
    return {
        (stick.category, stick.later): total[k : k + n_chains]
        for k, stick in enumerate(sticks)
        if k % n_chains == 0
    }


def standing(model, direction: str, values: dict, n_chains: int) -> dict:
    orders = [np.array(order) for order in permutations(range(len(model.classes_)))]
    rng = np.random.default_rng(SEED)
    means, singles = [], []
    for order in orders:
        own = [values[int(c), members(order[j + 1 :])] for j, c in enumerate(order[:-1])]
        means.append(sum(each.mean() for each in own))
        singles.append(sum(each[rng.integers(n_chains)] for each in own))
    inferred = [list(model.classes_).index(label) for label in model.orders_[direction]]
    number = next(k for k, order in enumerate(orders) if list(order) == inferred)
    chain = model.draws_.of_direction(direction)[0]
    fitted = float(model.draws_.log_likelihood[chain].mean())
    return {
        "order": "".join(map(str, model.orders_[direction])),
        "rank by means of several chains": int(np.sum(np.array(means) > means[number])) + 1,
        "its mean": means[number],
        "best mean": max(means),
        "median mean": float(np.median(means)),
        "the fit": fitted,
        "rank of the fit among single chains": int(np.sum(np.array(singles) > fitted)) + 1,
        "best single chain": max(singles),
        "means": [round(value, 2) for value in means],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=8)
    given = parser.parse_args()
    began = perf_counter()
    model = fit(given.sweeps)
    result: dict = {"version": pasb.__version__, "seed": SEED, **vars(given)}
    result["fit_seconds"] = perf_counter() - began
    from cuda_softplus import rows_of

    rows = rows_of("satimage")
    for direction in ("forward", "reverse"):
        began = perf_counter()
        problem = Problem(rows, model.fitted_.binary, direction)
        values = of_sticks(problem, given.sweeps, given.chains)
        result[direction] = standing(model, direction, values, given.chains)
        result[direction]["seconds"] = perf_counter() - began
        shown = {k: v for k, v in result[direction].items() if k != "means"}
        print(direction, json.dumps(shown, indent=1), flush=True)
    out = Path(os.environ.get("OUT", Path(__file__).parent / "results"))
    (out / "orders-gpu.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
