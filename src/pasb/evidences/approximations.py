"""Normal approximations of sticks and their evidences, kept for as long as they are useful."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Approximable
from pasb.binary.laplace import Laplace, packed_size
from pasb.evidences.evidences import Evidences, members
from pasb.orders.lattice import Lattice
from pasb.sticks import Roles

LATTICE_LIMIT = 8  # categories; S 2^(S-1) fits, 1016 for 8
MEMORY = 2**27  # bytes of Cholesky factors


class Approximations(Evidences):
    """A store of normal approximations, shared by the chains of a run.

    Parameters
    ----------
    sampler : Approximable
        Makes the approximations, several at the same time.
    counts : array of shape (n_categories,)
        Rows of each category, weighted.
    n_columns : int
    roles : Roles
        Those of rows that stop at a stick and that go on.
    n_jobs : int
        Approximations that are made at the same time.
    """

    def __init__(
        self,
        sampler: Approximable,
        counts: NDArray[np.float64],
        n_columns: int,
        roles: Roles,
        n_jobs: int = 1,
    ):
        super().__init__(counts, roles, n_jobs)
        self.sampler = sampler
        self.gaussian_size = packed_size(n_columns)
        self.capacity = max(4 * self.n_categories, MEMORY // (8 * (n_columns + 1) ** 2))
        self._kept: dict[tuple[int, int], Laplace] = {}
        self._stacked: dict[tuple[tuple[int, int], ...], NDArray[np.float64]] = {}
        self._stacked_size = 0
        self._first: dict[int, Laplace] = {}
        self._evidences: dict[tuple[int, int], float] = {}
        self._lattice: Lattice | None = None
        self._all_gaussians: tuple[NDArray[np.float64], NDArray[np.int64]] | None = None
        self._row_of: dict[tuple[int, int], int] = {}  # in all of them, once they are known
        self._lock = threading.Lock()

    def pseudo_priors(self) -> NDArray[np.float64]:
        """Packed normal approximations of all categories on the first stick, one a row."""
        return self.gaussians(tuple((s, self.all_but(s)) for s in range(self.n_categories)))

    def gaussians(self, sticks: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
        """Packed normal approximations of some sticks, one a row.

        A stick is a category and the set of the categories behind it, as a bit mask.
        """
        if self._all_gaussians is not None:
            return self._all_gaussians[0][[self._row_of[stick] for stick in sticks]]
        stacked = self._stacked.get(sticks)
        if stacked is None:
            with self._lock:
                stacked = np.stack([self._get(*stick).packed for stick in sticks])
                self._stacked_size += len(sticks)
                if self._stacked_size > self.capacity:
                    self._stacked, self._stacked_size = {}, len(sticks)
                self._stacked[sticks] = stacked
        return stacked

    def log_evidence(self, category: int, later: int) -> float:
        """Log-evidence of a category with the set `later` behind it."""
        stick = (category, later)
        value = self._evidences.get(stick)
        if value is None:  # two threads may both find it: the same number
            first = self._one_against_the_rest(category)
            gaussian = self.sampler.approximate(self.roles(category, later), first.mode)
            value = self._evidences[stick] = gaussian.log_evidence
        return value

    def all_gaussians(
        self, fixed_order: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Packed normal approximations of every stick there can be, and where to find them.

        Returns
        -------
        gaussians : array
            One packed approximation a row, see `pasb.binary.laplace`.
        index : array
            ``index[c, R]`` is the row of category c with the set R behind it; under a fixed
            order, ``index[j, 0]`` is the row of stick j.
        """
        with self._lock:
            if self._all_gaussians is None:
                self._all_gaussians = self._collect_gaussians(fixed_order)
            return self._all_gaussians

    def _collect_gaussians(
        self, fixed_order: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        n = self.n_categories
        if fixed_order is not None:
            sticks = [(int(c), members(fixed_order[j + 1 :])) for j, c in enumerate(fixed_order)]
            index = np.arange(n)[:, None]
            sticks.pop()
        else:
            sticks = [(c, r) for c in range(n) for r in range(1, 2**n) if not r >> c & 1]
            index = np.full((n, 2**n), -1)
            for k, (c, r) in enumerate(sticks):
                index[c, r] = k
        self._row_of = {stick: k for k, stick in enumerate(sticks)}
        return self._make(sticks), index

    def lattice(self) -> Lattice | None:
        """The evidences of all orders; None when there are too many, or they are too large."""
        n_sticks = self.n_categories * 2 ** (self.n_categories - 1)
        if self.n_categories > LATTICE_LIMIT or n_sticks > self.capacity:
            return None
        with self._lock:
            if self._lattice is None:
                if self._all_gaussians is None:
                    self._all_gaussians = self._collect_gaussians(None)
                gaussians, index = self._all_gaussians
                n = self.n_categories
                self._lattice = Lattice.of(
                    n, lambda c, later: float(gaussians[index[c, later], -1])
                )
            return self._lattice

    def _make(self, sticks: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Packed normal approximations of some sticks, one a row; several at the same time."""
        gaussians = np.empty((len(sticks), self.gaussian_size))

        def fill(row: int) -> None:
            gaussian = self._get(*sticks[row])
            gaussians[row] = gaussian.packed
            if sticks[row] in self._kept:
                self._kept[sticks[row]] = gaussian._replace(packed=gaussians[row])  # not twice

        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            # first those that the others start from
            list(pool.map(self._one_against_the_rest, sorted({c for c, _ in sticks})))
            list(pool.map(fill, range(len(sticks))))
        return gaussians

    def _one_against_the_rest(self, category: int) -> Laplace:
        if category not in self._first:
            roles = self.roles(category, self.all_but(category))
            self._first[category] = self.sampler.approximate(roles, None)
        return self._first[category]

    def _get(self, category: int, later: int) -> Laplace:
        first = self._one_against_the_rest(category)
        if later == self.all_but(category):
            return first
        if (category, later) not in self._kept:
            if len(self._kept) >= self.capacity:
                self._kept.clear()
            roles = self.roles(category, later)
            self._kept[category, later] = self.sampler.approximate(roles, first.mode)
        return self._kept[category, later]
