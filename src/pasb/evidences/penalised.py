"""Evidences of models without normal approximations: penalised fits of the binary model itself.

All sticks of an order have as many parameters as those of any other order, so what the
penalised log-likelihood leaves out of the evidence nearly cancels when orders are compared.
These numbers only choose where a chain starts; where it goes is decided by exact moves.

Measured on square101 (101 categories, four experts, four layers): sorted by how well they are
told from all others, the categories start with the frame, and one walker that only climbs
then gains 248 in log-evidence within 500 fits; one that first explored gained 54 in 400.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import BinaryModel, PenalisedFits
from pasb.evidences.evidences import Evidences
from pasb.numerics.rows import Rows
from pasb.orders.lattice import Lattice
from pasb.sticks import Roles

LATTICE_LIMIT = 7  # categories; S 2^(S-1) fits, 448 for 7
MOST_ROWS = 1000  # more change little in which order is best, and fits cost in proportion
N_STARTS = 3  # of the fits of one category against all others
MANY_CATEGORIES = 20  # from here on one start must do: on square101 others gained little


class FittedEvidences(Evidences):
    """Penalised log-likelihoods, scaled up where only some of the rows are used.

    A fit costs so much that beyond the lattice one walker climbs, and no other one explores.

    Parameters
    ----------
    model : BinaryModel
        One with penalised fits.
    rows : Rows
    roles : Roles
        Those of rows that stop at a stick and that go on.
    n_jobs : int
        Fits that run at the same time.
    """

    n_walkers = 1
    hot_share = 0.0

    def __init__(self, model: BinaryModel, rows: Rows, roles: Roles, n_jobs: int = 1):
        few = rows.at_most(MOST_ROWS)
        super().__init__(replace(few, given_weights=None).counts, roles, n_jobs)
        self.most_evidences = max(200, 5 * self.n_categories)
        self.factor = rows.n_rows / few.n_rows
        self.n_starts = N_STARTS if self.n_categories < MANY_CATEGORIES else 1
        self._idle: SimpleQueue[PenalisedFits] = SimpleQueue()
        for _ in range(n_jobs):
            self._idle.put(model.penalised_fits(few))
        self._values: dict[tuple[int, int], float] = {}
        self._first: dict[int, NDArray[np.float64]] = {}
        self._lattice: Lattice | None = None
        self._lock = threading.Lock()

    def first_order(self) -> NDArray[np.int64]:
        """By separation: to peel takes many more fits."""
        return self.by_separation()

    def log_evidence(self, category: int, later: int) -> float:
        """Penalised log-likelihood of a category with the set `later` behind it."""
        stick = (category, later)
        if stick not in self._values:
            self._values[stick] = self._fit(category, later)
        return self._values[stick]

    def lattice(self) -> Lattice | None:
        """The evidences of all orders; None when there are too many."""
        n = self.n_categories
        if n > LATTICE_LIMIT:
            return None
        with self._lock:
            if self._lattice is None:
                sticks = [(c, r) for c in range(n) for r in range(1, 2**n) if not r >> c & 1]
                # first those that the others start from
                sticks.sort(key=lambda stick: stick[1] != self.all_but(stick[0]))
                with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
                    list(pool.map(self.sought, *zip(*sticks[:n], strict=True)))
                    list(pool.map(self.sought, *zip(*sticks[n:], strict=True)))
                self._lattice = Lattice.of(n, self.log_evidence)
            return self._lattice

    def _fit(self, category: int, later: int) -> float:
        fits = self._idle.get()
        try:
            if category not in self._first:
                rng = np.random.default_rng(category)
                roles = self.roles(category, self.all_but(category))
                tried = [fits.fit(roles, fits.random_start(rng)) for _ in range(self.n_starts)]
                value, self._first[category] = max(tried, key=lambda pair: pair[0])
                if later == self.all_but(category):
                    return self.factor * value
            value, _ = fits.fit(self.roles(category, later), self._first[category])
            return self.factor * value
        finally:
            self._idle.put(fits)
