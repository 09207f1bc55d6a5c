"""A progress display in the terminal: one line a chain."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pasb.sampling.chain import Chain


def wanted(progress: bool | str) -> bool:
    """Whether to show progress; "auto" means only when a person looks at a terminal."""
    if progress == "auto":
        return sys.stderr is not None and sys.stderr.isatty()
    return bool(progress)


class Progress:
    """Chain, sweeps, log-likelihood, swap acceptance and time left, or nothing at all."""

    def __init__(self, chains: Iterable[Chain], shown: bool):
        self._bar = None
        if not shown:
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("chain {task.fields[chain]}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[phase]}"),
            TextColumn("log-lik {task.fields[log_likelihood]:.1f}"),
            TextColumn("swaps {task.fields[swaps]:.1%}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=Console(stderr=True),
            refresh_per_second=4,
            expand=True,
        )
        self._tasks = {
            id(chain): self._bar.add_task("", total=chain.length, **_fields(chain))
            for chain in chains
        }

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, chain: Chain) -> None:
        """Show where a chain stands."""
        if self._bar is not None:
            task = self._tasks[id(chain)]
            total = chain.length  # of a run that goes on it grows
            self._bar.update(task, completed=chain.n_done, total=total, **_fields(chain))


def _fields(chain: Chain) -> dict:
    info = chain.info()
    return {
        "chain": info.chain + 1,
        "phase": "warm-up" if info.warmup else "draws",
        "log_likelihood": info.log_likelihood,
        "swaps": info.swap_acceptance,
    }
