"""Progress in a terminal: one bar for each chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from pasb.sampling.chain import Chain


class Bars:
    """Chain, sweeps, phase, log-likelihood, swap acceptance and time left.

    Parameters
    ----------
    console : Console
    chains : sequence of Chain
    phase : callable
        Names the phase of a chain.
    """

    def __init__(self, console: Console, chains: Sequence[Chain], phase: Callable[[Chain], str]):
        self.chains, self.phase = chains, phase
        self.bar = RichProgress(
            TextColumn("chain {task.fields[chain]}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[phase]}"),
            TextColumn("{task.fields[seen]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            refresh_per_second=4,
            expand=True,
        )
        self.tasks = [
            self.bar.add_task("", total=chain.length, **self.fields(chain)) for chain in chains
        ]
        self.bar.start()

    def show(self) -> None:
        """Show where the chains stand."""
        for task, chain in zip(self.tasks, self.chains, strict=True):
            self.bar.update(task, completed=chain.n_done, total=chain.length, **self.fields(chain))

    def close(self) -> None:
        """Leave the bars as they are."""
        self.show()
        self.bar.stop()

    def fields(self, chain: Chain) -> dict[str, Any]:
        """What the columns show of a chain; nothing of what it does not know yet."""
        info, seen = chain.info(), []
        if info.log_likelihood == info.log_likelihood:  # it is NaN before the first sweep
            seen.append(f"log-lik {info.log_likelihood:.1f}")
        if chain.problem.infers and info.swap_acceptance == info.swap_acceptance:
            seen.append(f"swaps {info.swap_acceptance:.1%}")
        return {"chain": info.chain + 1, "phase": self.phase(chain), "seen": "  ".join(seen)}
