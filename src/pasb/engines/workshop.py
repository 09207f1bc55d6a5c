"""From a table in pieces to parts that are ready for sums: who does the work.

The same three steps everywhere: how long the pieces are, one look at every part, and the parts
themselves. Here threads of this process do them; `pasb.engines.dask_sums` has the workshop of a
cluster.
"""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.free_memory import VARIABLE, free_bytes, in_words, memory_limit
from pasb.covariates.part_scan import Look, looked_at
from pasb.covariates.parts import (
    ROWS_OF_A_PART,
    Part,
    PartPlan,
    PieceRange,
    Raw,
    gathered,
    prepared,
)
from pasb.covariates.table_sources import TableSource
from pasb.numerics.rows import TILE
from pasb.sampling.row_sums import LocalSums, RowSums

MOST_PARTS = 1024  # of a long table; a task of a cluster costs about a millisecond

Cut = list[list[PieceRange]]


def rows_of_a_part(n_rows: int) -> int:
    """How many rows a part has; it depends on the number of all rows and nothing else."""
    return max(ROWS_OF_A_PART, -(-n_rows // MOST_PARTS))


def sizes_of(parts: Cut) -> list[int]:
    """Rows of each part."""
    return [sum(one.stop - one.start for one in part) for part in parts]


def first_rows(parts: Cut) -> NDArray[np.int64]:
    """The number of the first row of each part."""
    return np.concatenate([[0], np.cumsum(sizes_of(parts))[:-1]]).astype(np.int64)


def bytes_needed(n_rows: int, n_columns: int, dtype: str) -> int:
    """What all parts take, the constant column included."""
    padded = -(-(n_columns + 1) // TILE) * TILE
    return n_rows * (padded * np.dtype(dtype).itemsize + 4)


class Workshop(ABC):
    """Makes parts of a table.

    Attributes
    ----------
    n_cores : int
        Which work at the same time.
    """

    n_cores: int

    @abstractmethod
    def lengths(self, source: TableSource) -> list[int]:
        """Rows of every piece."""

    @abstractmethod
    def check_room(self, source: TableSource, parts: Cut, dtype: str) -> None:
        """Refuse rows that cannot fit, before they are read."""

    @abstractmethod
    def looks(self, source: TableSource, parts: Cut) -> list[Look]:
        """A look at every part."""

    @abstractmethod
    def sums(self, source: TableSource, parts: Cut, plan: PartPlan) -> RowSums:
        """The parts, ready for sums."""


class LocalWorkshop(Workshop):
    """Threads of this process.

    Parameters
    ----------
    n_jobs : int
    folder : path, optional
        Where parts are kept that do not fit into memory; by default a temporary folder.
    sums_type : type, default=LocalSums
        Who takes sums over the parts.
    """

    def __init__(
        self,
        n_jobs: int = 1,
        folder: str | Path | None = None,
        sums_type: type[LocalSums] = LocalSums,
    ):
        self.n_jobs, self.folder, self.sums_type = n_jobs, folder, sums_type
        self.n_cores = n_jobs

    def lengths(self, source: TableSource) -> list[int]:  # noqa: D102
        known = source.lengths()
        if known is None:
            known = [len(source.piece(k).load().labels) for k in range(source.n_pieces)]
        return known

    def check_room(self, source: TableSource, parts: Cut, dtype: str) -> None:  # noqa: D102
        self._folder(source, parts, dtype)

    def looks(self, source: TableSource, parts: Cut) -> list[Look]:  # noqa: D102
        names = source.names if source.has_names else None
        first = first_rows(parts)
        looks: list[Look] = []
        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            for start, raws in self._batches(source, parts):
                numbers = first[start : start + len(raws)].tolist()
                looks += pool.map(looked_at, raws, [names] * len(raws), numbers)
        return looks

    def sums(self, source: TableSource, parts: Cut, plan: PartPlan) -> LocalSums:  # noqa: D102
        folder = self._folder(source, parts, plan.dtype)
        if folder is not None:
            folder = Path(tempfile.mkdtemp(prefix="pasb-rows-", dir=folder))
        made: list[Part] = []
        with ThreadPoolExecutor(self.n_jobs, thread_name_prefix="pasb") as pool:
            for start, raws in self._batches(source, parts):
                for k, part in enumerate(pool.map(prepared, raws, [plan] * len(raws))):
                    kept = part if folder is None else part.kept_in(folder, f"{start + k}")
                    made.append(kept)
        if folder is not None:  # mapped files stay until nobody uses them any more
            shutil.rmtree(folder, ignore_errors=True)
        return self.sums_type(made, first_rows(parts), self.n_jobs, plan.groups)

    def _folder(self, source: TableSource, parts: Cut, dtype: str) -> Path | None:
        """Where to keep parts, or None for memory; an error where neither has room."""
        n_rows = sum(sizes_of(parts))
        needed = bytes_needed(n_rows, len(source.names), dtype)
        if self.folder is None and needed <= memory_limit():
            return None
        folder = Path(self.folder or tempfile.gettempdir())
        folder.mkdir(parents=True, exist_ok=True)
        room = shutil.disk_usage(folder).free
        if needed > room:
            raise ValueError(
                f"{n_rows:,} rows take {in_words(needed)}, and neither memory (limit "
                f"{in_words(memory_limit())} of {in_words(free_bytes())} that are free; {VARIABLE} "
                f"sets another, in GiB) nor the folder {folder} (free: {in_words(room)}) has room "
                "for them. Use RowBlocks(storage='float32'), which takes half, "
                "RowBlocks(folder=...) with more room, or a Dask cluster"
            )
        return folder

    def _batches(self, source: TableSource, parts: Cut) -> Iterator[tuple[int, list[Raw]]]:
        """The rows of a few parts at a time, and the number of the first of them."""

        load = lru_cache(maxsize=2)(source.loader())
        for start in range(0, len(parts), self.n_jobs):
            some: Sequence[list[PieceRange]] = parts[start : start + self.n_jobs]
            yield start, [gathered(part, [load(one.piece) for one in part]) for part in some]
