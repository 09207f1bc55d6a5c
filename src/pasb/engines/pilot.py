"""Where chains on a GPU start: from the best order that short chains of all sticks find.

A GPU runs the sticks of all orders at once. In two rounds: one short chain of each stick, then
several of those sticks that the best orders have. The mean log-likelihoods take the member of
evidences, and a chain starts where the best of its sticks' short chains ended. These numbers
only choose where a chain starts; where it goes is decided by exact moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Parameters
from pasb.engines.stick_batch import StickBatch, StickOfProblem, all_sticks
from pasb.evidences.evidences import Evidences, members
from pasb.moves.move import State
from pasb.orders.lattice import Lattice
from pasb.sampling.problem import Problem

SWEEPS, COUNTED = 250, 100  # of a short chain, and those at its end that count
BEST_ORDERS = 32  # whose sticks get more chains
CHAINS = 6  # for each of these sticks
MOST_CATEGORIES = 7  # S 2^(S-1) sticks, 441 for 7
FIRST_CHAIN = 2**30  # the numbers of short chains, which key their random numbers


class Pilot(Evidences):
    """Mean log-likelihoods of the sticks of all orders, and where their chains ended.

    Parameters
    ----------
    problem : Problem
    seed : int
    """

    def __init__(self, problem: Problem, seed: int):
        rows = problem.rows
        super().__init__(replace(rows, given_weights=None).counts, problem.roles)
        self.problem, self.seed = problem, seed
        self.together = [self]  # those of the same table, which run at once
        self.values: dict[tuple[int, int], list[float]] = {}
        self.best: dict[tuple[int, int], tuple[float, Parameters]] = {}

    def add(
        self, stick: StickOfProblem, value: float, parameters: Parameters, *, again: bool
    ) -> None:
        """Take over the end of a short chain; with `again` earlier ones do not count."""
        key = stick.category, stick.later
        if again or key not in self.values:
            self.values[key] = []
        self.values[key].append(value)
        if key not in self.best or value > self.best[key][0]:
            self.best[key] = value, parameters

    def log_evidence(self, category: int, later: int) -> float:
        """Mean log-likelihood of a category with the set `later` behind it."""
        if not self.values:
            _explore(self.together)
        return float(np.mean(self.values[category, later]))

    def lattice(self) -> Lattice:
        """The log-likelihoods of all orders."""
        return Lattice.of(self.n_categories, self.log_evidence)

    def promising(self) -> list[StickOfProblem]:
        """The sticks of the best orders so far."""
        sticks = {
            (int(c), members(order[j + 1 :]))
            for order in self.lattice().best_orders(BEST_ORDERS)
            for j, c in enumerate(order[:-1])
        }
        return [StickOfProblem(self.problem, *stick) for stick in sorted(sticks)]

    def fill(self, state: State) -> None:
        """Let a chain start where the best chains of its sticks ended."""
        for j, c in enumerate(state.order[:-1]):
            _, parameters = self.best[int(c), members(state.order[j + 1 :])]
            for name, values in parameters.items():
                state.parameters[name][c] = values


def with_pilots(
    problems: Mapping[int, Problem], surrogates: Mapping[int, Evidences | None], seed: int
) -> dict[int, Evidences | None]:
    """Pilots in the member of surrogates, where there are few categories."""
    out: dict[int, Evidences | None] = dict(surrogates)
    wanted = {
        name: problem
        for name, problem in problems.items()
        if surrogates[name] is not None and problem.rows.n_categories <= MOST_CATEGORIES
    }
    by_rows: dict[int, list[Pilot]] = defaultdict(list)
    for name, problem in wanted.items():
        out[name] = pilot = Pilot(problem, seed)
        pilot.together = by_rows[id(problem.rows)]
        pilot.together.append(pilot)
    return out


def _explore(pilots: Sequence[Pilot]) -> None:
    """Both rounds, for all directions of one table at once."""
    seed = pilots[0].seed
    owners = {id(pilot.problem): pilot for pilot in pilots}
    sticks = [stick for pilot in pilots for stick in all_sticks(pilot.problem)]
    _run(sticks, owners, seed, FIRST_CHAIN, again=False)
    more = [stick for pilot in pilots for stick in pilot.promising() for _ in range(CHAINS)]
    _run(more, owners, seed, FIRST_CHAIN + len(sticks), again=True)


def _run(
    sticks: Sequence[StickOfProblem],
    owners: Mapping[int, Pilot],
    seed: int,
    first: int,
    *,
    again: bool,
) -> None:
    batch = StickBatch(sticks, seed, first)
    total: NDArray[np.float64] = np.zeros(len(sticks))
    for number in range(1, SWEEPS + 1):
        values = batch.sweep(number)
        if number > SWEEPS - COUNTED:
            total += values / COUNTED
    ended = batch.parameters()
    seen: set[tuple[int, int, int]] = set()
    for c, stick in enumerate(sticks):
        key = (id(stick.problem), stick.category, stick.later)
        parameters = {name: values[c, 0] for name, values in ended.items()}
        owner = owners[id(stick.problem)]
        owner.add(stick, float(total[c]), parameters, again=again and key not in seen)
        seen.add(key)
