"""Exact sums over all orders, from the evidences of single sticks.

Given the order the sticks are independent, and the problem at a stick depends only on
its category c and the set R of categories behind it. So the evidence of an order is a
product of binary evidences M(c, R), and with

    Z(R) = sum over c in R of M(c, R without c) Z(R without c),  Z(one category) = 1,

Z(all) sums over all orders, and orders can be drawn independently, first stick first.
Sets of categories are bit masks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp


class Lattice(NamedTuple):
    """Log-evidences of all sticks and of all sets of categories.

    Attributes
    ----------
    sticks : array of shape (n_categories, 2**n_categories)
        ``sticks[c, R]``: log M(c, R); minus infinity where c is in R or R is empty.
    sets : array of shape (2**n_categories,)
        ``sets[R]``: log Z(R).
    """

    sticks: NDArray[np.float64]
    sets: NDArray[np.float64]

    @classmethod
    def of(cls, n_categories: int, log_evidence: Callable[[int, int], float]) -> Lattice:
        """Fill the lattice; `log_evidence(c, R)` is called once for every stick."""
        sticks = np.full((n_categories, 2**n_categories), -np.inf)
        sets = np.full(2**n_categories, -np.inf)
        for members in range(1, 2**n_categories):
            inside = [c for c in range(n_categories) if members >> c & 1]
            if len(inside) == 1:
                sets[members] = 0.0
                continue
            for c in inside:
                rest = members & ~(1 << c)
                sticks[c, rest] = log_evidence(c, rest)
            # subsets have smaller masks, so they are filled already
            sets[members] = logsumexp(
                [sticks[c, members & ~(1 << c)] + sets[members & ~(1 << c)] for c in inside]
            )
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

    def draw(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Draw an order; `uniforms` has one number in (0, 1) for each stick."""
        n = len(self.sticks)
        left, order = len(self.sets) - 1, []
        for u in uniforms[: n - 1]:
            inside = [c for c in range(n) if left >> c & 1]
            rests = [left & ~(1 << c) for c in inside]
            logs = np.array(
                [
                    self.sticks[c, rest] + self.sets[rest]
                    for c, rest in zip(inside, rests, strict=True)
                ]
            )
            steps = np.cumsum(np.exp(logs - self.sets[left]))
            chosen = min(int(np.searchsorted(steps, u * steps[-1])), len(inside) - 1)
            order.append(inside[chosen])
            left = rests[chosen]
        order.append(left.bit_length() - 1)
        return np.array(order, dtype=np.int64)
