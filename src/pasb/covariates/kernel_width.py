"""The width of a kernel by cross validation, at a bounded cost.

As in the paper, the width is chosen from a grid by 3-fold cross validation. All 21 widths would
cost 63 fits to all rows. Instead every third width is tried, then the neighbours of the best
one, with short chains on at most `MOST_ROWS` rows and `MOST_BASES` landmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GRID = tuple(2.0**k for k in range(-10, 11))
MOST_ROWS = 1500
MOST_BASES = 1000
SWEEPS = 25  # of warm-up, and as many draws
EVERY = 3  # widths, of those that are tried first

# Takes a width, training rows and test rows; gives the probabilities of the test rows.
Fit = Callable[[float, NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]


class Score(NamedTuple):
    """Result of cross validation for a width; the smallest error wins, then the smallest loss."""

    error: float
    log_loss: float
    width: float


def folds_of(
    categories: NDArray[np.int64], rows: NDArray[np.int64], n_folds: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Training and test rows of each fold, every category spread evenly over the folds.

    At most `MOST_ROWS` of the rows are used. Folds with training rows of one category only are
    left out.
    """
    rng = np.random.default_rng([seed, n_folds])
    rows = rng.permutation(rows)
    rows = rows[np.argsort(categories[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.int64)]
    fold = np.arange(len(rows)) % n_folds
    splits = [(rows[fold != k], rows[fold == k]) for k in range(n_folds)]
    return [
        (train, test)
        for train, test in splits
        if len(test) and len(np.unique(categories[train])) > 1
    ]


def n_tried(n_widths: int) -> int:
    """How many of so many widths are tried, at most.

    Examples
    --------
    >>> n_tried(21), n_tried(2)
    (12, 2)
    """
    first = {*range(0, n_widths, EVERY), n_widths - 1}
    return min(n_widths, len(first) + 2 * (EVERY - 1))


def cross_validate(
    fit: Fit,
    categories: NDArray[np.int64],
    weights: NDArray[np.float64],
    widths: Sequence[float],
    n_folds: int,
    seed: int,
    n_jobs: int,
) -> list[Score]:
    """Score widths, from the narrowest to the widest; empty when there are too few rows.

    Parameters
    ----------
    fit : callable
    categories : array of shape (n_rows,)
    weights : array of shape (n_rows,)
    widths : sequence of float
    n_folds, seed, n_jobs : int
    """
    folds = folds_of(categories, np.flatnonzero(weights > 0), n_folds, seed)
    widths = sorted(set(widths))
    if not folds:
        return []
    scores: dict[int, Score] = {}

    def score(k: int) -> Score:
        wrong = loss = total = 0.0
        for train, test in folds:
            proba = fit(widths[k], train, test)
            own = proba[np.arange(len(test)), categories[test]]
            wrong += float(weights[test] @ (proba.argmax(axis=1) != categories[test]))
            loss -= float(weights[test] @ np.log(np.maximum(own, 1e-300)))
            total += float(weights[test].sum())
        return Score(wrong / total, loss / total, widths[k])

    with ThreadPoolExecutor(n_jobs, thread_name_prefix="pasb-cv") as pool:

        def add(wanted: set[int]) -> None:
            new = sorted(wanted - scores.keys())
            scores.update(zip(new, pool.map(score, new), strict=True))

        add({*range(0, len(widths), EVERY), len(widths) - 1})
        best = min(scores, key=lambda k: scores[k])
        add(set(range(max(0, best - EVERY + 1), min(len(widths), best + EVERY))))
    return [scores[k] for k in sorted(scores)]
