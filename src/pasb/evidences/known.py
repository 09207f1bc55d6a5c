"""What is known of sticks before chains begin: approximations, and what it takes to move by them.

Laplace's approximations come first (`pasb.evidences.approximations`). By their evidences, which are
trusted by half, some sticks matter; of these, and of all sticks of a fixed order, a short chain
finds out how good the approximation is, and a better one where it is poor (`pasb.binary.scout`).
The evidences of the sticks that it looked at are better too. By how much they have changed, and how
differently, tells what the other evidences may be. So more sticks matter, and scouts go out again.
In the end the evidences say with which probability a stick takes part when the whole order is drawn
(`pasb.moves.whole_order`); one that no scout looked at gets the benefit of the doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.scout import Scout, mirrored
from pasb.orders.known_sticks import KnownSticks

TRUST = 0.5  # the power of Laplace's evidences
ROUNDS = ((TRUST, 0.02), (1.0, 0.002), (1.0, 0.002))  # power of evidences, and what matters
MOST_SCOUTS = 64  # of a round
HOPE = 1.5  # standard deviations by which an evidence may be larger than expected
LEAST_SHARE, GENEROUS = 0.003, 3.0  # of sticks in whole orders: this times the root of probability
MOST = 0.75  # sticks that no scout looked at get the leaps that are enough for so many others


class Known(NamedTuple):
    """Sticks and their approximations, one a row.

    Attributes
    ----------
    sticks : KnownSticks or None
        None for the sticks of a fixed order, first to last.
    gaussians : array
        Packed approximations, see `pasb.binary.bent_normal`.
    steps, leaps : integer arrays
        Of trajectories and of bridges; steps are 0 where nobody knows yet.
    shares : array
        Probabilities with which sticks take part when the whole order is drawn.
    """

    sticks: KnownSticks | None
    gaussians: NDArray[np.float64]
    steps: NDArray[np.int64]
    leaps: NDArray[np.int64]
    shares: NDArray[np.float64]

    @property
    def evidences(self) -> NDArray[np.float64]:
        """Log-evidences of the sticks."""
        return self.gaussians[:, -1]


Find = Callable[[int, int, NDArray[np.float64]], Scout]


def explored(
    sticks: KnownSticks | None,
    pairs: list[tuple[int, int]],
    gaussians: NDArray[np.float64],
    find: Find,
    n_jobs: int,
    symmetric: bool = True,
) -> Known:
    """Send a scout to the sticks that matter.

    Parameters
    ----------
    sticks : KnownSticks or None
        None for the sticks of a fixed order, which all matter.
    pairs : list
        Category and set behind it, for each row of `gaussians`.
    gaussians : array
        Laplace's approximations; improved in place.
    find : callable
        Sends a scout to a stick: ``find(category, behind, gaussian)``.
    n_jobs : int
        Scouts at the same time.
    symmetric : bool
        Whether the sticks of two last categories are mirror images of each other.
    """
    n = len(pairs)
    steps, leaps, shares = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.ones(n)
    known = Known(sticks, gaussians, steps, leaps, shares)
    if sticks is None:
        _send(known, pairs, list(range(n)), find, n_jobs, symmetric)
        return known
    before, seen, spread = known.evidences.copy(), np.zeros(n, dtype=np.bool_), 0.0
    for trust, matters in ROUNDS:
        probability = sticks.probabilities(trust * known.evidences + spread * ~seen)
        probability[seen] = 0.0
        ranking = np.argsort(-probability, kind="stable")[:MOST_SCOUTS]
        chosen = ranking[probability[ranking] >= matters]
        if not chosen.size:
            break
        _send(known, pairs, chosen.tolist(), find, n_jobs, symmetric)
        seen[chosen] = True
        change = known.evidences[seen] - before[seen]
        gaussians[~seen, -1] = before[~seen] + np.mean(change)
        spread = HOPE * float(np.std(change))
    leaps[~seen] = int(np.quantile(leaps[seen], MOST, method="higher"))
    probability = sticks.probabilities(known.evidences + spread * ~seen)
    shares[:] = np.clip(GENEROUS * np.sqrt(probability), LEAST_SHARE, 1.0)
    return known


def _send(
    known: Known,
    pairs: list[tuple[int, int]],
    chosen: list[int],
    find: Find,
    n_jobs: int,
    symmetric: bool,
) -> None:
    """Send scouts, one to each pair of mirror images, and take over what they find."""
    rows = {pairs[k]: k for k in chosen} if symmetric else {}
    images = {k: rows.get(_image(pairs[k]), k) for k in chosen}
    firsts = [k for k in chosen if images[k] >= k]

    def send(k: int) -> Scout:
        return find(*pairs[k], known.gaussians[k])

    with ThreadPoolExecutor(n_jobs, thread_name_prefix="pasb") as pool:
        found = list(pool.map(send, firsts))
    for k, one in zip(firsts, found, strict=True):
        _take(known, k, one)
        if images[k] != k:
            _take(known, images[k], mirrored(one))


def _take(known: Known, k: int, found: Scout) -> None:
    known.gaussians[k], known.steps[k], known.leaps[k] = found


def _image(pair: tuple[int, int]) -> tuple[int, int]:
    """The stick that is the same but for the labels; only a last one has one, others are theirs."""
    category, behind = pair
    if behind & (behind - 1):
        return pair
    return behind.bit_length() - 1, 1 << category
