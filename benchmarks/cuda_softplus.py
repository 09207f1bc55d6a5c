"""Softplus sweeps on a real GPU: the CPU's draws from the same keys, and what a sweep takes.

``python benchmarks/cuda_softplus.py [--orders SWEEPS]`` on a machine with an NVIDIA GPU, CuPy and
numba-cuda. With ``--orders``, all 720 orders of satimage in both directions, as one batch each.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from itertools import permutations
from pathlib import Path
from time import perf_counter

import numpy as np
import repository_root  # noqa: F401

from pasb.binary.binary_model import Keys
from pasb.binary.softplus import Softplus
from pasb.covariates.scaling import Scaling
from pasb.engines.device import array_module
from pasb.engines.softplus_arrays import BatchChain
from pasb.engines.softplus_batch import SoftplusBatch
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from reproduction.data_sets import load

SEED = 7


def rows_of(name: str) -> Rows:
    part = load(name).partition(0)
    classes, categories = np.unique(part.y_train, return_inverse=True)
    table = Scaling.of(part.X_train, np.ones(len(part.X_train)), "standard")
    return Rows.of(table.with_constant(part.X_train), categories, len(classes))


def batch_of(problems: list[Problem]) -> SoftplusBatch:
    """A batch that starts where the CPU would."""
    batch = SoftplusBatch([BatchChain(problem, SEED, c) for c, problem in enumerate(problems)])
    sampler = problems[0].model.sampler(problems[0].rows)
    starts = [sampler.start(Keys(SEED, c, 0)) for c in range(len(problems))]
    batch.start([problem.fixed_order for problem in problems], starts)
    return batch


def agreement(name: str, direction: str, n_sweeps: int) -> dict[str, float]:
    """Largest relative difference of a chain on the two machines, sweep by sweep."""
    rows = rows_of(name)
    order = np.arange(rows.n_categories)
    problem = Problem(rows, Softplus(), direction, fixed_order=order)
    sweeper = Sweeper(problem)
    state = sweeper.start(Keys(SEED, 0, 0))
    batch = batch_of([problem])
    out = {}
    for number in range(1, n_sweeps + 1):
        sweeper.sweep(state, Keys(SEED, 0, number))
        log_likelihood = batch.sweep(number)[0]
        mine, theirs = batch.parameters(("coef",))["coef"][0], state.parameters["coef"]
        out[f"sweep {number}, coef"] = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
        out[f"sweep {number}, log-likelihood"] = float(log_likelihood - state.log_likelihood)
        # from here on from the same point
        batch.start([state.order], [state.parameters])
    return out


def seconds_a_sweep(rows: Rows, n_chains: int, n_sweeps: int) -> float:
    rng = np.random.default_rng(0)
    problems = [
        Problem(rows, Softplus(), fixed_order=rng.permutation(rows.n_categories))
        for _ in range(n_chains)
    ]
    batch = batch_of(problems)
    batch.sweep(1)
    began = perf_counter()
    for number in range(2, n_sweeps + 2):
        batch.sweep(number)
    return (perf_counter() - began) / n_sweeps


class Clock:
    """The array module, with its matrix products timed; `timed` does the same for kernels."""

    def __init__(self, xp):
        self.xp, self.spent = xp, Counter()

    def __getattr__(self, name):
        return getattr(self.xp, name)

    def timed(self, what: str, act) -> None:
        self.xp.cuda.Device().synchronize()
        began = perf_counter()
        act()
        self.xp.cuda.Device().synchronize()
        self.spent[what] += perf_counter() - began

    def matmul(self, a, b, out):
        shapes = f"{a.shape[-2:]} by {b.shape[-2:]}"
        self.timed(f"product {shapes}", lambda: self.xp.matmul(a, b, out=out))


def parts_of_a_sweep(name: str, n_chains: int, n_sweeps: int = 30) -> dict[str, float]:
    """Milliseconds of every kernel and product in a sweep, each waited for."""
    rows = rows_of(name)
    problems = [
        Problem(rows, Softplus(), fixed_order=np.arange(rows.n_categories)) for _ in range(n_chains)
    ]
    batch = batch_of(problems)
    for number in range(1, n_sweeps + 1):
        batch.sweep(number)
    clock = batch.xp = Clock(batch.xp)
    batch._play = lambda name, launches: launches()
    launch = batch._launch
    batch._launch = lambda kernel, *given: clock.timed(
        kernel.py_func.__name__, lambda: launch(kernel, *given)
    )
    for number in range(n_sweeps + 1, 2 * n_sweeps + 1):
        batch.sweep(number)
    parts = {what: round(1e3 * s / n_sweeps, 3) for what, s in clock.spent.most_common()}
    guards = Counter()
    for own in batch.take_guards():
        guards.update(own)
    return {**parts, **guards}


def orders(n_sweeps: int, directions: list[str], out: Path) -> None:
    """Mean log-likelihood of the second half of the sweeps for every order of satimage."""
    rows = rows_of("satimage")
    everything = [np.array(order) for order in permutations(range(rows.n_categories))]
    for direction in directions:
        problems = [Problem(rows, Softplus(), direction, fixed_order=o) for o in everything]
        batch = batch_of(problems)
        total = np.zeros(len(everything))
        began = perf_counter()
        for number in range(1, n_sweeps + 1):
            values = batch.sweep(number)
            if number > n_sweeps // 2:
                total += values
        spent = perf_counter() - began
        result = {
            "direction": direction,
            "sweeps": n_sweeps,
            "seconds": spent,
            "guards": batch.take_guards(),
            "orders": [order.tolist() for order in everything],
            "log_likelihood": (total / (n_sweeps - n_sweeps // 2)).tolist(),
        }
        (out / f"orders_{direction}.json").write_text(json.dumps(result))
        print(f"720 orders, {direction}: {n_sweeps} sweeps in {spent:.0f} s", flush=True)
        del batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=0)
    parser.add_argument("--directions", nargs="*", default=["forward", "reverse"])
    parser.add_argument("--parts", nargs="*", default=[], help="data whose sweeps to take apart")
    parser.add_argument("--skip", action="store_true", help="only the orders")
    given = parser.parse_args()
    array_module()  # complains if there is no GPU
    if not given.skip:
        for name, direction in (
            ("vehicle", "forward"),
            ("satimage", "reverse"),
            ("dna", "forward"),
        ):
            print(name, direction, agreement(name, direction, 3), flush=True)
        for name in ("vehicle", "satimage"):
            for n_chains, n_sweeps in ((1, 30), (2, 30), (16, 20), (128, 10), (720, 5)):
                seconds = seconds_a_sweep(rows_of(name), n_chains, n_sweeps)
                print(
                    f"{name}: {n_chains} chains, {1e3 * seconds:.2f} ms a sweep, "
                    f"{1e3 * seconds / n_chains:.3f} ms a chain",
                    flush=True,
                )
    for name in given.parts:
        print(name, parts_of_a_sweep(name, 2), flush=True)
    if given.orders:
        orders(given.orders, given.directions, Path(os.environ.get("OUT", ".")))


if __name__ == "__main__":
    main()
