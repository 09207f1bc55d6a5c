"""One sweep: every stick's coefficients given the order, then the order.

The state of a chain is an order and the binary model's parameters. Two schemes:

``exact``
    The reference category's parameters are no part of the model; they are drawn from a
    pseudo-prior, whose log-ratio to the prior enters the swaps (Carlin and Chib 1995). So
    the chain has the posterior of order and coefficients as its stationary law.
``paper``
    As printed: the reference category is fitted to its one-against-the-rest labels and
    takes part in the swaps without a term for that fit. Kept to reproduce the paper's
    tables; the orders it visits do not have the posterior law.

Models whose coefficients have a nearly normal posterior also get independence proposals
(`pasb.moves.joint`) and, with few categories, a start from the lattice of all orders. Others
start from an order that penalised fits of the binary model favour (`pasb.evidences.fitted`).

With *augmented* sticks the labels of rows that stopped earlier are imputed (section
3.1 of the paper), with *marginal* sticks those rows are left out. The posterior is the
same, marginal sticks mix better and cost less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import (
    Approximable,
    BinaryModel,
    BinarySampler,
    CompiledSweep,
    Keys,
    Parameters,
)
from pasb.evidences.approximations import Approximations
from pasb.evidences.base import Evidences
from pasb.evidences.fitted import FittedEvidences
from pasb.moves.joint import JointMoves
from pasb.numerics.rows import Rows
from pasb.numerics.threads import Helpers, Task, one_by_one
from pasb.orders import Lattice, OrderTable, swap_moves
from pasb.orders.swap import uniform_at
from pasb.sticks import FAILURE, SUCCESS, Direction, parts_on_stick

Scheme = Literal["exact", "paper"]

MANY_COLUMNS = 400  # from here on an approximation costs more than it gives
SHARED_FROM = 2**17  # numbers in the table times vectors of coefficients; a sweep of some ms


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
    swaps_only: bool = False

    @property
    def labels(self) -> tuple[int, int]:
        """The binary labels of stopping and of going on."""
        return (SUCCESS, FAILURE) if self.direction == "forward" else (FAILURE, SUCCESS)

    def surrogate(self, n_jobs: int = 1) -> FittedEvidences | None:
        """Evidences to start from, if the binary model has penalised fits and they are needed."""
        if self.fixed_order is not None or self.swaps_only or self.scheme != "exact":
            return None
        if not self.model.has_fits:
            return None
        return FittedEvidences(self.model, self.rows, *self.labels, n_jobs)

    def approximations(self, n_jobs: int = 1) -> Approximations | None:
        """A store of normal approximations, if the binary model has them."""
        sampler = self.model.sampler(self.rows, self.direction)
        n_columns = self.rows.n_columns
        if not isinstance(sampler, Approximable) or n_columns > MANY_COLUMNS:
            return None
        sampler.reserve(n_jobs)
        bounds = self.rows.bounds
        counts = np.array([self.rows.weights[a:b].sum() for a, b in pairwise(bounds)])
        return Approximations(sampler, counts, n_columns, *self.labels, n_jobs)


@dataclass
class State:
    """Where a chain stands."""

    order: NDArray[np.int64]
    parameters: Parameters
    log_likelihood: float = float("nan")
    swaps_accepted: int = 0
    swaps_proposed: int = 0


class Sweeper:
    """One chain's machinery: `start` a state, `sweep` it on and on.

    Parameters
    ----------
    problem : Problem
    approximations : Approximations, optional
        Shared by the chains of a run; made here if not given.
    surrogate : Evidences, optional
        For the starting order of models without normal approximations.
    settling : int
        Sweeps at the beginning that use the paper's freer swaps, where the order does not
        start from the lattice.
    helpers : Helpers, optional
        Threads that work along; by default there are none.
    sampler : BinarySampler, optional
        That of another chain, where it is only needed to start from.
    """

    def __init__(
        self,
        problem: Problem,
        approximations: Approximations | None = None,
        surrogate: Evidences | None = None,
        settling: int = 0,
        helpers: Helpers | None = None,
        sampler: BinarySampler | None = None,
    ):
        n = problem.rows.n_categories
        self.problem = problem
        self.sampler: BinarySampler = sampler or problem.model.sampler(
            problem.rows, problem.direction
        )
        self.helpers = helpers or Helpers()
        size = problem.rows.blocks.size * self.sampler.n_vectors
        self.shares = self.sampler.concurrent and size >= SHARED_FROM
        self.exact = problem.scheme == "exact"
        self.infers = problem.fixed_order is None
        self.joint: JointMoves | None = None
        if self.exact:
            approximations = approximations or problem.approximations()
            if approximations is not None:
                approximable = cast(Approximable, self.sampler)
                self.joint = JointMoves(approximable, approximations)
        self.proposes = self.joint is not None and problem.model.uses_proposals
        self.lattice: Lattice | None = None
        if self.joint is not None and self.proposes and self.infers and not problem.swaps_only:
            self.lattice = self.joint.approximations.lattice()
        # too many categories for the lattice: look for a good order in it all the same
        self.walks = (
            self.proposes and self.infers and not problem.swaps_only and self.lattice is None
        )
        self.surrogate = surrogate
        starts_well = self.lattice is not None or self.walks or surrogate is not None
        self.settling = 0 if starts_well else settling
        self._success, self._failure = np.zeros((n, n)), np.zeros((n, n))
        self._table = OrderTable.of(self._success, self._failure, problem.direction)
        self.compiled = self._compiled_sweep()

    def _compiled_sweep(self) -> CompiledSweep | None:
        """The sweep in one call, where the model has one and all approximations are known."""
        problem = self.problem
        if self.joint is None or not self.proposes or (self.infers and self.lattice is None):
            return None
        laws, law_index = self.joint.approximations.all_laws(problem.fixed_order)
        return self.joint.sampler.compiled_sweep(
            self._table,
            laws,
            law_index,
            augmented=problem.augmented,
            infers=self.infers,
            n_swaps=problem.n_swaps,
        )

    def start(self, keys: Keys) -> State:
        """Start from the fixed order, one drawn from the lattice, or one searched there.

        Without evidences, or with plain swaps, from a random order.
        """
        state = State(self._first_order(keys), self.sampler.start(keys))
        self.resume(state)
        return state

    def _first_order(self, keys: Keys) -> NDArray[np.int64]:
        n = self.problem.rows.n_categories
        if self.problem.fixed_order is not None:
            return self.problem.fixed_order.copy()
        if self.lattice is not None:
            key = keys.at(n)
            return self.lattice.draw(np.array([uniform_at(key, j) for j in range(n)]))
        if self.walks:
            assert self.joint is not None
            return self.joint.approximations.searched_order(keys.seed)
        if self.surrogate is not None:
            lattice = self.surrogate.lattice()
            if lattice is None:
                return self.surrogate.searched_order(keys.seed)
            key = keys.at(n)
            return lattice.draw(np.array([uniform_at(key, j) for j in range(n)]))
        # swaps on an empty table accept everything: a uniformly random order
        order = np.arange(n)
        swap_moves(*OrderTable.empty(n), order, 20 * n, keys.at(n))
        return order

    def resume(self, state: State) -> None:
        """Rebuild what follows from a state that was read from a checkpoint."""
        self.sampler.resume(state.parameters)
        self._tabulate(state)
        state.log_likelihood = self._table.log_likelihood(state.order)

    def sweep(self, state: State, keys: Keys) -> None:
        """Advance `state` by one sweep, in place; a compiled one runs in one thread."""
        self._sweep(state, keys)
        self.sampler.watch(state.parameters, state.order[:-1])

    def _sweep(self, state: State, keys: Keys) -> None:
        if self.compiled is not None:
            state.log_likelihood, accepted, proposed = self.compiled(
                state.parameters, state.order, keys
            )
            state.swaps_accepted += accepted
            state.swaps_proposed += proposed
            return
        settling = keys.sweep <= self.settling
        self._update_sticks(state, keys)
        if self.infers and (settling or not self.exact):
            self._fit_reference(state, keys)
        if self.infers and self.proposes and self.problem.model.symmetric:
            self._mirror(state, keys)
        draws_reference = self.infers and self.exact and not settling
        if draws_reference and self.joint is None:
            # the pseudo-prior is the prior
            last = len(state.order) - 1
            self.sampler.draw_prior(state.parameters, int(state.order[last]), last, keys)
        self._tabulate(state)
        if self.joint is not None and self.proposes and not settling:
            self._joint_moves(self.joint, state, keys)
        if self.infers:
            if draws_reference and self.joint is not None:
                self._draw_reference(self.joint, state, keys)
            else:
                self._table.reference[:] = 0.0
            self._swap(state, keys)
        state.log_likelihood = self._table.log_likelihood(state.order)

    def _update_sticks(self, state: State, keys: Keys) -> None:
        """Section 3.2: given the order, one binary regression per stick."""
        tasks: list[Task] = []
        for stick, category in enumerate(state.order[:-1]):
            parts = self._parts(state.order, stick)
            tasks += self.sampler.tasks(state.parameters, int(category), stick, parts, keys)
        self._do(tasks, self.sampler.breadth)

    def _do(self, tasks: Sequence[Task], breadth: int = 1) -> None:
        """Run tasks, with the help of other threads where that is worth it."""
        if self.shares:
            self.helpers.run(tasks, breadth)
        else:
            one_by_one(tasks)

    def _fit_reference(self, state: State, keys: Keys) -> None:
        """The printed algorithm: b_iS = 1 for the rows of the reference, 0 for the others."""
        last = len(state.order) - 1
        reference = int(state.order[last])
        stop, go_on = self.problem.labels
        parts = np.full(last + 1, go_on, dtype=np.int8)
        parts[reference] = stop
        self.sampler.update(state.parameters, reference, last, parts, keys)

    def _mirror(self, state: State, keys: Keys) -> None:
        """Swap the last two categories and the sign of the last stick's coefficients.

        For a symmetric binary model this leaves every probability as it is, so it is
        always accepted; it is done in every other sweep, on average.
        """
        if self.problem.swaps_only or uniform_at(keys.at(len(state.order), 1), 0) < 0.5:
            return
        c, d = state.order[-2:]
        for values in state.parameters.values():
            values[d] = values[c]
        state.parameters["coef"][d] *= -1.0
        state.order[-2:] = d, c

    def _tabulate(self, state: State) -> None:
        """Fill the table from which the likelihood of every order follows."""
        self._do(self.sampler.log_sum_tasks(state.parameters, self._success, self._failure))

    def _joint_moves(self, joint: JointMoves, state: State, keys: Keys) -> None:
        joint.refresh(state.order, state.parameters, self._table, keys, self._do)
        if self.infers and not self.problem.swaps_only:
            # beyond the lattice every proposal may cost two new approximations
            n_proposals = 1 if self.lattice is None else len(state.order) - 1
            for number in range(n_proposals):
                joint.swap_neighbours(state.order, state.parameters, self._table, keys, number)

    def _draw_reference(self, joint: JointMoves, state: State, keys: Keys) -> None:
        """The reference's parameters from its pseudo-prior, which the moves left behind."""
        joint.draw_reference(state.order, state.parameters, self._table, keys)

    def _swap(self, state: State, keys: Keys) -> None:
        n = self.problem.n_swaps
        key = keys.at(len(state.order))
        state.swaps_accepted += swap_moves(*self._table, state.order, n, key)
        state.swaps_proposed += n

    def _parts(self, order: NDArray[np.int64], stick: int) -> NDArray[np.int8]:
        """What the rows of each category are on a stick."""
        return parts_on_stick(order, stick, self.problem.labels, self.problem.augmented)
