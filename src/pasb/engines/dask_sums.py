"""Parts on the workers of a Dask cluster: every pass is a tree of tasks.

A part is the result of a task that loads it, from its file or its collection. It is not scattered,
so when a worker is lost the scheduler has its parts made again elsewhere. Every task is a pure
function of a part and the requests, and sums are taken in a tree that depends on the number of
parts alone. So the draws are the same, bit by bit, for any number of workers of one kind, and
whatever happens to them. Requests travel as the result of a task too, once for each pass.

Where the memory of the workers does not hold all parts of Parquet files, each keeps those that it
makes in files of its own folder, and a task reads the one that it needs. Parts of a collection are
spilled by Dask, which is told their size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from itertools import count
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pasb.binary.row_requests import Answer, Stacked, answered
from pasb.covariates.dask_source import DaskPiece, DaskSource
from pasb.covariates.free_memory import in_words
from pasb.covariates.parquet_source import ParquetPiece
from pasb.covariates.part_scan import Look, looked_at
from pasb.covariates.parts import Part, PartPlan, PieceRange, Raw, gathered, prepared
from pasb.covariates.stored_part import StoredPart
from pasb.covariates.table_sources import ArrayPiece, TableSource
from pasb.engines.cluster_room import WorkerRoom, check_cluster, room_of, size_in_files
from pasb.engines.workshop import Cut, Workshop, bytes_needed, first_rows, sizes_of
from pasb.errors import EngineError
from pasb.numerics.part_tree import reduced
from pasb.numerics.row_groups import NO_GROUPS, Groups
from pasb.sampling.row_sums import PartFunction, RowSums, all_added

PATIENCE = 120.0  # seconds in which no worker does anything
A_LOOK = 2.0  # seconds between looks at a cluster that does not answer
RETRIES = 3  # of a task whose workers died four times


class DaskCluster:
    """A client, watched: what goes wrong with the cluster becomes an `EngineError`."""

    def __init__(self, client: Any):
        if getattr(client, "asynchronous", False):
            raise EngineError("engine: a Client with asynchronous=True cannot be waited for")
        self.client = client
        self.token, self.numbers = uuid4().hex[:12], count()
        self.check()

    def check(self) -> None:
        """Refuse a client that is closed."""
        if self.client.status != "running":
            raise EngineError(
                f"engine: the Dask client is {self.client.status}: connect again with "
                "dask.distributed.Client(...)"
            )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A task with a name of its own."""
        key = f"pasb-{function.__name__}-{self.token}-{next(self.numbers)}"
        try:
            return self.client.submit(function, *arguments, key=key, pure=False)
        except Exception as error:
            raise self._lost(error) from error

    def compute(self, values: list[Any]) -> list[Any]:
        """Futures of delayed values."""
        self.check()
        return self.client.compute(values)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """The results of some tasks."""
        return [self.result(future) for future in futures]

    def result(self, future: Any) -> Any:
        """The result of a task, however long it takes, unless nobody works on it."""
        seen, retries = monotonic(), 0
        while True:
            try:
                return future.result(timeout=A_LOOK)
            except TimeoutError:
                if future.done():
                    continue
                workers = self.workers()
                if _is_alive(workers):
                    seen = monotonic()
                elif monotonic() - seen > PATIENCE:
                    raise _idle(workers) from None
            except (CancelledError, Exception) as error:
                # what a task raised is its own; all else is the cluster's
                killed = type(error).__name__ == "KilledWorker"
                if future.status == "error" and not killed:
                    raise
                if not killed or retries == RETRIES:
                    raise self._lost(error) from error
                retries += 1
                self.client.retry([future])
                sleep(A_LOOK)

    def room(self) -> list[WorkerRoom]:
        """What workers may use."""
        try:
            return room_of(self.client)
        except (OSError, CancelledError, TimeoutError) as error:
            raise self._lost(error) from error

    def workers(self) -> list[dict[str, Any]]:
        """What the scheduler knows of each worker."""
        if self.client.status not in ("running", "connecting"):
            raise self._lost(ConnectionError(self.client.status))
        if self.client.status == "connecting":
            return []
        try:
            return list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        except (OSError, CancelledError, TimeoutError) as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> EngineError:
        if type(error).__name__ == "KilledWorker":
            return EngineError(
                f"workers of the Dask cluster died again and again at the same task ({error}). "
                f"They may have too little memory. {RESUME}"
            )
        words = [type(error).__name__, *str(error).splitlines()[:1]]
        return EngineError(f"the Dask scheduler was lost ({': '.join(words)}). {RESUME}")


