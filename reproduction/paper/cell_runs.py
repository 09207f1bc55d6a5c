"""Run cells one after the other or in processes, and keep each when it is finished."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import pasb
from pasb.errors import CheckpointError
from reproduction.paper.cells import ANY, Cell, Context, keep, path_of
from reproduction.paper.experiments import EXPERIMENTS

PATIENCE = 30.0  # seconds for running cells to stop, once they were told to

_stop: Any = None  # in a worker, the event that tells it to stop


def unfinished(cells: Sequence[Cell], context: Context) -> list[Cell]:
    """The cells whose results are not there yet."""
    return [cell for cell in cells if not path_of(context.folder, cell).exists()]


def run_cells(
    cells: Sequence[Cell], context: Context, jobs: int = 1
) -> Iterator[tuple[Cell, dict[str, Any] | None]]:
    """Run the cells that are not finished, and yield each as it comes to its end.

    A computation that breaks down (numbers that are not finite) ends its cell only.

    Parameters
    ----------
    cells : sequence of Cell
    context : Context
    jobs : int
        Processes; with 1 the cells run in this one.

    Yields
    ------
    cell, result
        None for a cell that did not finish in time; a later call continues it. A cell
        that broke down has the error under ``failed``.
    """
    todo = unfinished(cells, context)
    if jobs == 1:
        for batch in _batches(todo, context.engine):
            if len(batch) > 1:
                yield from _run_together(batch, context)
                continue
            cell, late = batch[0], _too_late(batch[0], context)
            result = None if late else _run(cell, context)
            yield cell, result
            if result is None and not late and time.time() < context.deadline:
                raise KeyboardInterrupt  # the classifier took it
        return
    yield from _in_processes(todo, context, jobs)


def _batches(cells: list[Cell], engine: str) -> list[list[Cell]]:
    """On a GPU, what runs at once; the batches in the order of their first cells."""
    if engine == "cpu":
        return [[cell] for cell in cells]
    own: dict[str, list[Cell]] = {}
    for cell in cells:
        own.setdefault(cell.experiment, []).append(cell)
    return [batch for name, some in own.items() for batch in EXPERIMENTS[name].batches(some)]


def _run_together(
    cells: list[Cell], context: Context
) -> Iterator[tuple[Cell, dict[str, Any] | None]]:
    if context.over():
        yield from ((cell, None) for cell in cells)
        return
    began = time.perf_counter()
    with threadpool_limits(1):
        results = EXPERIMENTS[cells[0].experiment].run_together(cells, context)
    seconds = (time.perf_counter() - began) / len(cells)
    for cell, result in zip(cells, results, strict=True):
        own = {"version": pasb.__version__, "seconds": seconds, **result}
        keep(context.folder, cell, own)
        yield cell, own


def _in_processes(
    todo: list[Cell], context: Context, jobs: int
) -> Iterator[tuple[Cell, dict[str, Any] | None]]:
    spawn = get_context("spawn")
    stop = spawn.Event()
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_start_worker, initargs=(stop,))
    try:
        running: dict[Future, Cell] = {pool.submit(_work, cell, context): cell for cell in todo}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()
    except BaseException:
        stop.set()
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        busy = [future for future in running if future.running()]
        if wait(busy, timeout=PATIENCE).not_done:  # in code that cannot be stopped
            for worker in workers:
                worker.kill()
        raise
    pool.shutdown()


def _start_worker(stop: Any) -> None:
    global _stop
    _stop = stop
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)  # the parent tells when to stop


def _work(cell: Cell, context: Context) -> dict[str, Any] | None:
    return _run(cell, context._replace(stopped=_stop.is_set))


def _too_late(cell: Cell, context: Context) -> bool:
    """Whether there is no time for a cell; the peers cannot be stopped once they have begun."""
    needed = EXPERIMENTS[cell.experiment].seconds(cell) if cell.scheme == ANY else 0.0
    return time.time() + needed > context.deadline


def _run(cell: Cell, context: Context) -> dict[str, Any] | None:
    experiment = EXPERIMENTS[cell.experiment]
    if context.over() or _too_late(cell, context):
        return None
    checkpoint = context.checkpoint(cell)
    spent = _Spent(checkpoint.with_name(f"{checkpoint.name}.json"))
    try:
        with threadpool_limits(1):
            try:
                result = experiment.run(cell, context)
            except CheckpointError:  # of other settings or another version: begin again
                shutil.rmtree(checkpoint, ignore_errors=True)
                result = experiment.run(cell, context)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    if result is None:
        spent.save()
        return None
    result = {"version": pasb.__version__, "engine": "cpu", **spent.so_far(), **result}
    keep(context.folder, cell, result)
    spent.file.unlink(missing_ok=True)
    return result


class _Spent:
    """Time that a cell takes, by the clock and of the processor, over all the runs it needs."""

    def __init__(self, file: Path):
        self.file = file
        before = json.loads(file.read_text()) if file.exists() else {}
        self.began = {name: now - before.get(name, 0.0) for name, now in self._now().items()}

    @staticmethod
    def _now() -> dict[str, float]:
        return {"seconds": time.perf_counter(), "processor_seconds": time.process_time()}

    def so_far(self) -> dict[str, float]:
        return {name: now - self.began[name] for name, now in self._now().items()}

    def save(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.so_far()))
