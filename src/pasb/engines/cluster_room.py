"""Whether rows fit on the workers of a Dask cluster, asked before any is read."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from pasb.covariates.free_memory import in_words
from pasb.engines.workshop import Cut, bytes_needed, sizes_of
from pasb.errors import EngineError

COPIES = 4  # times its size that a worker needs for a part while it makes it
COPIES_OF_PIECE = 2  # of a piece, as it was read and as float64
FILLED = 0.6  # of a worker's memory, from where on Dask spills to disk
SHARE = 0.3  # of the memory of all workers
WITHOUT_ROWS = 400 * 2**20  # bytes of a worker that computes and holds no part


class WorkerRoom(NamedTuple):
    """Bytes that a worker may use of memory and disk, and where it is."""

    memory: int
    disk: int
    host: str


def room_of(client: Any) -> list[WorkerRoom]:
    """The room of all workers; none where some may use as much memory as they like."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not all(one.get("memory_limit") for one in workers.values()):
        return []
    disks = client.run(disk_room, on_error="ignore")
    return [
        WorkerRoom(one["memory_limit"], disks.get(address, 0), one["host"])
        for address, one in workers.items()
    ]


def disk_room(dask_worker: Any) -> int:
    """What a worker can spill; called there."""
    import dask

    if not dask.config.get("distributed.worker.memory.spill", False):
        return 0
    return shutil.disk_usage(dask_worker.local_directory).free


def size_in_files(room: Sequence[WorkerRoom], n_bytes: int, n_parts: int) -> int | None:
    """What Dask is told of the size of a part in a file; None where parts stay in memory.

    They do where they fit, or where there is no disk to put them on. All that are in files are
    told to take `SHARE` of the memory: not so much that Dask spills them, and not so little that
    it moves them from worker to worker.
    """
    in_memory = sum(max(0.0, FILLED * one.memory - WITHOUT_ROWS) for one in room)
    if not room or n_bytes <= in_memory or sum(_disks(room).values()) < n_bytes:
        return None
    return int(min(n_bytes, SHARE * sum(one.memory for one in room)) / n_parts)


def check_cluster(room: Sequence[WorkerRoom], n_columns: int, parts: Cut, dtype: str) -> None:
    """Refuse rows that no cluster of this size can hold, or a part or piece that no worker can."""
    if not room:
        return
    largest = max(one.memory for one in room)
    sizes = sizes_of(parts)
    pieces = [one.stop for part in parts for one in part]
    for what, n_rows, needed, cure in (
        (
            "a part",
            max(sizes),
            COPIES * bytes_needed(max(sizes), n_columns, dtype),
            f"give workers more memory, or use fewer columns{_or_float32(dtype)}",
        ),
        (
            "a partition",
            max(pieces),
            COPIES_OF_PIECE * bytes_needed(max(pieces), n_columns, "float64"),
            "make partitions smaller, with X.repartition(...) or X.rechunk(...)",
        ),
    ):
        if needed > largest:
            raise EngineError(
                f"{what} of {n_rows:,} rows takes up to {in_words(needed)} while it is made, and "
                f"no worker may use more than {in_words(largest)}: {cure}"
            )
    disks = _disks(room)
    memory = FILLED * sum(one.memory for one in room)
    needed = bytes_needed(sum(sizes), n_columns, dtype)
    if needed > memory + sum(disks.values()):
        lacking = needed - memory - sum(disks.values())
        more = -(-lacking // (FILLED * largest))
        raise EngineError(
            f"{sum(sizes):,} rows take {in_words(needed)}, and {len(room)} workers have room for "
            f"{in_words(memory)} in memory ({FILLED:.0%} of their limits) and "
            f"{in_words(sum(disks.values()))} on disk: use {more:,.0f} more workers of this "
            f"size, give them more memory{_or_float32(dtype)}"
        )


def _disks(room: Sequence[WorkerRoom]) -> dict[str, int]:
    """Bytes of the disk of each host, which its workers share."""
    disks: dict[str, int] = defaultdict(int)
    for one in room:
        disks[one.host] = max(disks[one.host], one.disk)
    return disks


def _or_float32(dtype: str) -> str:
    if dtype == "float32":
        return ""
    return ", or use RowBlocks(storage='float32', client=...), which takes half"
