"""Tables that are read piece by piece, and arrays as such, also mapped from files.

`pasb.covariates.parquet_source` is the same for Parquet files, `pasb.covariates.dask_source` for
collections of Dask. A source knows the names of its columns and how many pieces it has; a piece is
loaded where it is needed, and one of a file can be sent to another process, for it holds a path and
not the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.part_availability import Alternatives, flags_of, table_in_memory
from pasb.covariates.part_scan import PartError
from pasb.covariates.parts import Raw

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
    alternatives : dict, list or None
        The classes that columns of availability belong to, see
        `pasb.covariates.part_availability.columns_of_classes`.
    """

    names: list[str]
    alternatives: Alternatives = None
    has_names: bool
    n_pieces: int

    @abstractmethod
    def lengths(self) -> list[int] | None:
        """Rows of each piece; None where only loading them tells."""

    @abstractmethod
    def piece(self, number: int) -> Any:
        """An object with a method `load`, which returns a `Raw`."""

    def loader(self) -> Callable[[int], Raw]:
        """What loads pieces by their number; quick if they are asked for in their order."""
        return lambda number: self.piece(number).load()


class ArraySource(TableSource):
    """Slices of an array, in memory or mapped from a file."""

    has_names = False

    def __init__(
        self,
        X: NDArray,
        y: Any,
        weights: Any = None,
        names: Any = None,
        availability: Any = None,
    ):
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
        self.available: NDArray | None = None
        if availability is not None:
            self.alternatives, self.available = table_in_memory(availability, len(X))
        self.has_names = names is not None
        self.names = [f"x{v}" for v in range(X.shape[1])] if names is None else [*map(str, names)]
        self.n_pieces = -(-len(X) // ROWS_OF_A_SLICE)

    def lengths(self) -> list[int]:  # noqa: D102
        starts = range(0, len(self.X), ROWS_OF_A_SLICE)
        return [min(ROWS_OF_A_SLICE, len(self.X) - start) for start in starts]

    def piece(self, number: int) -> ArrayPiece:  # noqa: D102
        rows = slice(number * ROWS_OF_A_SLICE, (number + 1) * ROWS_OF_A_SLICE)
        weights = None if self.weights is None else self.weights[rows]
        available = None if self.available is None else self.available[rows]
        return ArrayPiece(self.X[rows], self.y[rows], weights, available)


class ArrayPiece(NamedTuple):
    """Some rows of an array."""

    X: NDArray
    labels: NDArray
    weights: NDArray[np.float64] | None
    available: NDArray | None

    def load(self) -> Raw:
        """The rows."""
        flags = None if self.available is None else flags_of(self.available)
        X = np.ascontiguousarray(self.X, dtype=np.float64)
        return Raw(X, self.labels, self.weights, flags)


def raw_of_frame(
    frame: Any,
    names: Sequence[str],
    target: Any,
    weights: Any,
    labels: Any = None,
    available: Any = None,
) -> Raw:
    """Rows of a pandas frame.

    `target`, `weights` and, as a list, `available` are columns of it; or they, and `labels`, come
    apart.
    """
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
    return _raw(X, own, weights, flags_beside(frame, available))


def flags_beside(rows: Any, available: Any) -> NDArray[np.uint8] | None:
    """What is said of availability: columns of `rows` as a list, or a table apart from them."""
    if available is None:
        return None
    if isinstance(available, list):
        return _frame_flags(rows, available)
    if hasattr(available, "columns"):
        return _frame_flags(available, list(available.columns))
    return flags_of(available)


def _frame_flags(frame: Any, names: Sequence[str]) -> NDArray[np.uint8]:
    """Columns of a pandas frame that say what is available."""
    out = np.empty((len(frame), len(names)), dtype=np.uint8)
    for v, name in enumerate(names):
        if name not in frame.columns:
            raise PartError(f"availability: there is no column {name!r}")
        column = frame[name]
        if getattr(column.dtype, "kind", "O") not in "fiub":
            raise PartError(
                f"availability: column {name!r} must hold True and False, or 1 and 0; it holds "
                f"{column.dtype}"
            )
        out[:, v] = flags_of(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return out


def raw_of_array(X: Any, labels: Any, weights: Any, available: Any = None) -> Raw:
    """Rows of an array."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise PartError(f"X must hold numbers, not {X.dtype}")
    flags = flags_beside(X, available)
    return _raw(np.ascontiguousarray(X, dtype=np.float64), labels, weights, flags)


def _raw(X: NDArray[np.float64], labels: Any, weights: Any, flags: NDArray[np.uint8] | None) -> Raw:
    own = clean_labels(labels)
    given = None if weights is None else np.asarray(weights, dtype=np.float64)
    for name, array in (("y", own), ("sample_weight", given), ("availability", flags)):
        if array is not None and len(array) != len(X):
            raise PartError(
                f"a partition of X has {len(X)} rows and that of {name} {len(array)}: let both "
                "have the same partitions, or make the labels a column of X"
            )
    return Raw(X, own, given, flags)


def clean_labels(labels: Any, name: str = "y") -> NDArray:
    """Labels as an array of numbers or of text."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise PartError(f"{name} must have one dimension; it has {values.ndim}")
    if values.dtype.kind == "M":
        raise PartError(f"{name} holds dates; make the labels text or integers")
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
