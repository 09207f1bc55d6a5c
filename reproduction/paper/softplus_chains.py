"""Many softplus chains of the same rows, on the CPU one by one or on a GPU as one batch.

Both machines take the same random numbers, so they run the same chains, but as printed: the CPU
makes the printed update, a GPU has only our own. What a stopped run has done is kept in a file,
from which the next one continues.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys
from pasb.binary.softplus import Softplus
from pasb.covariates.scaling import Scaling
from pasb.moves.move import State
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows
from pasb.sampling.problem import Problem
from pasb.sampling.sweep import Sweeper
from reproduction.paper.cells import Context
from reproduction.paper.table_models import SOFTPLUS_PRIOR

OUR_SHAPE = 2.0


class Start(NamedTuple):
    """Where chains are: orders (chains, categories), and parameters by name."""

    orders: NDArray[np.int64]
    parameters: dict[str, NDArray[np.float64]]


class Sums(NamedTuple):
    """What is kept of some chains.

    Attributes
    ----------
    log_likelihood : array of shape (chains,)
        Mean over the last sweeps; NaN for a chain whose parameters diverged until they were
        not finite.
    orders : array of shape (chains, categories)
        Of the last sweep.
    """

    log_likelihood: NDArray[np.float64]
    orders: NDArray[np.int64]


def rows_of(X: NDArray[np.float64], y: NDArray, scheme: str) -> tuple[Rows, NDArray]:
    """Rows as the classifiers make them, and the class of each category."""
    classes, categories = np.unique(y, return_inverse=True)
    scaling = Scaling.of(X, np.ones(len(X)), "range" if scheme == "paper" else "standard")
    return Rows.of(scaling.with_constant(X), categories, len(classes)), classes


def softplus_model(rows: Rows, n_experts: int, n_layers: int, scheme: str) -> Softplus:
    """The binary model with the paper's prior, or with ours."""
    shape, rate = OUR_SHAPE, "shared"
    if scheme == "paper":
        shape, rate = SOFTPLUS_PRIOR["precision_shape"], SOFTPLUS_PRIOR["precision_rate"]
    return Softplus(n_experts=n_experts, n_layers=n_layers, shape=shape, rate=rate)


def run_chains(
    problems: list[Problem],
    chains: list[int],
    seed: int,
    n_sweeps: int,
    n_kept: int,
    context: Context,
    checkpoint: Path,
) -> Sums | None:
    """Run chains to their end; None if they were stopped.

    Parameters
    ----------
    problems : list of Problem
        One a chain, of the same rows, all with a fixed order or none.
    chains : list of int
        Their numbers, which key their random numbers.
    seed : int
    n_sweeps, n_kept : int
        Sweeps in all, and those at the end that count.
    context : Context
    checkpoint : path
        Where a stopped run leaves what it has done.
    """
    file = checkpoint.with_suffix(".npz")
    with one_blas_thread():
        done, total, start = _resume(file, problems, chains, seed)
        machine: _Machine = (_Gpu if context.engine == "cuda" else _Cpu)(
            problems, chains, seed, start
        )
        for number in range(done + 1, n_sweeps + 1):
            if context.over():
                _save(file, number - 1, total, machine.where())
                return None
            values = machine.sweep(number)
            if number > n_sweeps - n_kept:
                total = total + values
    file.unlink(missing_ok=True)
    end = machine.where()
    sound = [
        all(np.isfinite(own[c]).all() for own in end.parameters.values())
        for c in range(len(problems))
    ]
    return Sums(np.where(sound, total / n_kept, np.nan), end.orders)


def _resume(
    file: Path, problems: list[Problem], chains: list[int], seed: int
) -> tuple[int, NDArray[np.float64], Start]:
    if file.exists():
        with np.load(file) as saved:
            prefix = "parameter_"
            parameters = {
                name.removeprefix(prefix): saved[name]
                for name in saved.files
                if name.startswith(prefix)
            }
            return int(saved["done"]), saved["total"], Start(saved["orders"], parameters)
    searched = _searched_order(problems[0], seed)
    orders, states = [], []
    for problem, chain in zip(problems, chains, strict=True):
        state = Sweeper(problem).start(Keys(seed, chain, 0))
        orders.append(state.order if searched is None else searched)
        # counts of the printed update begin as zeros, which a sweeper makes where there are none
        states.append({k: v for k, v in state.parameters.items() if k != "counts"})
    stacked = {name: np.stack([own[name] for own in states]) for name in states[0]}
    return 0, np.zeros(len(problems)), Start(np.array(orders), stacked)


def _searched_order(problem: Problem, seed: int) -> NDArray[np.int64] | None:
    """The order that penalised fits favour, where the problem asks for one."""
    surrogate = problem.surrogate()
    return None if surrogate is None else surrogate.searched_order(seed)


def _save(file: Path, done: int, total: NDArray[np.float64], start: Start) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".tmp.npz")
    parameters: dict[str, Any] = {f"parameter_{k}": v for k, v in start.parameters.items()}
    np.savez(temporary, done=done, total=total, orders=start.orders, **parameters)
    os.replace(temporary, file)


class _Machine(Protocol):
    """Chains that can be swept."""

    def __init__(
        self, problems: list[Problem], chains: list[int], seed: int, start: Start
    ) -> None: ...

    def sweep(self, number: int) -> NDArray[np.float64]:
        """One sweep of all chains; their log-likelihoods."""

    def where(self) -> Start:
        """Where they are."""


class _Cpu:
    def __init__(self, problems: list[Problem], chains: list[int], seed: int, start: Start):
        self.seed, self.chains = seed, chains
        self.sweepers = [Sweeper(problem) for problem in problems]
        self.states = []
        for number, sweeper in enumerate(self.sweepers):
            own = {name: values[number].copy() for name, values in start.parameters.items()}
            state = State(start.orders[number].copy(), own)
            sweeper.resume(state)
            self.states.append(state)

    def sweep(self, number: int) -> NDArray[np.float64]:
        for sweeper, state, chain in zip(self.sweepers, self.states, self.chains, strict=True):
            sweeper.sweep(state, Keys(self.seed, chain, number))
        return np.array([state.log_likelihood for state in self.states])

    def where(self) -> Start:
        names = self.states[0].parameters
        stacked = {name: np.stack([own.parameters[name] for own in self.states]) for name in names}
        return Start(np.stack([state.order for state in self.states]), stacked)


class _Gpu:
    def __init__(self, problems: list[Problem], chains: list[int], seed: int, start: Start):
        from pasb.engines.softplus_arrays import STATE, BatchChain
        from pasb.engines.softplus_batch import SoftplusBatch

        first = problems[0]
        places = [BatchChain(problem, seed, c) for problem, c in zip(problems, chains, strict=True)]
        printed = first.fixed_order is None and first.scheme == "paper"
        self.batch = SoftplusBatch(places, fits_reference=printed)
        each = [
            {name: values[c] for name, values in start.parameters.items()}
            for c in range(len(problems))
        ]
        self.batch.start(list(start.orders), each)
        # what the batch does not hold, because it does not prune
        self.others = {k: v for k, v in start.parameters.items() if k not in STATE}

    def sweep(self, number: int) -> NDArray[np.float64]:
        return self.batch.sweep(number)

    def where(self) -> Start:
        return Start(self.batch.orders.copy(), {**self.batch.parameters(), **self.others})
