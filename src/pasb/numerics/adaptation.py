"""What trajectories learn in the warm-up and then keep: a step size, and where the metric is taken.

The step follows the acceptance by dual averaging (Nesterov 2009; Hoffman and Gelman 2014). The
metric is a curvature averaged over a few positions of the chain, so what is kept are these
positions; how the curvature follows from them is the model's business. The first is where the chain
started, others replace it at the ends of windows of growing length. What is learned of a stick is
one array, part of the chain's state and of its checkpoints:

    log of the step, its average, mean error, centre, trajectories since a restart, positions in
    use, positions gathered, then the positions in use, then those gathered for the next window.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TARGET = 0.7  # acceptance
FIRST_STEP = 0.05
MOST_POSITIONS = 12
WINDOWS = (0.05, 0.15, 0.35, 0.75)  # ends, as shares of the warm-up
SWEEPS_A_POSITION = 4  # of a window, at least

LOG_STEP, MEAN_LOG_STEP, ERROR, CENTRE, SINCE, IN_USE, GATHERED, HEAD = range(8)


def first_record(n: int) -> NDArray[np.float64]:
    """What is known before the first trajectory in `n` coordinates."""
    record = np.zeros(HEAD + 2 * MOST_POSITIONS * n)
    record[[LOG_STEP, MEAN_LOG_STEP]] = np.log(FIRST_STEP)
    record[CENTRE] = np.log(10 * FIRST_STEP)
    return record


def trust(record: NDArray[np.float64]) -> None:
    """Start from a step of one: where it is a factor of a step that is known."""
    record[[LOG_STEP, MEAN_LOG_STEP, CENTRE]] = 0.0


def _positions(record: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those in use, and those gathered."""
    return record[HEAD:].reshape(2, MOST_POSITIONS, -1)


def positions_in_use(record: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the metric is taken; none at all before the first trajectory of a warm-up."""
    return _positions(record)[0, : int(record[IN_USE])]


def step_of(record: NDArray[np.float64], adapts: bool) -> float:
    """The step size; after the warm-up the average one."""
    return float(np.exp(record[LOG_STEP if adapts else MEAN_LOG_STEP]))


def begin(record: NDArray[np.float64], position: NDArray[np.float64]) -> None:
    """Take the metric at the first position of a warm-up."""
    _positions(record)[0, 0] = position
    record[IN_USE] = 1


def window_ends(n_warmup: int) -> list[int]:
    """The sweeps of the warm-up after which the metric is taken again."""
    return sorted({round(share * n_warmup) for share in WINDOWS} - {0})


def gathering_sweeps(ends: list[int]) -> frozenset[int]:
    """The sweeps whose positions are gathered: the last of each window, evenly spread."""
    out: set[int] = set()
    for start, end in zip([0, *ends], ends, strict=False):
        n = min(max((end - start) // SWEEPS_A_POSITION, 1), MOST_POSITIONS)
        out |= {end - i * ((end - start) // n) for i in range(n)}
    return frozenset(out)


def adapt(
    record: NDArray[np.float64],
    position: NDArray[np.float64],
    acceptance: float,
    gathers: bool,
    ends: bool,
) -> None:
    """Learn from one trajectory, in place: where it led, and how well it was followed."""
    record[SINCE] += 1
    since = record[SINCE]
    record[ERROR] += (TARGET - acceptance - record[ERROR]) / (since + 10)
    record[LOG_STEP] = record[CENTRE] - np.sqrt(since) / 0.05 * record[ERROR]
    record[MEAN_LOG_STEP] += since**-0.75 * (record[LOG_STEP] - record[MEAN_LOG_STEP])
    used, gathered = _positions(record)
    if gathers:
        gathered[int(record[GATHERED]) % MOST_POSITIONS] = position
        record[GATHERED] += 1
    if ends and record[GATHERED] > 0:
        used[:] = gathered
        record[IN_USE] = min(record[GATHERED], MOST_POSITIONS)
        record[[ERROR, SINCE, GATHERED]] = 0.0
        record[CENTRE] = np.log(2) + record[MEAN_LOG_STEP]
