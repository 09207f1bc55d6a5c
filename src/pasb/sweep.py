"""One sweep: every stick's coefficients given the order, then the order.

The state of a chain is an order and the binary model's parameters. Two schemes:

``exact``
    Only rows whose category lies on a stick or later inform it. The reference
    category's parameters are no part of the model; they are drawn from a pseudo-prior,
    whose log-ratio to the prior enters the swaps (Carlin and Chib 1995). So the chain
    has the posterior of order and coefficients as its stationary law.
``paper``
    As printed: the reference category is fitted to its one-against-the-rest labels and
    takes part in the swaps without a term for that fit. Kept to reproduce the paper's
    tables; the orders it visits do not have the posterior law.

With *augmented* sticks the labels of rows that stopped earlier are imputed (section
3.1 of the paper), with *marginal* sticks those rows are left out. The posterior is the
same, marginal sticks mix better and cost less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import (
    ABSENT,
    FAILURE,
    IMPUTED,
    SUCCESS,
    BinaryModel,
    BinarySampler,
    Keys,
    Parameters,
)
from pasb.orders import OrderTable, order_log_likelihood, swap_moves
from pasb.rows import Rows
from pasb.sticks import Direction

Scheme = Literal["exact", "paper"]


@dataclass(frozen=True)
class Problem:
    """What is sampled: data, binary model and construction."""

    rows: Rows
    model: BinaryModel
    direction: Direction = "forward"
    scheme: Scheme = "exact"
    augmented: bool = False
    fixed_order: NDArray[np.int64] | None = None
    n_swaps: int = 100

    @property
    def with_reference(self) -> bool:
        """Whether the reference category's parameters are drawn from a pseudo-prior."""
        return self.fixed_order is None and self.scheme == "exact"


@dataclass
class State:
    """Where a chain stands."""

    order: NDArray[np.int64]
    parameters: Parameters
    log_likelihood: float = float("nan")
    swaps_accepted: int = 0
    swaps_proposed: int = 0


@dataclass
class Sweeper:
    """One chain's machinery: `start` a state, `sweep` it on and on."""

    problem: Problem
    settling: int = 0  # sweeps at the beginning that use the paper's freer swaps
    sampler: BinarySampler = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        n = problem.rows.n_categories
        self.sampler = problem.model.sampler(problem.rows)
        if problem.with_reference:
            for category in range(n):
                self.sampler.prepare_reference(category, self._one_against_the_rest(category))
        self._table = OrderTable.empty(n)
        self._success, self._failure = np.zeros((n, n)), np.zeros((n, n))

    def start(self, keys: Keys) -> State:
        """Start from a random order, or from the fixed one, and random coefficients."""
        n = self.problem.rows.n_categories
        order = self.problem.fixed_order
        if order is None:
            # swaps on an empty table accept everything: a uniformly random order
            order = np.arange(n)
            table = OrderTable.empty(n)
            swap_moves(*table, order, 20 * n, keys.at(n))
        state = State(order.copy(), self.sampler.start(keys))
        self._tabulate(state)
        return state

    def resume(self, state: State) -> None:
        """Rebuild what follows from a state that was read from a checkpoint."""
        self.sampler.resume(state.parameters)
        self._tabulate(state)

    def sweep(self, state: State, keys: Keys) -> None:
        """Advance `state` by one sweep, in place."""
        problem, order = self.problem, state.order
        settling = keys.sweep <= self.settling
        last = len(order) - 1
        for stick in range(last):
            parts = self._parts(order, stick)
            self.sampler.update(state.parameters, int(order[stick]), stick, parts, keys)
        if problem.fixed_order is None:
            reference = int(order[last])
            if problem.scheme == "paper" or settling:
                parts = self._one_against_the_rest(reference)
                self.sampler.update(state.parameters, reference, last, parts, keys)
            else:
                self.sampler.draw_reference(state.parameters, reference, last, keys)
        self._tabulate(state)
        if problem.fixed_order is None:
            self._move_order(state, keys, settling)
        state.log_likelihood = order_log_likelihood(self._table.stop, self._table.go_on, order)

    def _move_order(self, state: State, keys: Keys, settling: bool) -> None:
        if self.problem.scheme == "paper" or settling:
            self._table.reference[:] = 0.0
        else:
            self.sampler.reference_log_ratio(state.parameters, self._table.reference)
        key = keys.at(len(state.order))
        n = self.problem.n_swaps
        state.swaps_accepted += swap_moves(*self._table, state.order, n, key)
        state.swaps_proposed += n

    def _tabulate(self, state: State) -> None:
        """Fill the table from which the likelihood of every order follows."""
        self.sampler.log_sums(state.parameters, self._success, self._failure)
        accept, reject = self._success, self._failure
        if self.problem.direction == "reverse":
            accept, reject = reject, accept
        self._table.stop[:] = np.diagonal(accept)
        self._table.go_on[:] = reject
        state.log_likelihood = order_log_likelihood(*self._table[:2], state.order)

    def _parts(self, order: NDArray[np.int64], stick: int) -> NDArray[np.int8]:
        """What the rows of each category are on a stick."""
        stop, go_on = self._labels()
        parts = np.empty(len(order), dtype=np.int8)
        parts[order[:stick]] = IMPUTED if self.problem.augmented else ABSENT
        parts[order[stick]] = stop
        parts[order[stick + 1 :]] = go_on
        return parts

    def _one_against_the_rest(self, category: int) -> NDArray[np.int8]:
        stop, go_on = self._labels()
        parts = np.full(self.problem.rows.n_categories, go_on, dtype=np.int8)
        parts[category] = stop
        return parts

    def _labels(self) -> tuple[int, int]:
        """The binary labels of stopping and of going on."""
        return (SUCCESS, FAILURE) if self.problem.direction == "forward" else (FAILURE, SUCCESS)
