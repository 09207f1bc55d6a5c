"""Sums over the parts of a table, in a tree that depends on nothing but their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

FAN_IN = 8  # values that are added in one go; a task of a cluster costs about a millisecond

Value = TypeVar("Value")


def reduced(values: Sequence[Value], combine: Callable[[Sequence[Value]], Value]) -> Value:
    """Combine neighbours, `FAN_IN` at a time, until one value is left.

    Examples
    --------
    >>> reduced(["a", "b", "c"], "".join)
    'abc'
    >>> len(reduced(["x"] * 100, "".join))
    100
    """
    level = list(values)
    if not level:
        raise ValueError("there is nothing to combine")
    while len(level) > 1:
        level = [combine(level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
    return level[0]
