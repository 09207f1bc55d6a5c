"""Collections of Dask as a table in pieces."""

from __future__ import annotations

from typing import Any, NamedTuple

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

    def delayed(self) -> Any:
        """The `Raw` as a delayed value."""
        import dask

        if self.names is None:
            make = dask.delayed(raw_of_array, pure=True)
            return make(self.X, self.labels, self.weights)
        make = dask.delayed(raw_of_frame, pure=True)
        return make(self.X, list(self.names), self.target, self.weights, self.labels)

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
    """

    def __init__(self, X: Any, y: Any, weights: Any = None):
        self.has_names = _is_frame(X)
        if self.has_names:
            self._take_frame(X, y, weights)
        else:
            self._take_array(X, y, weights)

    def _take_frame(self, X: Any, y: Any, weights: Any) -> None:
        columns = [str(name) for name in X.columns]
        strange = [name for name in X.columns if not isinstance(name, str)]
        if strange:
            raise ValueError(f"columns of a Dask data frame must be named by text; {strange[0]!r}")
        taken = [name for name in (y, weights) if isinstance(name, str)]
        for name in taken:
            if name not in columns:
                raise ValueError(f"the Dask data frame has no column {name!r}")
        self.names = [name for name in columns if name not in taken]
        pieces = X.to_delayed()
        self.n_pieces = len(pieces)
        labels = self._beside(y, "y")
        own_weights = self._beside(weights, "sample_weight")
        target = y if isinstance(y, str) else None
        self._pieces = [
            DaskPiece(one, labels[k], own_weights[k], tuple(self.names), target)
            for k, one in enumerate(pieces)
        ]
        self._lengths: list[int] | None = None
        self._parts: Any = pieces

    def _take_array(self, X: Any, y: Any, weights: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; it has {X.ndim}")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        self.names = [f"x{v}" for v in range(X.shape[1])]
        pieces = X.to_delayed()[:, 0]
        self.n_pieces = len(pieces)
        known = [int(n) for n in X.chunks[0]] if _known(X.chunks[0]) else None
        labels = self._beside(y, "y", known)
        own_weights = self._beside(weights, "sample_weight", known)
        self._pieces = [
            DaskPiece(one, labels[k], own_weights[k], None, None) for k, one in enumerate(pieces)
        ]
        self._lengths, self._parts = known, pieces

    def _beside(self, values: Any, name: str, chunks: list[int] | None = None) -> list[Any]:
        """Labels or weights by partition."""
        if values is None and name == "y":
            raise ValueError("y is missing: the labels, or the name of their column")
        if values is None or (isinstance(values, str) and self.has_names):
            return [None if name == "y" else values] * self.n_pieces
        if not is_dask(values):
            raise ValueError(
                f"{name} must be a collection of Dask with the partitions of X, or the name of a "
                f"column of X; got {type(values).__name__}"
            )
        if chunks is not None and hasattr(values, "chunks") and _known(values.chunks[0]):
            if sum(values.chunks[0]) != sum(chunks):
                raise ValueError(f"X has {sum(chunks):,} rows and {name} {sum(values.chunks[0]):,}")
            values = values.rechunk((tuple(chunks),))
        pieces = values.to_delayed()
        pieces = list(pieces.ravel() if hasattr(pieces, "ravel") else pieces)
        if len(pieces) != self.n_pieces:
            raise ValueError(
                f"X has {self.n_pieces} partitions and {name} {len(pieces)}: let both have the "
                "same, or make it a column of X"
            )
        return pieces

    def lengths(self) -> list[int] | None:  # noqa: D102
        return self._lengths

    def delayed_lengths(self) -> list[Any]:
        """The lengths as delayed values, where they are not known."""
        import dask

        return [dask.delayed(len, pure=True)(one) for one in self._parts]

    def piece(self, number: int) -> DaskPiece:  # noqa: D102
        return self._pieces[number]


def _known(chunks: Any) -> bool:
    return all(n == n for n in chunks)
