"""Work space that is lent to one thread at a time.

A run needs as many work spaces as threads, not as chains or sticks, and none is allocated
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any


class WorkSpaces:
    """Idle work spaces, by what they are for."""

    def __init__(self) -> None:
        self._idle: dict[Hashable, list[Any]] = {}

    def take(self, kind: Hashable, make: Callable[[], Any]) -> Any:
        """An idle one of this kind, or a new one."""
        try:
            return self._idle[kind].pop()
        except (KeyError, IndexError):
            return make()

    def give(self, kind: Hashable, space: Any) -> None:
        """Hand one back."""
        self._idle.setdefault(kind, []).append(space)

    def reserve(self, kind: Hashable, n: int, make: Callable[[], Any]) -> None:
        """See to it that there are `n` idle ones."""
        idle = self._idle.setdefault(kind, [])
        idle += [make() for _ in range(n - len(idle))]

    @contextmanager
    def lent(self, kind: Hashable, make: Callable[[], Any]) -> Iterator[Any]:
        """`take` and `give` around a block of code."""
        space = self.take(kind, make)
        try:
            yield space
        finally:
            self.give(kind, space)
