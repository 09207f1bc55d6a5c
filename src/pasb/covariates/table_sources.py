"""Tables that are read piece by piece: arrays, also mapped from files, and Parquet files.

`pasb.covariates.dask_source` is the same for collections of Dask. A source knows the names of its
columns and how many pieces it has; a piece is loaded where it is needed, and can be sent to
another process, for it holds a path and not the rows.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.part_scan import PartError
from pasb.covariates.parts import Raw
from pasb.covariates.tables import PARQUET, nearest

ENCODE = "Encode it first, with pasb.TableEncoder or sklearn's OneHotEncoder, or drop it."
ROWS_OF_A_SLICE = 2**16


class TableSource(ABC):
    """A table in pieces.

    Attributes
    ----------
    names : list of str
        Of the covariates.
    has_names : bool
        Whether the table itself has them.
    n_pieces : int
    """

    names: list[str]
    has_names: bool
    n_pieces: int

    @abstractmethod
    def lengths(self) -> list[int] | None:
        """Rows of each piece; None where only loading them tells."""

    @abstractmethod
    def piece(self, number: int) -> Any:
        """An object with a method `load`, which returns a `Raw`."""


class ArraySource(TableSource):
    """Slices of an array, in memory or mapped from a file."""

    has_names = False

    def __init__(self, X: NDArray, y: Any, weights: Any = None, names: Any = None):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X must hold numbers, not {X.dtype}")
        self.X, self.y = X, clean_labels(y)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        for name, array in (("y", self.y), ("sample_weight", self.weights)):
            if array is not None and array.shape != (len(X),):
                raise ValueError(
                    f"{name} must hold one entry for each of the {len(X):,} rows of X; its shape "
                    f"is {array.shape}"
                )
        self.has_names = names is not None
        self.names = [f"x{v}" for v in range(X.shape[1])] if names is None else [*map(str, names)]
        self.n_pieces = -(-len(X) // ROWS_OF_A_SLICE)

    def lengths(self) -> list[int]:  # noqa: D102
        starts = range(0, len(self.X), ROWS_OF_A_SLICE)
        return [min(ROWS_OF_A_SLICE, len(self.X) - start) for start in starts]

    def piece(self, number: int) -> ArrayPiece:  # noqa: D102
        rows = slice(number * ROWS_OF_A_SLICE, (number + 1) * ROWS_OF_A_SLICE)
        weights = None if self.weights is None else self.weights[rows]
        return ArrayPiece(self.X[rows], self.y[rows], weights)


class ArrayPiece(NamedTuple):
    """Some rows of an array."""

    X: NDArray
    labels: NDArray
    weights: NDArray[np.float64] | None

    def load(self) -> Raw:
        """The rows."""
        return Raw(np.ascontiguousarray(self.X, dtype=np.float64), self.labels, self.weights)


class ParquetPiece(NamedTuple):
    """A row group of a Parquet file; without a target, its labels are zeros."""

    path: str
    group: int
    names: tuple[str, ...]
    target: str | None
    weight: str | None

    def load(self) -> Raw:
        """The rows."""
        import pyarrow as pa
        import pyarrow.parquet as parquet

        columns = [name for name in (*self.names, self.target, self.weight) if name is not None]
        with parquet.ParquetFile(self.path, pre_buffer=False) as file:
            table = file.read_row_group(self.group, columns=columns, use_threads=False)
        X = np.empty((table.num_rows, len(self.names)))
        for v, name in enumerate(self.names):
            X[:, v] = table.column(name).cast(pa.float64()).to_numpy()
        labels = np.zeros(len(X), dtype=np.int64)
        if self.target is not None:
            labels = clean_labels(table.column(self.target).to_pandas(), repr(self.target))
        weights = None
        if self.weight is not None:
            weights = table.column(self.weight).cast(pa.float64()).to_numpy()
        return Raw(X, labels, weights)


class ParquetSource(TableSource):
    """The row groups of one or several Parquet files.

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
    """

    has_names = True

    def __init__(
        self,
        path: str | os.PathLike,
        target: str | None,
        weight: str | None = None,
        names: Sequence[str] | None = None,
    ):
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError("Parquet needs pyarrow: pip install 'pasb[files]'") from error
        self.paths = parquet_files(path)
        self.groups: list[tuple[str, int, int]] = []  # file, row group, rows
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
            self.groups += [(file, g, n) for g, n in enumerate(sizes)]
        self.column_names = known = list(first[1].names)  # all of them
        for role, name in (("y", target), ("sample_weight", weight)):
            if name is not None and name not in known:
                raise ValueError(
                    f"{role}: {self.paths[0]} has no column {name!r}{nearest(name, known)}"
                )
        self.target, self.weight = target, weight
        missing = [name for name in names or () if name not in known]
        if missing:
            raise ValueError(
                f"{self.paths[0]} has no column {missing[0]!r}{nearest(missing[0], known)}"
            )
        chosen = known if names is None else names
        self.names = [name for name in chosen if name not in (target, weight)]
        _check_numbers(first[1], self.names, self.paths[0])
        self.n_pieces = len(self.groups)

    def lengths(self) -> list[int]:  # noqa: D102
        return [n for _, _, n in self.groups]

    def piece(self, number: int) -> ParquetPiece:  # noqa: D102
        path, group, _ = self.groups[number]
        return ParquetPiece(path, group, tuple(self.names), self.target, self.weight)


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
        raise ValueError(f"X: there is no Parquet file {text!r}")
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


def raw_of_frame(
    frame: Any, names: Sequence[str], target: Any, weights: Any, labels: Any = None
) -> Raw:
    """Rows of a pandas frame; `target` and `weights` are columns of it, or `labels` come apart."""
    X = np.empty((len(frame), len(names)))
    for v, name in enumerate(names):
        if name not in frame.columns:
            raise PartError(f"a partition has no column {name!r}; the first one has")
        column = frame[name]
        if getattr(column.dtype, "kind", "O") not in "fiub":
            raise PartError(f"column {name!r} does not hold numbers but {column.dtype}. {ENCODE}")
        X[:, v] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    own = frame[target] if labels is None else labels
    if isinstance(weights, str):
        weights = frame[weights]
    return _raw(X, own, weights)


def raw_of_array(X: Any, labels: Any, weights: Any) -> Raw:
    """Rows of an array."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise PartError(f"X must hold numbers, not {X.dtype}")
    return _raw(np.ascontiguousarray(X, dtype=np.float64), labels, weights)


def _raw(X: NDArray[np.float64], labels: Any, weights: Any) -> Raw:
    own = clean_labels(labels)
    given = None if weights is None else np.asarray(weights, dtype=np.float64)
    for name, array in (("y", own), ("sample_weight", given)):
        if array is not None and len(array) != len(X):
            raise PartError(
                f"a partition of X has {len(X)} rows and that of {name} {len(array)}: let both "
                "have the same partitions, or make the labels a column of X"
            )
    return Raw(X, own, given)


def clean_labels(labels: Any, name: str = "y") -> NDArray:
    """Labels as an array of numbers or of text."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise PartError(f"{name} must have one dimension; it has {values.ndim}")
    if values.dtype.kind == "M":
        raise PartError(f"{name} holds dates; make the labels text or whole numbers")
    if values.dtype != object:
        return values
    import pandas as pd

    missing = pd.isna(values)
    if missing.any():
        raise PartError(
            f"{name}: {int(missing.sum())} labels are missing. Drop those rows, or give them a "
            "class of their own."
        )
    texts = sum(isinstance(value, str) for value in values)
    if 0 < texts < len(values):
        raise PartError(f"{name} mixes text and numbers: make all labels text or all numbers")
    return values.astype(str) if texts else np.array(values.tolist())
