"""Search the lattice of orders by swaps of neighbours, where it is too large to fill.

When neighbours c and d trade places, only two sticks change, so a step needs at most two
evidences that were not needed before. Passes along the order, at falling temperature,
first explore and then climb. The landscape has many local maxima: on simulated tables of
15 and 26 categories four walkers ended up to 90 apart in log-evidence, all of them far
above where chains of plain swaps end (by 300 and more), and slower cooling helped more
than a hotter start. Where evidences are expensive, passes that only climb use them best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

HOTTEST = 20.0  # in units of log-evidence
HOT_PASSES = 3  # passes with noise, for each category; then passes that only climb
MOST_EVIDENCES = 2000
WARM, PASSES = 2.0, 20  # temperature of a walk that only looks around; passes, a category
HOT_SHARE = 0.75  # of the evidences, to be spent with noise at most


def walk(
    start: NDArray[np.int64],
    log_evidence: Callable[[int, int], float],
    rng: np.random.Generator,
    most_evidences: int = MOST_EVIDENCES,
    hot_share: float = HOT_SHARE,
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
    hot_share : float
        The part of them after which it only climbs.

    Returns
    -------
    array of shape (n_categories,)
        The best order that was visited.
    """
    order = [int(c) for c in start]
    n = len(order)
    seen: set[tuple[int, int]] = set()
    total, best, best_order = 0.0, 0.0, list(order)
    n_hot, hot_evidences = HOT_PASSES * n, hot_share * most_evidences
    climbs = False

    def evidence(c: int, behind: int) -> float:
        seen.add((c, behind))
        return log_evidence(c, behind) if behind else 0.0

    for number in range(n_hot + 4 * n):
        cooled = 1.0
        if not climbs and hot_evidences > 0:
            cooled = max(number / n_hot, len(seen) / hot_evidences)
        temperature = HOTTEST * max(0.0, 1 - cooled) ** 2
        if not climbs and temperature == 0.0:
            climbs, order, total = True, list(best_order), best  # from the best order so far
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
        if climbs and not changed:
            break
    return np.array(best_order, dtype=np.int64)


def wander(
    start: NDArray[np.int64],
    log_evidence: Callable[[int, int], float],
    rng: np.random.Generator,
    most_evidences: int = MOST_EVIDENCES // 2,
) -> None:
    """Look at orders that are plausible beside one, by a walk of swaps at a fixed temperature.

    What it finds is what `log_evidence` remembers. It ends with so many look-ups of evidences
    not seen in this walk, at the latest.
    """
    order = [int(c) for c in start]
    seen: set[tuple[int, int]] = set()
    for _ in range(PASSES * len(order)):
        for a in range(len(order) - 1):
            c, d = order[a], order[a + 1]
            behind = 0
            for s in order[a + 2 :]:
                behind |= 1 << s
            new = ((d, behind | 1 << c), (c, behind))
            old = ((c, behind | 1 << d), (d, behind))
            gain = 0.0
            for sign, sticks in ((1.0, new), (-1.0, old)):
                for stick in sticks:
                    if stick[1]:
                        seen.add(stick)
                        gain += sign * log_evidence(*stick)
            if gain > WARM * np.log(rng.random()):
                order[a], order[a + 1] = d, c
            if len(seen) > most_evidences:
                return
