"""Step size and metric of trajectories, adapted in the warm-up and then kept.

The step follows the acceptance by dual averaging (Nesterov 2009; Hoffman and Gelman 2014), the
diagonal metric is the variance of the positions in windows of growing length, as in Stan. What is
learned of a stick is one array, part of the chain's state and of its checkpoints:

    log of the step, its average, mean error, centre, positions since a restart and in the window,
    then for every coordinate the inverse mass, and mean and sum of squares in the window.

A coordinate with an inverse mass of zero does not move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TARGET = 0.8  # acceptance
FIRST_STEP, FIRST_INVERSE_MASS = 0.05, 0.1
EARLY, LATE = 0.15, 0.1  # shares of the warm-up in which the metric stays as it is
FIRST_WINDOW = 0.1  # of the warm-up; each window is twice as long as the one before
SHRINKAGE, LITTLE = 5.0, 1e-3  # of the variances of short windows, towards a small one

LOG_STEP, MEAN_LOG_STEP, ERROR, CENTRE, SINCE, IN_WINDOW, HEAD = range(7)


def first_record(free: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What is known before the first trajectory; `free` says which coordinates may move."""
    record = np.zeros(HEAD + 3 * len(free))
    record[[LOG_STEP, MEAN_LOG_STEP]] = np.log(FIRST_STEP)
    record[CENTRE] = np.log(10 * FIRST_STEP)
    record[HEAD : HEAD + len(free)] = np.where(free, FIRST_INVERSE_MASS, 0.0)
    return record


def metric_and_step(record: NDArray[np.float64], adapts: bool) -> tuple[NDArray, float]:
    """Inverse masses, and the step; after the warm-up the average one."""
    n = (len(record) - HEAD) // 3
    step = np.exp(record[LOG_STEP if adapts else MEAN_LOG_STEP])
    return record[HEAD : HEAD + n], float(step)


def window_ends(n_warmup: int) -> frozenset[int]:
    """The sweeps of the warm-up after which the metric is learned again."""
    end = round(EARLY * n_warmup)
    length = max(1, round(FIRST_WINDOW * n_warmup))
    last = n_warmup - round(LATE * n_warmup)
    ends = []
    while end + 3 * length <= last:
        end += length
        ends.append(end)
        length *= 2
    return frozenset([*ends, last])


def adapt(
    record: NDArray[np.float64],
    position: NDArray[np.float64],
    acceptance: float,
    sweep: int,
    n_warmup: int,
    ends: frozenset[int],
) -> None:
    """Learn from one trajectory, in place; sweeps are counted from 1."""
    n = len(position)
    inverse_mass, mean, squares = record[HEAD:].reshape(3, n)
    record[SINCE] += 1
    since = record[SINCE]
    share = 1 / (since + 10)
    record[ERROR] += share * (TARGET - acceptance - record[ERROR])
    record[LOG_STEP] = record[CENTRE] - np.sqrt(since) / 0.05 * record[ERROR]
    record[MEAN_LOG_STEP] += since**-0.75 * (record[LOG_STEP] - record[MEAN_LOG_STEP])
    if sweep <= EARLY * n_warmup:
        return
    record[IN_WINDOW] += 1
    difference = position - mean
    mean += difference / record[IN_WINDOW]
    squares += difference * (position - mean)
    if sweep not in ends:
        return
    count = record[IN_WINDOW]
    variance = squares / max(count - 1, 1)
    learned = (count * variance + SHRINKAGE * LITTLE) / (count + SHRINKAGE)
    inverse_mass[:] = np.where(inverse_mass > 0, learned, 0.0)
    mean[:] = squares[:] = 0.0
    record[[ERROR, SINCE, IN_WINDOW]] = 0.0
    record[CENTRE] = np.log(10) + record[MEAN_LOG_STEP]
