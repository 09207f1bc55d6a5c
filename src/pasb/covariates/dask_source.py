"""Collections of Dask as a table in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pasb.covariates.part_availability import Alternatives, checked_mapping
from pasb.covariates.parts import Raw
from pasb.covariates.rows_elsewhere import is_dask
from pasb.covariates.table_sources import TableSource, raw_of_array, raw_of_frame


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


class DaskPiece(NamedTuple):
    """A partition: what it takes to make a `Raw`, as values that are computed later."""

    X: Any
    labels: Any
    weights: Any
    names: tuple[str, ...] | None
    target: Any
    available: Any

    def delayed(self) -> Any:
        """The `Raw` as a delayed value."""
        import dask

        if self.names is None:
            make = dask.delayed(raw_of_array, pure=True)
            return make(self.X, self.labels, self.weights, self.available)
        make = dask.delayed(raw_of_frame, pure=True)
        apart = self.labels, self.available
        return make(self.X, list(self.names), self.target, self.weights, *apart)

    def load(self) -> Raw:
        """The rows, computed by this thread."""
        return self.delayed().compute(scheduler="synchronous")


class DaskSource(TableSource):
    """A data frame or an array of Dask.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array
    y : str, or a collection with the same partitions
        A column of the data frame, or the labels by themselves.
    weights : str, or a collection with the same partitions, optional
    availability : dict, or a collection with the same partitions, optional
        Columns of the data frame that say whether a class is available, by class; or a table of
        rows and classes.
    """

    def __init__(self, X: Any, y: Any, weights: Any = None, availability: Any = None):
        self.has_names = _is_frame(X)
        if self.has_names:
            self._take_frame(X, y, weights, availability)
        else:
            self._take_array(X, y, weights, availability)

    def _take_frame(self, X: Any, y: Any, weights: Any, availability: Any) -> None:
        columns = [str(name) for name in X.columns]
        strange = [name for name in X.columns if not isinstance(name, str)]
        if strange:
            raise ValueError(f"columns of a Dask data frame must be named by text; {strange[0]!r}")
        taken = [name for name in (y, weights) if isinstance(name, str)]
        for name in taken:
            if name not in columns:
                raise ValueError(f"the Dask data frame has no column {name!r}")
        if isinstance(availability, Mapping):
            availability = checked_mapping(availability, columns, "the Dask data frame")
            taken += (availability or {}).values()
        self.names = [name for name in columns if name not in taken]
        pieces = X.to_delayed()
        self.n_pieces = len(pieces)
        labels = _beside(y, "y", self.n_pieces, True)
        own_weights = _beside(weights, "sample_weight", self.n_pieces, True)
        target = y if isinstance(y, str) else None
        self.alternatives, available = available_beside(availability, self.n_pieces, True)
        self._pieces = [
            DaskPiece(one, labels[k], own_weights[k], tuple(self.names), target, available[k])
            for k, one in enumerate(pieces)
        ]
        self._lengths: list[int] | None = None
        self._parts: Any = pieces

    def _take_array(self, X: Any, y: Any, weights: Any, availability: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        self.names = [f"x{v}" for v in range(X.shape[1])]
        pieces = X.to_delayed()[:, 0]
        self.n_pieces = len(pieces)
        known = [int(n) for n in X.chunks[0]] if known_lengths(X.chunks[0]) else None
        labels = _beside(y, "y", self.n_pieces, False, known)
        own_weights = _beside(weights, "sample_weight", self.n_pieces, False, known)
        beside = available_beside(availability, self.n_pieces, False, known)
        self.alternatives, available = beside
        self._pieces = [
            DaskPiece(one, labels[k], own_weights[k], None, None, available[k])
            for k, one in enumerate(pieces)
        ]
        self._lengths, self._parts = known, pieces

    def lengths(self) -> list[int] | None:  # noqa: D102
        return self._lengths

    def delayed_lengths(self) -> list[Any]:
        """The lengths as delayed values, where they are not known."""
        import dask

        return [dask.delayed(len, pure=True)(one) for one in self._parts]

    def piece(self, number: int) -> DaskPiece:  # noqa: D102
        return self._pieces[number]


def _beside(
    values: Any, name: str, n_pieces: int, has_names: bool, chunks: Sequence[float] | None = None
) -> list[Any]:
    """Labels, weights or availability by partition."""
    if values is None and name == "y":
        raise ValueError("y is missing: the labels, or the name of their column")
    if values is None or (isinstance(values, str) and has_names):
        return [None if name == "y" else values] * n_pieces
    if not is_dask(values):
        raise ValueError(
            f"{name} must be a collection of Dask with the partitions of X, or the name of a "
            f"column of X; got {type(values).__name__}"
        )
    if chunks is not None and hasattr(values, "chunks") and known_lengths(values.chunks[0]):
        if sum(values.chunks[0]) != sum(chunks):
            raise ValueError(f"X has {sum(chunks):,} rows and {name} {sum(values.chunks[0]):,}")
        values = values.rechunk({0: tuple(chunks)})
    pieces = values.to_delayed()
    pieces = list(pieces.ravel() if hasattr(pieces, "ravel") else pieces)
    if len(pieces) != n_pieces:
        raise ValueError(
            f"X has {n_pieces} partitions and {name} {len(pieces)}: let both have the same, or "
            "make it a column of X"
        )
    return pieces


def available_beside(
    availability: Any, n_pieces: int, has_names: bool, chunks: Sequence[float] | None = None
) -> tuple[Alternatives, list[Any]]:
    """The classes that availability is of, and what is said by partition.

    That is a list of columns of the partition itself, or a table as a delayed value; see
    `pasb.covariates.table_sources.flags_beside`.
    """
    if availability is None or (isinstance(availability, Mapping) and not availability):
        return None, [None] * n_pieces
    if isinstance(availability, Mapping) and has_names:
        return availability, [list(availability.values())] * n_pieces
    if isinstance(availability, Mapping):
        raise ValueError(
            "availability: a dictionary names columns of a data frame; with a Dask array pass a "
            "Dask array of rows and classes"
        )
    if not is_dask(availability):
        raise ValueError(
            "availability must be a collection of Dask with the partitions of X, or a dictionary "
            f"from classes to columns of a Dask data frame; got {type(availability).__name__}"
        )
    if _is_frame(availability):
        return list(availability.columns), _beside(availability, "availability", n_pieces, False)
    if availability.ndim != 2:
        raise ValueError("availability must have two dimensions, rows and classes")
    whole = availability.rechunk({1: -1})
    return None, _beside(whole, "availability", n_pieces, False, chunks)


def known_lengths(chunks: Any) -> bool:
    """Whether it is known how many rows chunks have."""
    return all(n == n for n in chunks)
