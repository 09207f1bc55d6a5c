"""Normal approximations of sticks and their evidences, kept for as long as they are useful."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import packed_size
from pasb.binary.binary_model import Approximable
from pasb.binary.laplace import Laplace
from pasb.binary.scout import Scout
from pasb.evidences.evidences import Evidences
from pasb.evidences.known import TRUST, Known, explored
from pasb.orders.known_sticks import MOST_CATEGORIES, KnownSticks, sticks_of
from pasb.orders.lattice import Lattice
from pasb.orders.walk import wander
from pasb.sticks import Roles

LATTICE_LIMIT = 8  # categories; S 2^(S-1) fits, 1016 for 8
MEMORY = 2**27  # bytes of Cholesky factors
FEW_ORDERS = 8  # whose sticks must fit in memory
MOST_KNOWN = 1024  # sticks, where not all are


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
        self._known: Known | None = None
        self._row_of: dict[tuple[int, int], int] = {}  # in all of them, once they are known
        self._lock = threading.Lock()

    def pseudo_priors(self) -> NDArray[np.float64]:
        """Packed normal approximations of all categories on the first stick, one a row."""
        return self.gaussians(tuple((s, self.all_but(s)) for s in range(self.n_categories)))

    def gaussians(self, sticks: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
        """Packed normal approximations of some sticks, one a row.

        A stick is a category and the set of the categories behind it, as a bit mask.
        """
        if all(stick in self._row_of for stick in sticks):
            assert self._known is not None
            return self._known.gaussians[[self._row_of[stick] for stick in sticks]]
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
            found = self._get(category, later)
            if later == self.all_but(category):  # one more climb, as the others have had
                found = self.sampler.approximate(self.roles(*stick), found.mode)
            value = self._evidences[stick] = found.log_evidence
        return value

    def known(self, fixed_order: NDArray[np.int64] | None) -> Known | None:
        """What is known of the sticks of a fixed order, or of those that orders are made of.

        With few categories these are all there can be, with more those that a search finds
        plausible. None where there are too many categories, or they would need too much memory.
        """
        n = self.n_categories
        if fixed_order is None and (n > MOST_CATEGORIES or self.capacity < FEW_ORDERS * n):
            return None
        with self._lock:
            if self._known is None:
                self._known = self._explore(fixed_order)
            return self._known

    @property
    def knows_all(self) -> bool:
        """Whether all sticks there can be are few enough to be known."""
        n = self.n_categories
        return n <= LATTICE_LIMIT and n * 2 ** (n - 1) <= self.capacity

    def _explore(self, fixed_order: NDArray[np.int64] | None) -> Known:
        if fixed_order is not None:
            sticks = None
            pairs = sticks_of(fixed_order)
        else:
            sticks = self.plausible()
            pairs = sticks.pairs
        gaussians = self._make(pairs)
        known = explored(
            sticks, pairs, gaussians, self._send_scout, self.n_jobs, self.sampler.symmetric
        )
        self._row_of = {pair: k for k, pair in enumerate(pairs)}
        return known

    def plausible(self) -> KnownSticks:
        """All sticks there can be, if these are few; else those of plausible orders."""
        return KnownSticks.all_of(self.n_categories) if self.knows_all else self._plausible()

    def _plausible(self) -> KnownSticks:
        """The sticks of plausible orders, from a search and a walk that continues from its end."""
        best = self.searched_order(0)
        wander(best, self.sought, np.random.default_rng(0))
        found = KnownSticks.of(self._evidences)
        evidences = np.array([self._evidences[pair] for pair in found.pairs])
        return found.most_probable(TRUST * evidences, min(MOST_KNOWN, self.capacity), best)

    def _send_scout(self, category: int, later: int, first: NDArray[np.float64]) -> Scout:
        self.check_time()
        return self.sampler.explore(self.roles(category, later), first)

    def lattice(self) -> Lattice | None:
        """The evidences of all orders; None when there are too many, or they are too large."""
        if not self.knows_all:
            return None
        with self._lock:
            if self._lattice is None:
                if self._known is None:
                    self._known = self._explore(None)
                sticks, evidences = self._known.sticks, self._known.evidences
                assert sticks is not None
                self._lattice = Lattice.of(
                    self.n_categories, lambda c, later: float(evidences[sticks.number(c, later)])
                )
            return self._lattice

    def _make(self, sticks: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Packed normal approximations of some sticks, one a row; several at the same time."""
        gaussians = np.empty((len(sticks), self.gaussian_size))

        def fill(row: int) -> None:
            self.check_time()
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
        kept = self._kept.get((category, later))  # another thread may clear them
        if kept is None:
            if len(self._kept) >= self.capacity:
                self._kept.clear()
            kept = self.sampler.approximate(self.roles(category, later), first.mode)
            self._kept[category, later] = kept
        return kept
