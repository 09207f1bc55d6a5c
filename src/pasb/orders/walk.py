"""Search the lattice of orders by swaps of neighbours, where it is too large to fill.

When neighbours c and d trade places, only two sticks change, so a step needs at most two
evidences that were not needed before. Passes along the order, at falling temperature,
first explore and then climb. The landscape has many local maxima: on simulated tables of
15 and 26 categories four walkers ended up to 90 apart in log-evidence, all of them far
above where chains of plain swaps end (by 300 and more), and slower cooling helped more
than a hotter start.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

HOTTEST = 20.0  # in units of log-evidence
HOT_PASSES = 3  # passes with noise, for each category; then passes that only climb
MOST_EVIDENCES = 2000


def walk(
    start: NDArray[np.int64],
    log_evidence: Callable[[int, int], float],
    rng: np.random.Generator,
    most_evidences: int = MOST_EVIDENCES,
) -> NDArray[np.int64]:
    """Find an order of large evidence.

    Parameters
    ----------
    start : array of shape (n_categories,)
    log_evidence : callable
        ``log_evidence(c, R)``: log-evidence of category c with the set R (a bit mask) behind
        it; looked up again and again, so it should remember.
    rng : numpy.random.Generator
    most_evidences : int
        A bound on the look-ups of evidences not seen in this walk.

    Returns
    -------
    array of shape (n_categories,)
        The best order that was visited.
    """
    order = [int(c) for c in start]
    n = len(order)
    seen: set[tuple[int, int]] = set()
    total, best, best_order = 0.0, 0.0, list(order)
    n_hot = HOT_PASSES * n

    def evidence(c: int, behind: int) -> float:
        seen.add((c, behind))
        return log_evidence(c, behind) if behind else 0.0

    for number in range(n_hot + 4 * n):
        temperature = HOTTEST * max(0.0, 1 - number / n_hot) ** 2
        if number == n_hot:  # climb from the best order so far
            order, total = list(best_order), best
        changed = False
        for a in range(n - 1):
            if len(seen) > most_evidences:
                return np.array(best_order, dtype=np.int64)
            c, d = order[a], order[a + 1]
            behind = 0
            for s in order[a + 2 :]:
                behind |= 1 << s
            gain = evidence(d, behind | 1 << c) + evidence(c, behind)
            gain -= evidence(c, behind | 1 << d) + evidence(d, behind)
            threshold = temperature * np.log(rng.random()) if temperature > 0 else 0.0
            if gain > threshold + 1e-9:
                order[a], order[a + 1] = d, c
                total += gain
                changed = True
                if total > best:
                    best, best_order = total, list(order)
        if number >= n_hot and not changed:
            break
    return np.array(best_order, dtype=np.int64)
