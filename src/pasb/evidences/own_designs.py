"""Normal approximations of sticks that each see columns of their own.

The approximation of a stick is one of all coefficients it sees, generic ones among them, as if
these belonged to this stick alone. The sum of the evidences of an order's sticks then counts
generic coefficients once for each stick: good enough to choose where chains start, and nothing
else. Proposals come from the approximation of the specific coefficients given the generic ones as
they are.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from pasb.binary.bent_normal import unpacked
from pasb.binary.choice_logistic import ChoiceSampler
from pasb.binary.laplace import Laplace
from pasb.evidences.evidences import Evidences
from pasb.orders.lattice import Lattice
from pasb.sticks import Roles

LATTICE_LIMIT = 7  # categories; S 2^(S-1) fits, 448 for 7
WIDE_SHARE, WIDTH = 0.2, 1.7  # a second component, so that the tails are covered


class ConditionalNormal(NamedTuple):
    """Specific coefficients given generic ones: their mean is linear in these.

    Attributes
    ----------
    mode, generic_mode : array
    slope : array of shape (n_specific, n_generic)
    factor : array of shape (n_specific, n_specific)
        Cholesky factor of the precision matrix.
    """

    mode: NDArray[np.float64]
    generic_mode: NDArray[np.float64]
    slope: NDArray[np.float64]
    factor: NDArray[np.float64]

    def draw(self, generic: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw specific coefficients."""
        width = WIDTH if rng.random() < WIDE_SHARE else 1.0
        noise = rng.standard_normal(len(self.mode))
        away = solve_triangular(self.factor, noise, lower=True, trans="T")
        return self._mean(generic) + width * away

    def log_density(self, specific: NDArray[np.float64], generic: NDArray[np.float64]) -> float:
        """Log-density of specific coefficients."""
        n = len(specific)
        square = float(np.sum((self.factor.T @ (specific - self._mean(generic))) ** 2))
        narrow = np.log(1 - WIDE_SHARE) - 0.5 * square
        wide = np.log(WIDE_SHARE) - n * np.log(WIDTH) - 0.5 * square / WIDTH**2
        constant = np.log(np.diag(self.factor)).sum() - 0.5 * n * np.log(2 * np.pi)
        return float(np.logaddexp(narrow, wide) + constant)

    def _mean(self, generic: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.mode - self.slope @ (generic - self.generic_mode)


class OwnDesigns(Evidences):
    """A store of normal approximations, shared by the chains of a run.

    Parameters
    ----------
    sampler : ChoiceSampler
    roles : Roles
    n_jobs : int
    """

    def __init__(self, sampler: ChoiceSampler, roles: Roles, n_jobs: int = 1):
        super().__init__(sampler.rows.counts, roles, n_jobs)
        self.sampler = sampler
        self._kept: dict[tuple[int, int], tuple[ConditionalNormal, float]] = {}
        self._first: dict[int, Laplace] = {}
        self._lattice: Lattice | None = None
        self._lock = threading.Lock()

    def log_evidence(self, category: int, later: int) -> float:
        """Log-evidence of a category with the set `later` behind it."""
        return self._get(category, later)[1]

    def conditional(self, category: int, later: int) -> ConditionalNormal:
        """The specific coefficients of a stick given the generic ones."""
        return self._get(category, later)[0]

    def lattice(self) -> Lattice | None:
        """The evidences of all orders; None when there are too many."""
        if self.n_categories > LATTICE_LIMIT:
            return None
        with self._lock:
            if self._lattice is None:
                self._lattice = Lattice.of(self.n_categories, self.log_evidence)
            return self._lattice

    def _get(self, category: int, later: int) -> tuple[ConditionalNormal, float]:
        stick = (category, later)
        if stick not in self._kept:  # two threads may both find it: the same numbers
            part = self.sampler.parts[category]
            if category not in self._first:
                roles = self.roles(category, self.all_but(category))
                self._first[category] = part.approximate(roles, None)
            found = part.approximate(self.roles(*stick), self._first[category].mode)
            self._kept[stick] = self._conditional(found), found.log_evidence
        return self._kept[stick]

    def _conditional(self, found: Laplace) -> ConditionalNormal:
        mode, scale, factor, _, _ = unpacked(found.packed)
        root = np.tril(factor) / scale[:, None]
        precision = root @ root.T
        s, g = self.sampler.specific, self.sampler.generic
        own = np.linalg.cholesky(precision[np.ix_(s, s)])
        slope = cho_solve((own, True), precision[np.ix_(s, g)])
        return ConditionalNormal(mode[s].copy(), mode[g].copy(), slope, own)
