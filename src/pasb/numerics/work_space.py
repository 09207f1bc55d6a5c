"""Work space that is lent to one thread at a time.

A run needs as many work spaces as threads, not as chains or sticks, and none is allocated
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class WorkSpaces:
    """Idle work spaces, by the kind of work that they are for."""

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
        """Make sure that there are `n` idle ones."""
        idle = self._idle.setdefault(kind, [])
        idle += [make() for _ in range(n - len(idle))]

    def lent(self, kind: Hashable, make: Callable[[], Any]) -> Lent:
        """`take` and `give` around a block of code."""
        return Lent(self, kind, make)


class Lent:
    """A work space for as long as a block of code takes."""

    __slots__ = ("kind", "make", "space", "spaces")

    def __init__(self, spaces: WorkSpaces, kind: Hashable, make: Callable[[], Any]):
        self.spaces, self.kind, self.make = spaces, kind, make

    def __enter__(self) -> Any:
        self.space = self.spaces.take(self.kind, self.make)
        return self.space

    def __exit__(self, *_: object) -> None:
        self.spaces.give(self.kind, self.space)
