"""What is sampled, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Approximable, BinaryModel, BinarySampler, Keys
from pasb.binary.choice_logistic import ChoiceLogistic
from pasb.binary.softplus_sampler import SoftplusSampler
from pasb.evidences.annealed import AnnealedEvidences
from pasb.evidences.approximations import Approximations
from pasb.evidences.evidences import Evidences
from pasb.evidences.own_designs import OwnDesigns
from pasb.evidences.penalised import FittedEvidences
from pasb.moves.swap import swap_moves
from pasb.numerics.rows import Rows
from pasb.orders.table import OrderTable
from pasb.sticks import Direction, Roles
from pasb.variates.scalar import uniform_at

Scheme = Literal["exact", "paper"]

MANY_COLUMNS = 400  # from here on an approximation costs more than it gives


@dataclass(frozen=True)
class Problem:
    """What is sampled: data, binary model and construction.

    Where chains see different columns of a table, `seen` flags those that `rows` holds; the
    coefficients of the others are zero in what is kept.
    """

    rows: Rows
    model: BinaryModel
    direction: Direction = "forward"
    scheme: Scheme = "exact"
    augmented: bool = False
    fixed_order: NDArray[np.int64] | None = None
    n_swaps: int = 100
    swaps_only: bool = False
    seen: NDArray[np.bool_] | None = None

    @property
    def n_columns(self) -> int:
        """Columns of the table, those included that `rows` does not hold."""
        return self.rows.n_columns if self.seen is None else len(self.seen)

    @property
    def infers(self) -> bool:
        """Whether the order is sampled."""
        return self.fixed_order is None

    @property
    def searches(self) -> bool:
        """Whether a chain starts from a good order, and more than plain swaps move it."""
        return self.infers and not self.swaps_only and self.scheme == "exact"

    @property
    def roles(self) -> Roles:
        """The roles of rows on a stick."""
        return Roles.of(self.direction, self.augmented, self.rows.groups)

    def sampler(self) -> BinarySampler:
        """The sampler of one chain; under ``scheme="paper"`` that of the printed update."""
        printed = self.scheme == "paper"
        return (self.model.printed_sampler if printed else self.model.sampler)(self.rows)

    def surrogate(self, n_jobs: int = 1) -> Evidences | None:
        """Evidences to start from, if they are needed and the binary model has penalised fits.

        Or normal approximations of sticks that see columns of their own, which propose too.
        """
        if not self.searches:
            return None
        if isinstance(self.model, ChoiceLogistic):
            return OwnDesigns(self.model.sampler(self.rows), self.roles, n_jobs)
        if not self.model.has_fits:
            return None
        return FittedEvidences(self.model, self.rows, self.roles, n_jobs)

    def annealed(self, n_jobs: int = 1) -> AnnealedEvidences | None:
        """Evidences by annealing, where all sticks of a softplus model are near their prior."""
        if not self.searches:
            return None
        sampler = self.sampler()
        if not isinstance(sampler, SoftplusSampler) or not AnnealedEvidences.applies(sampler):
            return None
        found = AnnealedEvidences(sampler, self.roles, n_jobs)
        return None if found.lattice() is None else found

    def approximations(self, n_jobs: int = 1) -> Approximations | None:
        """A store of normal approximations, if the binary model has them."""
        sampler, n_columns = self.model.sampler(self.rows), self.rows.n_columns
        if not isinstance(sampler, Approximable) or n_columns > MANY_COLUMNS:
            return None
        sampler.reserve(n_jobs)
        return Approximations(sampler, self.rows.counts, n_columns, self.roles, n_jobs)

    def first_order(self, evidences: Evidences | None, keys: Keys) -> NDArray[np.int64]:
        """The fixed order, one drawn from the lattice of evidences, or one searched there.

        Without evidences, a random order.
        """
        n = self.rows.n_categories
        if self.fixed_order is not None:
            return self.fixed_order.copy()
        key = keys.at(n)
        if evidences is None:
            # swaps on an empty table accept everything: a uniformly random order
            order = np.arange(n)
            swap_moves(*OrderTable.empty(n), order, 20 * n, key)
            return order
        lattice = evidences.lattice()
        if lattice is None:
            return evidences.searched_order(keys.seed)
        return lattice.draw(np.array([uniform_at(key, j) for j in range(n)]))


@dataclass(frozen=True)
class Schedule:
    """How long a chain runs and what it keeps.

    A run whose draws are not good enough may continue until its draws are up to `longest` times as
    many sweeps apart (`pasb.sampling.lengthening`).
    """

    n_warmup: int
    n_draws: int
    thin: int
    seed: int
    longest: int = 1

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a whole chain, at most."""
        return self.n_warmup + self.n_draws * self.thin * self.longest

    @property
    def settling(self) -> int:
        """Sweeps in which a chain from a random order makes the paper's freer swaps."""
        return self.n_warmup // 2
