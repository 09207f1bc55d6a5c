"""How well the data speak for an order, stick by stick.

A stick's problem depends only on its category and the set of categories behind it, so
evidences are kept by that pair. Few categories: all of them, as a lattice. Many: those that a
search needs. Every evidence is found from the same starting point whoever asks for it, so
chains that share a store do not depend on each other.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from pasb.errors import TimeBudgetError
from pasb.orders.lattice import Lattice
from pasb.orders.walk import HOT_SHARE, MOST_EVIDENCES, walk
from pasb.sticks import ABSENT, Roles

PEELED_EVIDENCES = 6000  # at most, roughly, for a first order


def _never() -> bool:
    return False


class Evidences(ABC):
    """A store of log-evidences, shared by the chains of a run.

    Parameters
    ----------
    counts : array of shape (n_categories,)
        Rows of each category, weighted.
    roles : Roles
        Those of rows that stop at a stick and that go on.
    n_jobs : int
        Walkers that search at the same time.

    Attributes
    ----------
    time_is_up : callable
        Whether a search shall end, with a `TimeBudgetError`.
    """

    n_walkers = 4
    most_evidences = MOST_EVIDENCES  # of one walker
    hot_share = HOT_SHARE  # of them, spent with noise
    factor = 1.0  # log-evidences are this many times those of the counted rows

    def __init__(self, counts: NDArray[np.float64], roles: Roles, n_jobs: int = 1):
        self.counts = counts
        self.n_jobs = n_jobs
        self.time_is_up: Callable[[], bool] = _never
        self.n_categories = len(counts)
        self._roles = roles._replace(before=ABSENT)  # nothing is imputed here
        self.everyone = 2**self.n_categories - 1
        self._searched: NDArray[np.int64] | None = None
        self._search = threading.Lock()

    @abstractmethod
    def log_evidence(self, category: int, later: int) -> float:
        """Log-evidence of a category with the set `later`, a bit mask, behind it."""

    @abstractmethod
    def lattice(self) -> Lattice | None:
        """The evidences of all orders; None when there are too many, or they are too large."""

    def check_time(self) -> None:
        """End a search whose time is up."""
        if self.time_is_up():
            raise TimeBudgetError("the time was spent while orders were searched")

    def sought(self, category: int, later: int) -> float:
        """`log_evidence` for a search, which ends when its time is up."""
        self.check_time()
        return self.log_evidence(category, later)

    def searched_order(self, seed: int) -> NDArray[np.int64]:
        """The best order that a few walkers on the lattice find; the same for all chains."""
        with self._search:
            if self._searched is None:
                start = self.first_order()

                def search(walker: int) -> NDArray[np.int64]:
                    rng = np.random.default_rng([seed, walker])
                    most = self.most_evidences
                    return walk(start, self.sought, rng, most, self.hot_share)

                with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
                    found = list(pool.map(search, range(self.n_walkers)))
                self._searched = max(found, key=self.evidence_of_order)
            return self._searched.copy()

    def evidence_of_order(self, order: NDArray[np.int64]) -> float:
        """Log-evidence of a whole order."""
        return sum(
            self.log_evidence(int(c), members(order[j + 1 :])) for j, c in enumerate(order[:-1])
        )

    def first_order(self) -> NDArray[np.int64]:
        """Where walkers begin."""
        return self.peeled()

    def peeled(self) -> NDArray[np.int64]:
        """Take off one category after the other, each time the one that costs least a row.

        What a category costs on a stick is minus its log-evidence against those that are left,
        over its rows. So a large category that stands in the way of all others goes
        first, even if it cannot be told from them. With very many categories only the best
        by their last figures are looked at again.
        """
        left = list(range(self.n_categories))
        width = max(2, PEELED_EVIDENCES // self.n_categories)
        cost = np.zeros(self.n_categories)
        order: list[int] = []
        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            while len(left) > 1:
                everyone = members(np.array(left))
                some = sorted(left, key=lambda c: cost[c])[: width if order else None]
                sets = [everyone & ~(1 << c) for c in some]
                for c, evidence in zip(some, pool.map(self.sought, some, sets), strict=True):
                    cost[c] = -evidence / max(self.counts[c], 1e-12)
                chosen = min(some, key=lambda c: cost[c])
                order.append(chosen)
                left.remove(chosen)
        return np.array(order + left, dtype=np.int64)

    def by_separation(self) -> NDArray[np.int64]:
        """Categories by how well they are told from all others, the clearest first.

        The gain in log-evidence over knowing only their share of the rows, as a part of what
        there is to gain: per row a rare category could gain more than a frequent one.
        """
        counts = self.counts
        share = np.clip(counts / counts.sum(), 1e-12, 1 - 1e-12)
        nothing = counts * np.log(share) + (counts.sum() - counts) * np.log1p(-share)
        nothing *= self.factor
        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            everyone = range(len(counts))
            evidence = list(pool.map(self.sought, everyone, map(self.all_but, everyone)))
        return np.argsort(-(1 - np.array(evidence) / nothing), kind="stable")

    def all_but(self, category: int) -> int:
        """The set of all other categories."""
        return self.everyone & ~(1 << category)

    def roles(self, category: int, later: int) -> NDArray[np.int8]:
        """The role of each category on a stick."""
        behind = np.array([s for s in range(self.n_categories) if later >> s & 1], dtype=np.int64)
        return self._roles.against(category, behind, self.n_categories)


def members(categories: NDArray[np.int64]) -> int:
    """The bit mask of a set of categories."""
    mask = 0
    for s in categories:
        mask |= 1 << int(s)
    return mask