def _is_alive(workers: list[dict[str, Any]]) -> bool:
    """Whether tasks may still end: a worker computes, or all are ready to.

    A worker that is paused, because it has used up its memory, begins no task; those that wait for
    it may wait for ever, whatever the others do.
    """
    paused = any(one["status"] == "paused" for one in workers)
    if any(one["status"] == "running" for one in workers) and not paused:
        return True
    counts = [one.get("metrics", {}).get("task_counts", {}) for one in workers]
    return any(own.get("executing", 0) > 0 for own in counts)


def _idle(workers: list[dict[str, Any]]) -> EngineError:
    """The error of a cluster that has done nothing for too long."""
    paused = [one for one in workers if one["status"] == "paused"]
    if not paused:
        return EngineError(
            f"the Dask cluster has had no worker for {PATIENCE:.0f} s: start some, and fit again. "
            f"{RESUME}"
        )
    limit = max(one.get("memory_limit") or 0 for one in paused)
    return EngineError(
        f"{len(paused)} of {len(workers)} workers of the Dask cluster are paused, and none has "
        f"computed anything for {PATIENCE:.0f} s: their memory (limit {in_words(limit)}) is used "
        "up. Give workers more memory, add workers, or keep covariates with 7 digits "
        f"(RowBlocks(storage='float32', client=...)). {RESUME}"
    )


RESUME = "With a checkpoint, the same call continues from it with the same draws."


class DaskWorkshop(Workshop):
    """Tasks of a cluster; with `device` "cuda" the GPUs of its workers take sums of requests."""

    def __init__(self, client: Any, device: str = "cpu"):
        self.cluster = DaskCluster(client)
        self.answer = _answer
        if device == "cuda":
            from pasb.engines.dask_device import check_workers

            check_workers(client)
            self.answer = _answer_there
        self.n_cores = max(1, sum(one["nthreads"] for one in self.cluster.workers()))

    def lengths(self, source: TableSource) -> list[int]:  # noqa: D102
        known = source.lengths()
        if known is None:
            assert isinstance(source, DaskSource)
            known = self.cluster.gather(self.cluster.compute(source.delayed_lengths()))
        return known

    def check_room(self, source: TableSource, parts: Cut, dtype: str) -> None:  # noqa: D102
        check_cluster(self.cluster.room(), len(source.names), parts, dtype)

    def looks(self, source: TableSource, parts: Cut) -> list[Look]:  # noqa: D102
        import dask

        names = source.names if source.has_names else None
        raws = self._raws(source)
        look = dask.delayed(_look, pure=True)
        first = first_rows(parts).tolist()
        delayed = [
            look(part, [raws[one.piece] for one in part], names, row)
            for part, row in zip(parts, first, strict=True)
        ]
        return self.cluster.gather(self.cluster.compute(delayed))

    def sums(self, source: TableSource, parts: Cut, plan: PartPlan) -> DaskSums:  # noqa: D102
        import dask

        shared, make = dask.delayed(plan, pure=True), dask.delayed(_make, pure=True)
        store = dask.delayed(_stored, pure=True)
        pieces = [source.piece(k) for k in range(source.n_pieces)]
        n_bytes = bytes_needed(sum(sizes_of(parts)), len(source.names), plan.dtype)
        size = size_in_files(self.cluster.room(), n_bytes, len(parts))
        if size is not None and all(isinstance(piece, ParquetPiece) for piece in pieces):
            made = [
                store(part, [pieces[one.piece] for one in part], shared, size) for part in parts
            ]
        else:
            raws = self._raws(source)
            made = [make(part, [raws[one.piece] for one in part], shared) for part in parts]
        futures = self.cluster.compute(made)
        bounds = self.cluster.gather([self.cluster.submit(_bounds, part) for part in futures])
        shape = len(source.names) + 1, first_rows(parts)
        return DaskSums(self.cluster, futures, bounds, *shape, plan.groups, self.answer)

    def _raws(self, source: TableSource) -> list[Any]:
        """The rows of every piece, as delayed values."""
        import dask

        pieces = [source.piece(k) for k in range(source.n_pieces)]
        if any(isinstance(piece, ArrayPiece) for piece in pieces):
            raise EngineError(
                "engine='dask' does not send rows to the workers, which load them themselves: fit "
                "a Dask array or data frame, or Parquet files; or use engine='blocks'"
            )
        load = dask.delayed(_load, pure=True)
        return [
            piece.delayed() if isinstance(piece, DaskPiece) else load(piece) for piece in pieces
        ]


