"""Sticks by what they mean: a class against the set of classes behind it.

Two orders may share sticks, and the same class may sit on sticks of different meaning. Given the
order, sticks are independent, and the posterior of a stick depends only on its class and the set
behind it. So draws that share a stick can be put together whatever the rest of their orders,
and those that do not must not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.posterior.fitted import Fitted
from pasb.sticks import Direction

LEAST_SHARE = 0.01  # of the draws of a direction, that a stick is kept for
MOST_SPLITS = 8  # times the number of classes


class Split(NamedTuple):
    """A class, the classes behind it, and the direction in which its stick is broken."""

    category: int
    behind: tuple[int, ...]
    direction: Direction

    def label(self, fitted: Fitted) -> str:
        """As in ``setosa | versicolor, virginica``; with its direction where there are two."""
        text = f"{fitted.classes[self.category]} | {self.against(fitted)}"
        return text if len(fitted.directions) == 1 else f"{self.direction}: {text}"

    def against(self, fitted: Fitted) -> str:
        """The classes behind it, as in ``versicolor, virginica``."""
        return ", ".join(str(fitted.classes[c]) for c in self.behind)


class Splits(NamedTuple):
    """The sticks of all draws.

    Attributes
    ----------
    each : list of Split
        The most frequent first.
    share : array of shape (n_splits,)
        Posterior probability of each: the share of draws of its direction that have it.
    number : integer array of shape (n_chains, n_draws, n_classes - 1)
        Which of them a draw has on each stick.
    """

    each: list[Split]
    share: NDArray[np.float64]
    number: NDArray[np.int64]

    @classmethod
    def of(cls, fitted: Fitted) -> Splits:
        """Collect the sticks of a fitted model."""
        order, directions = fitted.draws.order, np.array(fitted.draws.directions)
        n_chains, n_draws, n = order.shape
        flat = order.reshape(-1, n)
        reverse = np.repeat(directions == "reverse", n_draws)
        behind = np.ones((len(flat), n), dtype=np.bool_)
        rows = []
        for stick in range(n - 1):
            own = flat[:, stick]
            behind[np.arange(len(flat)), own] = False
            code = np.column_stack([reverse, own // 256, own % 256]).astype(np.uint8)
            rows.append(np.column_stack([code, np.packbits(behind, axis=1)]))
        table = np.stack(rows, axis=1).reshape(len(flat) * (n - 1), -1)
        distinct, number, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
        ranking = np.argsort(-counts, kind="stable")
        place = np.empty(len(ranking), dtype=np.int64)
        place[ranking] = np.arange(len(ranking))
        each, share = [], np.empty(len(ranking))
        totals = {True: max(int(reverse.sum()), 1), False: max(int((~reverse).sum()), 1)}
        for k, code in enumerate(distinct[ranking]):
            members = np.flatnonzero(np.unpackbits(code[3:])[:n])
            direction: Direction = "reverse" if code[0] else "forward"
            each.append(
                Split(int(code[1]) * 256 + int(code[2]), tuple(members.tolist()), direction)
            )
            share[k] = counts[ranking[k]] / totals[bool(code[0])]
        return cls(each, share, place[number].reshape(n_chains, n_draws, n - 1))

    def kept(self, n_classes: int) -> int:
        """How many of the most frequent ones are worth an array of their own."""
        enough = int((self.share >= LEAST_SHARE).sum())
        return max(1, min(enough, MOST_SPLITS * n_classes))

    def of_order(self, order: NDArray[np.int64], direction: Direction) -> list[int]:
        """Numbers of the sticks of an order that was drawn."""
        found = []
        for stick, category in enumerate(order[:-1]):
            behind = tuple(sorted(order[stick + 1 :].tolist()))
            found.append(self.each.index(Split(int(category), behind, direction)))
        return found

    def draws_with(self, number: int) -> NDArray[np.bool_]:
        """Which draws have a split, (chain, draw)."""
        return (self.number == number).any(axis=2)
