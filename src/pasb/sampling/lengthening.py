"""Runs that continue until their draws are good enough: where chains meet, how draws are thinned.

Chains meet after fixed numbers of draws, and a run may end there. Where it may become longer than
planned (`Schedule.longest`), it continues with twice as many sweeps, then four times as many, and
so on, while the number of draws stays what it is: whenever a chain goes beyond such a length, every
second of its draws is dropped, and draws are twice as many sweeps apart from there on. So the
draws are spread evenly over the run, and those of a longer one take no more memory or time.

What a chain has dropped follows from its number of sweeps. So a checkpoint holds the draws in the
order in which they were kept, those included that were dropped later, and a chain that resumes
drops the same ones again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.sampling.problem import Schedule

FIRST_MEETING, GROWTH = 100, 1.5  # of draws, where chains meet to be looked at
COUNTS = "statistics"  # of a trace: what moves counted since the draw before

Trace = dict[str, NDArray]


class Meeting(NamedTuple):
    """Where chains meet: sweeps so far, draws of each chain, and sweeps from draw to draw."""

    sweep: int
    n_draws: int
    thin: int

    @classmethod
    def end_of(cls, schedule: Schedule, factor: int = 1) -> Meeting:
        """The end of a run, or of one that is a few times as long."""
        thin = schedule.thin * factor
        return cls(schedule.n_warmup + schedule.n_draws * thin, schedule.n_draws, thin)


def meetings(schedule: Schedule, first: int | None = None) -> list[Meeting]:
    """Where chains meet to be looked at, up to the end of the longest run.

    Numbers of draws grow with those before, so looking at all draws again costs little of the
    whole.

    Parameters
    ----------
    schedule : Schedule
    first : int, optional
        Draws at the first meeting; it is at the end of the schedule if that has no more.

    Examples
    --------
    >>> [one.n_draws for one in meetings(Schedule(n_warmup=10, n_draws=1000, thin=1, seed=7))]
    [100, 150, 225, 337, 505, 757, 1000]
    >>> longer = Schedule(n_warmup=10, n_draws=1000, thin=1, seed=7, longest=4)
    >>> [one.sweep for one in meetings(longer, first=1000)]
    [1010, 2010, 4010]
    """
    points, point = [], FIRST_MEETING if first is None else first
    while point < schedule.n_draws:
        points.append(Meeting(schedule.n_warmup + point * schedule.thin, point, schedule.thin))
        point = max(point + 1, int(point * GROWTH))
    ends = [Meeting.end_of(schedule, 1 << k) for k in range(schedule.longest.bit_length())]
    return [*points, *ends]


def n_halvings(schedule: Schedule, n_done: int) -> int:
    """How often a chain has dropped every second draw after so many sweeps."""
    n, length = 0, schedule.n_draws * schedule.thin
    while n_done - schedule.n_warmup > length << n and 2 << n <= schedule.longest:
        n += 1
    return n


def halve(trace: Trace, n_draws: int) -> NDArray:
    """Drop every second of the first draws of a trace, in place.

    What moves counted on the way to a draw that is dropped goes to the next one. Where their number
    is odd, the last one is dropped too, and its counts are returned.
    """
    n = n_draws // 2
    last = trace[COUNTS][2 * n : n_draws].sum(axis=0)
    trace[COUNTS][:n] = trace[COUNTS][: 2 * n : 2] + trace[COUNTS][1 : 2 * n : 2]
    for name, values in trace.items():
        if name != COUNTS:
            values[:n] = values[1 : 2 * n : 2]
    return last


def n_ever_kept(schedule: Schedule, n_done: int) -> int:
    """Draws that a chain has kept after so many sweeps, those included that it has dropped."""
    n = schedule.n_draws
    n_sweeps, n_halved = max(0, n_done - schedule.n_warmup), n_halvings(schedule, n_done)
    now = n_sweeps // (schedule.thin << n_halved)
    return now if n_halved == 0 else n + (n_halved - 1) * (n - n // 2) + now - n // 2


def thinned(schedule: Schedule, n_done: int, draws: Mapping[str, NDArray]) -> Trace:
    """From all draws that a chain has ever kept to those that it still has."""
    n, n_halved = schedule.n_draws, n_halvings(schedule, n_done)
    out = {name: values[:n].copy() if n_halved else values for name, values in draws.items()}
    start = n
    for _ in range(n_halved):
        halve(out, n)
        stop = start + n - n // 2
        for name, values in draws.items():
            out[name] = np.concatenate([out[name][: n // 2], values[start:stop]])
        start = stop
    return out


def sweep_of(schedule: Schedule, n_kept: int) -> int:
    """The sweep of the last of so many draws that a chain has ever kept.

    Examples
    --------
    >>> schedule = Schedule(n_warmup=10, n_draws=4, thin=1, seed=7, longest=4)
    >>> [sweep_of(schedule, n) - 10 for n in range(1, 9)]
    [1, 2, 3, 4, 6, 8, 12, 16]
    """
    n, more = schedule.n_draws, n_kept - schedule.n_draws
    if schedule.longest == 1 or more <= 0:
        return schedule.n_warmup + n_kept * schedule.thin
    n_halved, last = divmod(more - 1, n - n // 2)
    return schedule.n_warmup + (n // 2 + last + 1) * (schedule.thin << (n_halved + 1))


def joined(*parts: Mapping[str, NDArray]) -> Trace:
    """Draws one after the other; those of the last part where the others are of another kind."""
    same = [part for part in parts if part.keys() == parts[-1].keys()]
    return {name: np.concatenate([part[name] for part in same]) for name in parts[-1]}
