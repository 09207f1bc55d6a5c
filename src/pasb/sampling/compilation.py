"""Listens to Numba: is a kernel being compiled right now, how many were, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from numba.core import event


class Compilation(event.Listener):
    """What this process has compiled of pasb; code from the cache does not count."""

    def __init__(self) -> None:
        self.depth, self.n_functions, self.seconds = 0, 0, 0.0
        self.began: list[Callable[[], None]] = []  # called when something is to be compiled
        self._since = 0.0
        event.register("numba:compile", self)

    def on_start(self, event: event.Event) -> None:
        """A function is about to be compiled; it may need others."""
        if not _is_ours(event):
            return
        self.depth += 1
        if self.depth == 1:
            self._since = monotonic()
            for tell in tuple(self.began):
                tell()

    def on_end(self, event: event.Event) -> None:
        """A function was compiled."""
        if not _is_ours(event):
            return
        self.depth -= 1
        self.n_functions += 1
        if self.depth == 0:
            self.seconds += monotonic() - self._since


def _is_ours(event: event.Event) -> bool:
    return (event.data["dispatcher"].py_func.__module__ or "").startswith("pasb.")


compilation = Compilation()
