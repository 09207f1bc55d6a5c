"""Some of the sticks that there can be, and the orders that are made of them.

A stick is a category and the set of categories behind it. With few categories all sticks are
known, with many those that matter. Orders whose sticks are all known are paths: from the set of
all categories a stick leads to the set behind it, and so on down to one category. Sums over such
orders are as in `pasb.orders.lattice`, along known sticks only. Sets are bit masks.

Arguments of the compiled functions: ``graph`` is that of `KnownSticks.graph`; `log_weights` (known
sticks) are logs of their weights, `below` (sets) logs of the sums over orders of a set, and `r` the
number of a set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.numerics.compiled import kernel

BITS = 6  # of a key, for the category
MOST_CATEGORIES = 63 - BITS

# mypy: disable-error-code="call-arg"


class KnownSticks(NamedTuple):
    """Sticks, sorted by the set that they are split off from.

    Attributes
    ----------
    keys : integer array of shape (n_sticks,)
        Set and category of a stick in one number, rising; see `find_stick`.
    categories, behind : integer arrays of shape (n_sticks,)
    sets : integer array of shape (n_sets,)
        All sets of categories that are left before or after a stick, rising: subsets come first.
    lower : integer array of shape (n_sticks,)
        Where in `sets` the set behind a stick is.
    starts : integer array of shape (n_sets + 1,)
        The sticks that a set is split by are ``starts[r]`` to ``starts[r + 1]``.
    """

    keys: NDArray[np.int64]
    categories: NDArray[np.int64]
    behind: NDArray[np.int64]
    sets: NDArray[np.int64]
    lower: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, sticks: Iterable[tuple[int, int]]) -> KnownSticks:
        """From categories and the sets behind them; each counts once."""
        distinct = sorted({(r | 1 << c, c, r) for c, r in sticks})
        upper, categories, behind = np.array(distinct, dtype=np.int64).reshape(-1, 3).T
        sets = np.unique(np.concatenate([upper, behind]))
        lower, starts = np.searchsorted(sets, behind), np.searchsorted(upper, sets)
        starts = np.append(starts, len(upper))
        keys = (upper << BITS) + categories
        parts = (keys, categories, behind, sets, lower, starts)
        return cls(*(np.ascontiguousarray(part, dtype=np.int64) for part in parts))

    @classmethod
    def all_of(cls, n_categories: int) -> KnownSticks:
        """All sticks there can be."""
        everyone = range(n_categories)
        sets = range(1, 2**n_categories)
        return cls.of((c, r) for r in sets for c in everyone if not r >> c & 1)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Category and set behind it, of each stick."""
        return list(zip(self.categories.tolist(), self.behind.tolist(), strict=True))

    def most_probable(
        self, log_weights: NDArray[np.float64], n: int, order: NDArray[np.int64]
    ) -> KnownSticks:
        """Those of an order, and of all others that make orders the `n` most probable."""
        probability = self.probabilities(log_weights)
        ranking = np.argsort(-probability, kind="stable")[:n]
        pairs = self.pairs
        chosen = KnownSticks.of(
            [*sticks_of(order), *(pairs[k] for k in ranking if probability[k] > 0)]
        )
        useful, work = np.ones(len(chosen.keys), dtype=np.bool_), np.zeros((2, len(chosen.sets)))
        mark_useful(chosen.graph, useful, *work)
        return KnownSticks.of(pair for pair, u in zip(chosen.pairs, useful, strict=True) if u)

    def number(self, category: int, behind: int) -> int:
        """Which stick it is, or -1."""
        return int(find_stick(self.keys, category, behind))

    @property
    def graph(self) -> tuple[NDArray[np.int64], ...]:
        """What compiled code needs: keys, sets, and where sticks lead."""
        return self.keys, self.sets, self.lower, self.starts

    def probabilities(self, log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each stick, where orders have the product of its sticks' weights."""
        below = np.empty(len(self.sets))
        sum_known_orders(self.graph, log_weights, below)
        above = np.full(len(self.sets), -np.inf)
        above[-1] = 0.0
        out = np.zeros(len(self.keys))
        for r in range(len(self.sets) - 1, -1, -1):
            for k in range(self.starts[r], self.starts[r + 1]):
                here, lower = above[r] + log_weights[k], self.lower[k]
                above[lower] = np.logaddexp(above[lower], here)
                out[k] = np.exp(here + below[lower] - below[-1])
        return out

    def draw(
        self, log_weights: NDArray[np.float64], uniforms: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Draw an order; `uniforms` has one number in (0, 1) for each stick."""
        below = np.empty(len(self.sets))
        sum_known_orders(self.graph, log_weights, below)
        order: list[int] = []
        r = len(self.sets) - 1
        while self.starts[r] < self.starts[r + 1]:
            k = draw_known_stick(self.graph, log_weights, below, r, uniforms[len(order)])
            order.append(int(self.categories[k]))
            r = int(self.lower[k])
        order.append(int(self.sets[r]).bit_length() - 1)
        return np.array(order, dtype=np.int64)


def sticks_of(order: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The sticks of an order: categories, and the sets behind them."""
    behind, out = 0, []
    for c in order[::-1].tolist():
        if behind:
            out.append((c, behind))
        behind |= 1 << c
    return out[::-1]


@kernel
def find_stick(keys, category, behind):
    """Which of the known sticks has this category, and this set behind it; -1 if none does."""
    key = ((behind | (1 << category)) << BITS) + category
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1


@kernel
def sum_known_orders(graph, log_weights, below):
    """``below[r]`` becomes the log of the sum over the orders of a set, along known sticks."""
    _, sets, lower, starts = graph
    for r in range(sets.shape[0]):
        members = sets[r]
        if members & (members - 1) == 0:
            below[r] = 0.0  # one category
            continue
        top = -np.inf
        for k in range(starts[r], starts[r + 1]):
            top = max(top, log_weights[k] + below[lower[k]])
        below[r] = top
        if top == -np.inf:
            continue
        total = 0.0
        for k in range(starts[r], starts[r + 1]):
            total += math.exp(log_weights[k] + below[lower[k]] - top)
        below[r] = top + math.log(total)


@kernel
def draw_known_stick(graph, log_weights, below, r, u):
    """By which stick a set is split, drawn with the uniform variate `u`."""
    _, _, lower, starts = graph
    chosen, total = -1, 0.0
    for k in range(starts[r], starts[r + 1]):
        share = math.exp(log_weights[k] + below[lower[k]] - below[r])
        if share > 0.0:
            chosen = k
            total += share
            if u < total:
                break
    return chosen


@kernel
def mark_useful(graph, included, below, above):
    """Exclude sticks that are on no complete order of included ones; how many are left.

    `below` and `above` are work space, one number a set.
    """
    _, sets, lower, starts = graph
    n_sets = sets.shape[0]
    for r in range(n_sets):
        members = sets[r]
        below[r] = 1.0 if members & (members - 1) == 0 else 0.0
        for k in range(starts[r], starts[r + 1]):
            if included[k] and below[lower[k]] > 0.0:
                below[r] = 1.0
        above[r] = 0.0
    above[n_sets - 1] = 1.0
    left = 0
    for r in range(n_sets - 1, -1, -1):
        for k in range(starts[r], starts[r + 1]):
            included[k] = included[k] and above[r] > 0.0 and below[lower[k]] > 0.0
            if included[k]:
                above[lower[k]] = 1.0
                left += 1
    return left