def _load(piece: Any) -> Raw:
    return piece.load()


def _look(part: list[PieceRange], raws: list[Raw], names: list[str] | None, first_row: int) -> Look:
    return looked_at(gathered([PieceRange(*one) for one in part], raws), names, first_row)


def _make(part: list[PieceRange], raws: list[Raw], plan: PartPlan) -> Part:
    return prepared(gathered([PieceRange(*one) for one in part], raws), plan)


def _made(part: list[PieceRange], pieces: list[Any], plan: PartPlan) -> Part:
    return _make(part, [piece.load() for piece in pieces], plan)


def _stored(part: list[Any], pieces: list[Any], plan: PartPlan, size: int) -> StoredPart:
    """A part in a file; tuples with names come as lists."""
    ranges, rows = [PieceRange(*one) for one in part], [ParquetPiece(*one) for one in pieces]
    stored = StoredPart(partial(_made, ranges, rows, plan), size)
    _in_memory(stored)
    return stored


def _in_memory(part: Part | StoredPart) -> Part:
    """A part, read from its file if it is kept in one."""
    if isinstance(part, Part):
        return part
    from distributed import get_worker

    return part.loaded(get_worker().local_directory)


def _bounds(part: Part | StoredPart) -> NDArray[np.int64]:
    return _in_memory(part).bounds


def _asked(asked: list[Stacked], link: tuple[Any, ...]) -> tuple[list[Stacked], tuple[Any, ...]]:
    return asked, link


def _answer(part: Part | StoredPart, task: tuple[list[Stacked], tuple[Any, ...]]) -> list[Answer]:
    asked, link = task
    return answered(_in_memory(part).rows(), link, asked)


def _answer_there(
    part: Part | StoredPart, task: tuple[list[Stacked], tuple[Any, ...]]
) -> list[Answer]:
    from pasb.engines.dask_device import answer_there

    return answer_there(part, _in_memory, task)


def _on_part(part: Part | StoredPart, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(_in_memory(part), *arguments)


def _argument(argument: Any) -> Any:
    return argument


class DaskSums(RowSums):
    """Parts on workers."""

    def __init__(
        self,
        cluster: DaskCluster,
        parts: Sequence[Any],
        bounds: Sequence[NDArray[np.int64]],
        n_columns: int,
        first: NDArray[np.int64],
        groups: Groups = NO_GROUPS,
        answer: Callable[..., list[Answer]] = _answer,
    ):
        super().__init__(bounds, n_columns, first, groups)
        self.cluster, self.parts, self.answer = cluster, list(parts), answer

    def map(self, function: Callable[[Part, Any], Any], arguments: Sequence[Any]) -> list[Any]:  # noqa: D102
        self.cluster.check()
        submit = self.cluster.submit
        pairs = zip(self.parts, arguments, strict=True)
        tasks = [submit(_on_part, part, function, argument) for part, argument in pairs]
        return self.cluster.gather(tasks)

    def one_pass(self, asked: list[Stacked], link: tuple[Any, ...]) -> list[Answer]:  # noqa: D102
        submit = self.cluster.submit
        task = submit(_asked, asked, link)
        answers = [submit(self.answer, part, task) for part in self.parts]
        return self.cluster.result(reduced(answers, lambda some: submit(all_added, list(some))))

    def added_up(self, function: PartFunction, argument: Any) -> list[Any]:  # noqa: D102
        submit = self.cluster.submit
        task = submit(_argument, argument)
        each = zip(self.parts, self.first_rows.tolist(), strict=True)
        answers = [submit(_on_part, part, function, first_row, task) for part, first_row in each]
        return self.cluster.result(reduced(answers, lambda some: submit(all_added, list(some))))

    def close(self) -> None:
        """Let the workers forget the parts."""
        self.parts = []
