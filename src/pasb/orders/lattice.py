"""Exact sums over all orders, from the evidences of single sticks.

Given the order the sticks are independent, and the problem at a stick depends only on
its category c and the set R of categories behind it. So the evidence of an order is a
product of binary evidences M(c, R), and with

    Z(R) = sum over c in R of M(c, R without c) Z(R without c),  Z(one category) = 1,

Z(all) sums over all orders, and orders can be drawn independently, first stick first. With
the largest term in place of the sum it gives the best order; the same sums from the other
end, over what stands before R, give the probability that c sits before d. Sets of categories
are bit masks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import nlargest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel


class Lattice(NamedTuple):
    """Log-evidences of all sticks and of all sets of categories.

    Attributes
    ----------
    sticks : array of shape (n_categories, 2**n_categories)
        ``sticks[c, R]``: log M(c, R); minus infinity where c is in R or R is empty.
    sets : array of shape (2**n_categories,)
        ``sets[R]``: log Z(R).

    Examples
    --------
    Three categories; those behind a stick hardly matter, but 2 is best split off first:

    >>> lattice = Lattice.of(3, lambda c, later: 5.0 if (c, later) == (2, 0b011) else 0.0)
    >>> lattice.best_orders(2)
    array([[2, 0, 1],
           [2, 1, 0]])
    >>> lattice.before().round(2)
    array([[0.  , 0.5 , 0.01],
           [0.5 , 0.  , 0.01],
           [0.99, 0.99, 0.  ]])
    """

    sticks: NDArray[np.float64]
    sets: NDArray[np.float64]

    @classmethod
    def of(cls, n_categories: int, log_evidence: Callable[[int, int], float]) -> Lattice:
        """Fill the lattice; `log_evidence(c, R)` is called once for every stick."""
        sticks = np.full((n_categories, 2**n_categories), -np.inf)
        sets = np.empty(2**n_categories)
        for members in range(1, 2**n_categories):
            inside = [c for c in range(n_categories) if members >> c & 1]
            for c in inside if len(inside) > 1 else ():
                rest = members & ~(1 << c)
                sticks[c, rest] = log_evidence(c, rest)
        sum_over_orders(sticks, sets)
        return cls(sticks, sets)

    @property
    def log_evidence(self) -> float:
        """Log of the sum over all orders; divide by their number for a uniform prior."""
        return float(self.sets[-1])

    def log_probability(self, order: NDArray[np.int64]) -> float:
        """Log of the posterior probability of an order."""
        left, total = len(self.sets) - 1, 0.0
        for c in order[:-1]:
            left &= ~(1 << int(c))
            total += self.sticks[c, left]
        return total - self.log_evidence

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return len(self.sticks)

    def best_order(self) -> NDArray[np.int64]:
        """The most probable order."""
        return self.best_orders(1)[0]

    def best_orders(self, n: int, *, tied: bool = False) -> NDArray[np.int64]:
        """The `n` most probable orders, the best first; fewer if there are not as many.

        With `tied`, the last two categories are interchangeable, and of the two orders that
        differ only in them the one that ends with the larger category is listed.
        """
        best: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in self.sets]
        for members in range(1, len(self.sets)):
            inside = self._inside(members)
            if len(inside) == 1:
                best[members] = [(0.0, (inside[0],))]
                continue
            first = inside[:1] if tied and len(inside) == 2 else inside
            longer = (
                (self.sticks[c, rest] + value, (c, *order))
                for c in first
                for rest in [members & ~(1 << c)]
                for value, order in best[rest]
            )
            # of equally good ones the first in the dictionary
            best[members] = nlargest(n, longer, key=lambda pair: (pair[0], [-c for c in pair[1]]))
        return np.array([order for _, order in best[-1]], dtype=np.int64)

    def before(self) -> NDArray[np.float64]:
        """Posterior probability that the row's category sits before the column's."""
        n, n_sets = self.n_categories, len(self.sets)
        # log of the sum over everything that may stand before a set
        ahead = np.full(n_sets, -np.inf)
        ahead[-1] = 0.0
        first = np.zeros((n, n_sets))  # P(the set is left at some point, and c leads it)
        for members in range(n_sets - 1, 0, -1):
            inside = self._inside(members)
            if len(inside) == 1:
                continue
            for c in inside:
                rest = members & ~(1 << c)
                here = ahead[members] + self.sticks[c, rest]
                ahead[rest] = np.logaddexp(ahead[rest], here)
                first[c, members] = np.exp(here + self.sets[rest] - self.log_evidence)
        holds = (np.arange(n_sets)[:, None] >> np.arange(n) & 1).astype(np.float64)
        before = first @ holds
        np.fill_diagonal(before, 0.0)
        return before / np.maximum(before + before.T, np.finfo(float).tiny)  # rounding

    def with_ties(self) -> Lattice:
        """The lattice of a symmetric model: on the last stick the two categories are equal."""
        n = self.n_categories
        sticks = self.sticks.copy()
        for c in range(n):
            for d in range(c):
                both = 0.5 * (sticks[c, 1 << d] + sticks[d, 1 << c])
                sticks[c, 1 << d] = sticks[d, 1 << c] = both
        return Lattice.of(n, lambda c, rest: float(sticks[c, rest]))

    def _inside(self, members: int) -> list[int]:
        return [c for c in range(self.n_categories) if members >> c & 1]

    def draw(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw an order; `uniforms` has one number in (0, 1) for each stick."""
        left, order = len(self.sets) - 1, []
        for u in uniforms[: self.n_categories - 1]:
            chosen = draw_first(self.sticks, self.sets, left, u)
            order.append(chosen)
            left &= ~(1 << chosen)
        order.append(left.bit_length() - 1)
        return np.array(order, dtype=np.int64)


@kernel
def sum_over_orders(sticks, sets):
    """Fill ``sets[R]``, log Z(R), from ``sticks[c, R]``, log M(c, R)."""
    n_categories = sticks.shape[0]
    sets[0] = -np.inf
    for members in range(1, sets.shape[0]):  # subsets have smaller masks: they are filled already
        if members & (members - 1) == 0:
            sets[members] = 0.0  # one category
            continue
        top = -np.inf
        for c in range(n_categories):
            if members >> c & 1:
                rest = members & ~(1 << c)
                top = max(top, sticks[c, rest] + sets[rest])
        sets[members] = top
        if top == -np.inf:
            continue
        total = 0.0
        for c in range(n_categories):
            if members >> c & 1:
                rest = members & ~(1 << c)
                total += math.exp(sticks[c, rest] + sets[rest] - top)
        sets[members] = top + math.log(total)


@kernel
def draw_first(sticks, sets, members, u):
    """Which category leads a set, drawn with the uniform variate `u`."""
    chosen, total = -1, 0.0
    for c in range(sticks.shape[0]):
        if members >> c & 1:
            rest = members & ~(1 << c)
            share = math.exp(sticks[c, rest] + sets[rest] - sets[members])
            if share > 0.0:
                chosen = c
                total += share
                if u < total:
                    break
    return chosen
