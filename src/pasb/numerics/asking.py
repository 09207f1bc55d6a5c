"""Work that asks for sums over rows as it goes, written as if there were no other.

An *asking* is a generator that yields a list of requests and is sent the list of their answers. It
is the centre half of a chain, a Newton iteration or a trajectory. Several of them run `together`:
what all of them ask for at the same time is one list, and so one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

Result = TypeVar("Result")
Asking = Generator[list[Any], list[Any], Result]
Ask = Callable[[list[Any]], list[Any]]


def together(askings: Sequence[Asking[Result]]) -> Asking[list[Result]]:
    """Run several askings at the same time, and return what they return."""
    results: list[Any] = [None] * len(askings)
    waiting: list[tuple[int, list[Any]]] = []
    for k, asking in enumerate(askings):
        try:
            waiting.append((k, next(asking)))
        except StopIteration as end:
            results[k] = end.value
    while waiting:
        answers = yield [request for _, own in waiting for request in own]
        still, start = [], 0
        for k, own in waiting:
            mine = answers[start : start + len(own)]
            start += len(own)
            try:
                still.append((k, askings[k].send(mine)))
            except StopIteration as end:
                results[k] = end.value
        waiting = still
    return results


def answered_by(ask: Ask, asking: Asking[Result]) -> Result:
    """Run an asking to its end.

    Examples
    --------
    >>> def total(n):
    ...     first = yield [n]
    ...     second = yield [n + 1, n + 2]
    ...     return first + second
    >>> answered_by(lambda requests: [2 * r for r in requests], together([total(1), total(10)]))
    [[2, 4, 6], [20, 22, 24]]
    """
    try:
        requests = next(asking)
        while True:
            requests = asking.send(ask(requests) if requests else [])
    except StopIteration as end:
        return end.value
