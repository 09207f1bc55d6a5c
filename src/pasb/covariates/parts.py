"""Parts of a table: so many rows each, wherever they come from.

A table that is not held in memory consists of *pieces*: row groups of Parquet files, partitions of
a collection, slices of arrays. It is cut into *parts* of `ROWS_OF_A_PART` rows, from the first row
to the last, whatever the pieces are. So the same rows make the same parts, and the same sums,
whoever holds them and in how many pieces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.part_availability import by_class
from pasb.covariates.scaling import Scaling
from pasb.numerics.row_groups import NO_GROUPS, Groups, numbered
from pasb.numerics.rows import BLOCK, Rows, blocked, sorting

ROWS_OF_A_PART = 2**16


class PieceRange(NamedTuple):
    """Rows `start` to `stop` of a piece."""

    piece: int
    start: int
    stop: int


def cut(lengths: Sequence[int], size: int = ROWS_OF_A_PART) -> list[list[PieceRange]]:
    """Cut pieces of these lengths into parts.

    Examples
    --------
    >>> cut([3, 0, 5], size=4)
    [[PieceRange(piece=0, start=0, stop=3), PieceRange(piece=2, start=0, stop=1)],
     [PieceRange(piece=2, start=1, stop=5)]]
    """
    parts: list[list[PieceRange]] = []
    room = 0
    for piece, length in enumerate(lengths):
        start = 0
        while start < length:
            if room == 0:
                parts.append([])
                room = size
            stop = min(length, start + room)
            parts[-1].append(PieceRange(piece, start, stop))
            room -= stop - start
            start = stop
    return parts


class Raw(NamedTuple):
    """Rows as they were read: covariates, labels; weights and availability if there are any.

    `flags` (rows, columns) say what was available, see `pasb.covariates.part_availability`.
    """

    X: NDArray[np.float64]
    labels: NDArray
    weights: NDArray[np.float64] | None
    flags: NDArray[np.uint8] | None = None

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """The weights, or ones."""
        return np.ones(len(self.labels)) if self.weights is None else self.weights

    def rows(self, start: int, stop: int) -> Raw:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[start:stop]
        flags = None if self.flags is None else self.flags[start:stop]
        return Raw(self.X[start:stop], self.labels[start:stop], weights, flags)

    @classmethod
    def joined(cls, parts: Sequence[Raw]) -> Raw:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        weights = [part.weights for part in parts if part.weights is not None]
        flags = [part.flags for part in parts if part.flags is not None]
        return cls(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate(weights) if weights else None,
            np.concatenate(flags) if flags else None,
        )


def gathered(ranges: Sequence[PieceRange], raws: Sequence[Raw]) -> Raw:
    """The rows of a part, from the pieces it is cut from."""
    return Raw.joined(
        [raw.rows(one.start, one.stop) for one, raw in zip(ranges, raws, strict=True)]
    )


class PartPlan(NamedTuple):
    """What turns rows as they were read into those of a model.

    Attributes
    ----------
    classes : array of shape (n_classes,)
    factors : array of shape (n_classes,) or None
        Weights of the classes, unless they are all 1.
    scaling : Scaling
    dtype : str
        In which covariates are stored: "float64" or "float32".
    groups : Groups
        Of the whole table, where not every class is available to every row.
    columns : integer array
        Which column of the flags belongs to each class.
    """

    classes: NDArray
    factors: NDArray[np.float64] | None
    scaling: Scaling
    dtype: str
    groups: Groups = NO_GROUPS
    columns: NDArray[np.int64] = NO_GROUPS.category


@dataclass(frozen=True)
class Part:
    """The rows of a part, scaled, sorted by group and in blocks (`pasb.numerics.rows`).

    Attributes
    ----------
    blocks : array of shape (n_blocks, n_padded_columns, BLOCK)
        Of float64 or, to save room, float32; all sums are taken in float64.
    weights : array or None
    bounds : array of shape (n_groups + 1,)
        Groups are those of the whole table: categories, unless not everything is available to
        every row (`pasb.numerics.row_groups`).
    n_columns : int
    source : integer array
        Where in the part each row was before it was sorted.
    """

    blocks: NDArray
    weights: NDArray[np.float64] | None
    bounds: NDArray[np.int64]
    n_columns: int
    source: NDArray[np.int32]

    def rows(self) -> Rows:
        """As kernels take them."""
        blocks = _own(self.blocks.astype(np.float64, copy=False))
        weights = None if self.weights is None else _own(self.weights)
        return Rows(blocks, weights, _own(self.bounds), self.n_columns)

    def __sizeof__(self) -> int:
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return sum(array.nbytes for array in arrays)  # Dask spills by what this says

    def kept_in(self, folder: Path, name: str) -> Part:
        """The same part with its covariates in a file, mapped into memory."""
        path = folder / f"{name}.npy"
        np.save(path, self.blocks)
        blocks = np.asarray(np.load(path, mmap_mode="c"))  # as if it could be written to
        return Part(blocks, self.weights, self.bounds, self.n_columns, self.source)


def _own(array: NDArray) -> NDArray:
    """An array that may be written to: for others kernels would be compiled once more."""
    return array if array.flags.writeable else array.copy()


def prepared(raw: Raw, plan: PartPlan) -> Part:
    """A part as the model sees it; rows of weight zero are left out."""
    categories = np.searchsorted(plan.classes, raw.labels)
    weights = raw.row_weights
    if plan.factors is not None:
        weights = weights * plan.factors[categories]
    used = np.flatnonzero(weights > 0)
    group, n_groups = categories[used], len(plan.classes)
    if plan.groups.given:
        assert raw.flags is not None
        available = by_class(raw.flags[used] == 1, plan.columns)
        group, n_groups = numbered(group, available, plan.groups), len(plan.groups.category)
    source = used[sorting(group)]
    blocks = blocked(plan.scaling.with_constant(raw.X), source)
    n_blocks = -(-len(source) // BLOCK)
    counts = np.bincount(group, minlength=n_groups)
    own = weights[source]
    return Part(
        blocks=np.ascontiguousarray(blocks[:n_blocks].astype(plan.dtype, copy=False)),
        weights=None if np.all(own == 1) else own,
        bounds=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        n_columns=raw.X.shape[1] + 1,
        source=source.astype(np.int32),
    )


def taken(part: Part, positions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray, Any]:
    """Columns, weights and numbers within the part of some of its rows, as sorted."""
    table = part.blocks[positions // BLOCK, : part.n_columns, positions % BLOCK]
    weights = np.ones(len(positions)) if part.weights is None else part.weights[positions]
    return table.astype(np.float64), weights, part.source[positions]


def has_weights(part: Part, _: Any = None) -> bool:
    """Whether some rows of a part have a weight other than 1."""
    return part.weights is not None


def digest_of(part: Part, _: Any = None) -> bytes:
    """What tells a part from others."""
    digest = hashlib.sha256()
    for array in (part.blocks, part.bounds, part.weights, part.source):
        if array is not None:
            digest.update(repr((array.shape, str(array.dtype))).encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
