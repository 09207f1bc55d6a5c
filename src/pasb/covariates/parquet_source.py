"""Parquet files as a table in pieces, which are never larger than `ROWS_OF_A_SLICE`.

A piece is a slice of a row group. Row groups may be of any size, so they are decoded batch by
batch: what memory this takes does not depend on them. Who asks for all slices in their order has
each group decoded once; a slice alone costs the decoding of those before it in its group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pasb.covariates.part_availability import checked_mapping, flags_of
from pasb.covariates.parts import Raw
from pasb.covariates.table_sources import ENCODE, ROWS_OF_A_SLICE, TableSource, clean_labels
from pasb.covariates.tables import PARQUET, nearest

BUFFER = 2**18  # bytes of a column that are read at a time


class ParquetPiece(NamedTuple):
    """Rows `start` to `stop` of a row group; without a target, their labels are zeros."""

    path: str
    group: int
    start: int
    stop: int
    names: tuple[str, ...]
    target: str | None
    weight: str | None
    available: tuple[str, ...] = ()  # columns that say what is

    @property
    def columns(self) -> list[str]:
        """All that is read."""
        named = (*self.names, self.target, self.weight, *self.available)
        return list(dict.fromkeys(name for name in named if name is not None))

    def load(self) -> Raw:
        """The rows."""
        with _Group(self) as group:
            return group.load(self)


class _Group:
    """A row group that is being decoded, from its first row to its last."""

    def __init__(self, piece: ParquetPiece):
        import pyarrow.parquet as parquet

        self.name, self.position = piece._replace(start=0, stop=0), 0
        self.file = parquet.ParquetFile(piece.path, pre_buffer=False, buffer_size=BUFFER)
        self.batches: Iterator[Any] = self.file.iter_batches(
            ROWS_OF_A_SLICE, row_groups=[piece.group], columns=piece.columns, use_threads=False
        )
        self.left: Any = None  # of the last batch

    def goes_on_to(self, piece: ParquetPiece) -> bool:
        """Whether a piece is further on in this group."""
        return self.name == piece._replace(start=0, stop=0) and self.position <= piece.start

    def load(self, piece: ParquetPiece) -> Raw:
        """The rows of a piece that is further on."""
        for _ in self._rows(piece.start - self.position):
            pass
        return _joined(list(self._rows(piece.stop - piece.start)), piece)

    def _rows(self, n: int) -> Iterator[Any]:
        """The next rows, in batches."""
        self.position += n
        while n > 0:
            batch = next(self.batches) if self.left is None else self.left
            yield batch.slice(0, n)
            self.left = batch.slice(n) if batch.num_rows > n else None
            n -= min(n, batch.num_rows)

    def __enter__(self) -> _Group:
        return self

    def __exit__(self, *exception: object) -> None:
        self.batches, self.left = iter(()), None
        self.file.close()


def _joined(batches: list[Any], piece: ParquetPiece) -> Raw:
    """Batches as rows of numbers, labels, weights and flags."""
    import pyarrow as pa

    X = np.empty((piece.stop - piece.start, len(piece.names)))
    table = pa.Table.from_batches(batches)
    for v, name in enumerate(piece.names):
        X[:, v] = table.column(name).cast(pa.float64()).to_numpy()
    labels = np.zeros(len(X), dtype=np.int64)
    if piece.target is not None:
        labels = clean_labels(table.column(piece.target).to_pandas(), repr(piece.target))
    weights = None
    if piece.weight is not None:
        weights = table.column(piece.weight).cast(pa.float64()).to_numpy()
    if not piece.available:
        return Raw(X, labels, weights)
    said = [table.column(name).cast(pa.float64()).to_numpy() for name in piece.available]
    return Raw(X, labels, weights, flags_of(np.column_stack(said)))


class _Loader:
    """Loads pieces by their number, and continues where the last one ended."""

    def __init__(self, source: ParquetSource):
        self.source = source
        self.group: _Group | None = None

    def __call__(self, number: int) -> Raw:
        piece = self.source.piece(number)
        if self.group is None or not self.group.goes_on_to(piece):
            self.close()
            self.group = _Group(piece)
        raw = self.group.load(piece)
        if self.source.ends_group(number):
            self.close()
        return raw

    def close(self) -> None:
        """Close the file."""
        if self.group is not None:
            self.group.__exit__()
            self.group = None


class ParquetSource(TableSource):
    """Slices of the row groups of one or several Parquet files.

    Parameters
    ----------
    path : path
        A file, a folder of files that end in ``.parquet``, or a pattern such as ``data/*.parquet``;
        files are taken in the order of their names.
    target : str or None
        The column of the labels; without one they are zeros, for predictions.
    weight : str, optional
        The column of the weights.
    names : sequence of str, optional
        The covariates; by default all other columns.
    availability : dict, optional
        The column that says whether a class is available, for each class that has one.
    """

    has_names = True

    def __init__(
        self,
        path: str | os.PathLike,
        target: str | None,
        weight: str | None = None,
        names: Sequence[str] | None = None,
        availability: Mapping[Any, str] | None = None,
    ):
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError("Parquet needs pyarrow: pip install 'pasb[files]'") from error
        self.paths = parquet_files(path)
        self.slices: list[tuple[str, int, int, int]] = []  # file, row group, first row and last
        first: Any = None
        for file in self.paths:
            try:
                with parquet.ParquetFile(file, pre_buffer=False) as opened:
                    schema, metadata = opened.schema_arrow, opened.metadata
            except (OSError, ValueError) as error:
                raise ValueError(f"{file} cannot be read as Parquet: {error}") from error
            first = first or (file, schema)
            _check_same_columns(first[0], first[1], file, schema)
            sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
            for group, size in enumerate(sizes):
                starts = range(0, size, ROWS_OF_A_SLICE)
                ends = [min(start + ROWS_OF_A_SLICE, size) for start in starts]
                self.slices += [(file, group, *ab) for ab in zip(starts, ends, strict=True)]
        self.column_names = known = list(first[1].names)  # all of them
        for role, name in (("y", target), ("sample_weight", weight)):
            if name is not None and name not in known:
                raise ValueError(
                    f"{role}: {self.paths[0]} has no column {name!r}{nearest(name, known)}"
                )
        self.target, self.weight = target, weight
        self.alternatives = checked_mapping(availability, known, self.paths[0])
        self.available = tuple((self.alternatives or {}).values())
        missing = [name for name in names or () if name not in known]
        if missing:
            raise ValueError(
                f"{self.paths[0]} has no column {missing[0]!r}{nearest(missing[0], known)}"
            )
        chosen = [name for name in known if name not in self.available] if names is None else names
        self.names = [name for name in chosen if name not in (target, weight)]
        _check_numbers(first[1], self.names, self.paths[0])
        for name in self.available:
            kind = _kind(first[1].field(name).type)
            if kind != "numbers":
                raise ValueError(
                    f"{self.paths[0]}: availability: column {name!r} must hold True and False, or "
                    f"1 and 0; it holds {kind}"
                )
        self.n_pieces = len(self.slices)

    def lengths(self) -> list[int]:  # noqa: D102
        return [stop - start for *_, start, stop in self.slices]

    def piece(self, number: int) -> ParquetPiece:  # noqa: D102
        names = tuple(self.names)
        return ParquetPiece(*self.slices[number], names, self.target, self.weight, self.available)

    def ends_group(self, number: int) -> bool:
        """Whether no slice of the same row group follows."""
        following = self.slices[number + 1 : number + 2]
        return not following or following[0][:2] != self.slices[number][:2]

    def loader(self) -> Callable[[int], Raw]:  # noqa: D102
        return _Loader(self)


def is_many(path: str | os.PathLike) -> bool:
    """Whether a path is a folder or a pattern, which can stand for several files."""
    return not Path(path).is_file() and (Path(path).is_dir() or has_magic(os.fspath(path)))


def is_parquet(path: str | os.PathLike) -> bool:
    """Whether a path is a Parquet file by its name, or stands for several."""
    return is_many(path) or (Path(path).suffix in PARQUET and Path(path).is_file())


def parquet_files(path: str | os.PathLike) -> list[str]:
    """The files that a path, a folder or a pattern stands for, sorted by name."""
    text = os.fspath(path)
    if "://" in text:
        raise ValueError(
            f"{text!r} is not a path of this machine: read it with dask.dataframe.read_parquet, "
            "and fit the data frame"
        )
    if has_magic(text):
        found = sorted(name for name in glob(text, recursive=True) if Path(name).is_file())
    elif Path(text).is_dir():
        found = sorted(str(name) for name in Path(text).iterdir() if name.suffix in PARQUET)
    else:
        found = [text] if Path(text).is_file() else []
        if found and Path(text).suffix not in PARQUET:
            raise ValueError(f"{text} does not end in .parquet; other files are read into memory")
    if not found:
        if Path(text).is_dir():
            raise ValueError(f"X: {text!r} is a folder, and there is no Parquet file in it")
        raise ValueError(f"X: no such file: there is no Parquet file {text!r}")
    return found


def _check_same_columns(file: str, schema: Any, other: str, its: Any) -> None:
    """Refuse files whose columns differ in name or kind."""
    ours, theirs = set(schema.names), set(its.names)
    for here, there, missing in ((other, file, ours - theirs), (file, other, theirs - ours)):
        if missing:
            raise ValueError(
                f"columns differ between files: {here} has no column {sorted(missing)[0]!r}, which "
                f"{there} has"
            )
    for name in schema.names:
        kinds = [_kind(one.field(name).type) for one in (schema, its)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"columns differ between files: {name!r} holds {kinds[0]} in {file} and {kinds[1]} "
                f"in {other}"
            )


def _kind(dtype: Any) -> str:
    import pyarrow.types as types

    numbers = types.is_integer, types.is_floating, types.is_boolean
    return "numbers" if any(test(dtype) for test in numbers) else str(dtype)


def _check_numbers(schema: Any, names: list[str], file: str) -> None:
    for name in names:
        kind = _kind(schema.field(name).type)
        if kind != "numbers":
            raise ValueError(f"{file}: column {name!r} does not hold numbers but {kind}. {ENCODE}")
