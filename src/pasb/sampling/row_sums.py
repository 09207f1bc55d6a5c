"""Sums over rows that are elsewhere: who answers requests, and what it takes.

`RowSums` has the parts of a table (`pasb.covariates.parts`), wherever they are. A *pass* evaluates
requests on every part and adds the answers up in a fixed tree, so that they are the same bits
whoever computed them. `LocalSums` does it with threads of this process, over parts in memory or in
files that are mapped into it; `pasb.engines.dask_sums` with tasks of a cluster.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.row_requests import (
    Answer,
    AnyAnswer,
    Request,
    Stacked,
    added,
    answer_size,
    answered,
    stacked,
    unstacked,
    work_of,
)
from pasb.binary.softplus_requests import SoftplusAnswer, SoftplusRequest
from pasb.binary.softplus_requests import answered as softplus_answered
from pasb.covariates.parts import Part, digest_of, taken
from pasb.numerics.part_tree import reduced
from pasb.numerics.row_groups import NO_GROUPS, Groups
from pasb.numerics.rows import BLOCK, LEAST_ROWS, TILE, Rows

PartFunction = Callable[[Part, int, Any], list[Any]]
MOST_NUMBERS = 2**24  # of the answers of all parts, at the same time


class RowSums(ABC):
    """The parts of a table, and sums over them.

    Parameters
    ----------
    bounds : sequence of arrays
        Those of the parts: how many rows of each group they have.
    n_columns : int
    first_rows : integer array
        The number, in the table, of the first row of each part.
    groups : Groups
        Of the whole table, where not every category is available to every row; without them groups
        are categories.

    Attributes
    ----------
    n_passes, seconds, n_products : int, float, float
        Passes so far, the time that they took, and what they had to do, see `work_of`.
    """

    def __init__(
        self,
        bounds: Sequence[NDArray[np.int64]],
        n_columns: int,
        first_rows: NDArray[np.int64],
        groups: Groups = NO_GROUPS,
    ):
        self.bounds = np.stack(bounds)  # (parts, groups + 1)
        self.n_columns, self.first_rows, self.groups = n_columns, first_rows, groups
        self.n_passes, self.seconds, self.n_products = 0, 0.0, 0.0

    @abstractmethod
    def map(self, function: Callable[[Part, Any], Any], arguments: Sequence[Any]) -> list[Any]:
        """Call a pure function with every part and its argument."""

    @abstractmethod
    def one_pass(self, asked: list[Stacked], link: tuple[Any, ...]) -> list[Answer]:
        """Answers, added up over all parts."""

    @abstractmethod
    def added_up(self, function: PartFunction, argument: Any) -> list[Any]:
        """What a pure function returns for every part, added up over all of them.

        It gets the part, the number of its first row, and `argument`; it returns a list of tuples
        of arrays.
        """

    def one_softplus_pass(self, asked: list[SoftplusRequest]) -> list[SoftplusAnswer]:
        """Answers to softplus sticks, added up over all parts."""
        return self.added_up(answer_of_part, asked)

    def close(self) -> None:  # noqa: B027
        """Give back threads and memory."""

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return int(self.bounds[:, -1].sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each group."""
        return np.diff(self.bounds, axis=1).sum(axis=0)

    def ask(self, requests: list[Request], link: tuple[Any, ...]) -> list[Answer]:
        """Answer requests, in as few passes as memory allows."""

        def answer(some: list[Request]) -> list[Answer]:
            self.n_products += sum(map(work_of, some)) * self.n_rows
            return unstacked(some, self.one_pass(stacked(some), link))

        return self.in_turns(requests, answer_size, answer)

    def in_turns(
        self,
        requests: list[Any],
        size_of: Callable[[Any], int],
        answer: Callable[[list[Any]], list[Any]],
    ) -> list[Any]:
        """Answer requests by as few calls, each of them a pass, as memory allows.

        `size_of` tells how many numbers there are in the answer to a request.
        """
        most = max(1, MOST_NUMBERS // len(self.bounds))
        turns: list[list[Any]] = []
        size = most
        for request in requests:
            own = size_of(request)
            if size + own > most:
                turns.append([])
                size = 0
            turns[-1].append(request)
            size += own
        answers: list[Any] = []
        for turn in turns:
            began = monotonic()
            answers += answer(turn)
            self.seconds += monotonic() - began
            self.n_passes += 1
        return answers

    def at_most(self, n: int) -> Rows:
        """About `n` of the rows, evenly spaced within every group; see `Rows.at_most`."""
        total = self.n_rows
        ranks = [
            np.arange(size)
            if total <= n
            else np.linspace(0, size - 1, min(size, max(LEAST_ROWS, round(n / total * size))))
            for size in self.counts.tolist()
        ]
        table, weights, group, _ = self.take([own.astype(np.int64) for own in ranks])
        return replace(Rows.of(table, group, len(self.counts), weights), groups=self.groups)

    def take(self, ranks: Sequence[NDArray[np.int64]]) -> tuple[NDArray, ...]:
        """Rows by their rank within each group: columns, weights, groups, numbers.

        A row's number is that within the table.
        """
        n_parts = len(self.bounds)
        counts = np.diff(self.bounds, axis=1)
        ends = np.cumsum(counts, axis=0)
        positions: list[list[NDArray[np.int64]]] = [[] for _ in range(n_parts)]
        where: list[tuple[int, int]] = []  # part and number of rows, group by group
        for g, own in enumerate(ranks):
            part_of = np.searchsorted(ends[:, g], own, side="right")
            for part in np.unique(part_of).tolist():
                inside = own[part_of == part] - (ends[part, g] - counts[part, g])
                positions[part].append(self.bounds[part, g] + inside)
                where.append((part, len(inside)))
        nothing = np.zeros(0, dtype=np.int64)
        asked = [np.concatenate([nothing, *own]) for own in positions]
        found = self.map(taken, asked)
        used = np.zeros(n_parts, dtype=np.int64)
        pieces: list[tuple[NDArray, ...]] = []
        for part, n in where:
            rows = slice(used[part], used[part] + n)
            used[part] += n
            table, weights, source = found[part]
            pieces.append((table[rows], weights[rows], self.first_rows[part] + source[rows]))
        group = np.repeat(np.arange(len(ranks)), [len(own) for own in ranks])
        columns, weights, numbers = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return columns, weights, group, numbers


class LocalSums(RowSums):
    """Parts in this process, in memory or mapped into it; `n_jobs` threads go through them."""

    def __init__(
        self,
        parts: Sequence[Part],
        first_rows: NDArray[np.int64],
        n_jobs: int = 1,
        groups: Groups = NO_GROUPS,
    ):
        bounds = [part.bounds for part in parts]
        super().__init__(bounds, parts[0].n_columns, first_rows, groups)
        self.parts = list(parts)
        self.pool = ThreadPoolExecutor(n_jobs, thread_name_prefix="pasb")

    def map(self, function: Callable[[Part, Any], Any], arguments: Sequence[Any]) -> list[Any]:  # noqa: D102
        return list(self.pool.map(function, self.parts, arguments))

    def one_pass(self, asked: list[Stacked], link: tuple[Any, ...]) -> list[Answer]:  # noqa: D102
        def answer(part: Part) -> list[Answer]:
            return answered(part.rows(), link, asked)

        return reduced(list(self.pool.map(answer, self.parts)), all_added)

    def added_up(self, function: PartFunction, argument: Any) -> list[Any]:  # noqa: D102
        def answer(part: Part, first_row: int) -> list[Any]:
            return function(part, first_row, argument)

        found = list(self.pool.map(answer, self.parts, self.first_rows.tolist()))
        return reduced(found, all_added)

    def close(self) -> None:  # noqa: D102
        self.pool.shutdown(wait=False, cancel_futures=True)


def answer_of_part(part: Part, first_row: int, asked: list[Any]) -> list[SoftplusAnswer]:
    """The share of a part in the answers to softplus sticks."""
    return softplus_answered(part.rows(), first_row + part.source.astype(np.int64), asked)


def all_added(answers: Sequence[list[AnyAnswer]]) -> list[AnyAnswer]:
    """The sum of some answers, from the first to the last."""
    total = answers[0]
    for one in answers[1:]:
        total = added(total, one)
    return total


@dataclass(frozen=True)
class PartedRows(Rows):
    """Rows that are elsewhere: what chains and reports need to know of them, and who adds them up.

    Attributes
    ----------
    row_sums : RowSums
    digest : str
        Tells these rows from others.
    """

    row_sums: RowSums | None = field(default=None, compare=False, repr=False)
    digest: str = ""

    @classmethod
    def over(cls, row_sums: RowSums, digest: str = "") -> PartedRows:
        """The rows of all parts."""
        bounds = np.concatenate([[0], np.cumsum(row_sums.counts)]).astype(np.int64)
        n_columns = row_sums.n_columns
        nothing = np.zeros((0, -(-n_columns // TILE) * TILE, BLOCK))
        known = row_sums.groups
        return cls(nothing, np.zeros(0), bounds, n_columns, known, row_sums=row_sums, digest=digest)


def digest_of_all(row_sums: RowSums) -> str:
    """What tells the rows of all parts from others."""
    parts = row_sums.map(digest_of, [None] * len(row_sums.bounds))
    return hashlib.sha256(b"".join(parts)).hexdigest()
