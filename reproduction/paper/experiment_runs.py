"""What the command ``run`` does: run cells with progress, then write tables and figures."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.paper.cell_runs import run_cells, unfinished
from reproduction.paper.cells import Cell, Context
from reproduction.paper.experiments import EXPERIMENTS
from reproduction.paper.outputs import write_outputs


def cells_of(
    names: Sequence[str], budget: str, schemes: Sequence[str], seed: int, engine: str
) -> list[Cell]:
    """The cells of some experiments, each once."""
    every = [
        cell for name in names for cell in EXPERIMENTS[name].cells(budget, schemes, seed, engine)
    ]
    return list(dict.fromkeys(every))


def estimate(cells: Sequence[Cell]) -> float:
    """Seconds that they take on one core, about."""
    return sum(EXPERIMENTS[cell.experiment].seconds(cell) for cell in cells)


class Outcome(NamedTuple):
    """How many cells broke down, and how many are left for another time."""

    n_failed: int
    n_left: int


def run(names: Sequence[str], cells: Sequence[Cell], context: Context, jobs: int) -> Outcome:
    """Run what is not finished, and write the outputs.

    Parameters
    ----------
    names : sequence of str
        The experiments whose tables and figures to write.
    cells : sequence of Cell
    context : Context
    jobs : int
        Processes.
    """
    todo = unfinished(cells, context)
    print(f"{len(cells)} cells, {len(cells) - len(todo)} of them finished before", file=sys.stderr)
    interrupted, failed = False, {}
    with _progress(todo, jobs) as show:
        try:
            for cell, result in run_cells(todo, context, jobs):
                show(cell, result)
                if result is not None and "failed" in result:
                    failed[cell] = result["failed"]
        except KeyboardInterrupt:
            interrupted = True
    n_left = len(unfinished(cells, context)) - len(failed)
    for name in names:
        seed = cells[0].seed if cells else 0
        for path in write_outputs(EXPERIMENTS[name], context.folder, context.folder, seed):
            print(path)
    for cell, error in failed.items():
        print(f"Broke down: {cell.experiment} {cell.name}: {error}", file=sys.stderr)
    if n_left:
        why = "Interrupted" if interrupted else "Not finished in time"
        print(f"{why}: {n_left} cells are left; the same command continues.", file=sys.stderr)
    return Outcome(len(failed), n_left)


@contextmanager
def _progress(todo: Sequence[Cell], jobs: int) -> Iterator[Any]:
    """A function that is told of every cell: a bar in a terminal, lines elsewhere."""
    total, clock = estimate(todo), _Clock(estimate(todo), jobs)
    if not sys.stderr.isatty():
        yield lambda cell, result: print(clock.line(cell, result), file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.fields[count]}"),
        BarColumn(),
        TextColumn("{task.fields[left]} left, last {task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("-", total=total, count=f"0/{len(todo)}", left=_time(total / jobs))

        def show(cell: Cell, result: dict[str, Any] | None) -> None:
            clock.tick(cell)
            bar.update(
                task,
                completed=clock.done,
                description=cell.name,
                count=f"{clock.number}/{len(todo)}",
                left=_time(clock.left()),
            )

        yield show


class _Clock:
    """Time left, from estimates that are corrected by what cells really took."""

    def __init__(self, total: float, jobs: int):
        self.total, self.jobs = total, jobs
        self.began = time.monotonic()
        self.done, self.number = 0.0, 0

    def tick(self, cell: Cell) -> None:
        self.done += EXPERIMENTS[cell.experiment].seconds(cell)
        self.number += 1

    def left(self) -> float:
        spent = time.monotonic() - self.began
        return (self.total - self.done) * spent / max(self.done, 1e-9)

    def line(self, cell: Cell, result: dict[str, Any] | None) -> str:
        self.tick(cell)
        took = "not finished" if result is None else result.get("failed")
        took = took or f"{result['seconds']:.1f} s"  # type: ignore[index]
        return f"{_time(self.left())} left  {cell.experiment} {cell.name}  {took}"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def table_of_experiments() -> list[tuple[str, str, dict[str, float]]]:
    """Name, title, and hours on one core (or a GPU) at each budget."""
    out = []
    for name, experiment in EXPERIMENTS.items():
        hours = {}
        for budget in ("smoke", "quick", "paper"):
            engine = "cuda" if experiment.for_gpu and budget == "paper" else "cpu"
            own = experiment.cells(budget, ("paper", "exact"), 0, engine)
            hours[budget] = estimate(own) / 3600
        out.append((name, experiment.title, hours))
    return out


def checked_names(name: str) -> list[str]:
    """The experiments that a name on the command line stands for.

    ValueError for an unknown one, with the nearest.
    """
    import difflib

    if name == "all":
        return list(EXPERIMENTS)
    if name in EXPERIMENTS:
        return [name]
    near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"there is no experiment {name!r}.{hint} Known names: {', '.join(EXPERIMENTS)}, all."
    )


def context_of(folder: Path, minutes: float | None, engine: str) -> Context:
    """How to run; raises EngineError at once where the engine is not available."""
    n_jobs = 1
    if engine == "cuda":
        from pasb.classifiers.stick_classifier import cores
        from pasb.engines.device import array_module

        array_module()
        n_jobs = cores(-1)  # one cell at a time
    deadline = float("inf") if minutes is None else time.time() + 60 * minutes
    return Context(folder, deadline, engine, n_jobs)
