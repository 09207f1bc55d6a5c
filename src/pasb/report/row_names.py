"""What rows are called: their numbers in the table they come from, and their ids in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.plots.subject import Subject

MOST_IDS = 3  # columns


class RowNames(NamedTuple):
    """Names of rows.

    Attributes
    ----------
    number : integer array of shape (n_rows,)
        Numbers in the table that the rows come from.
    known : bool
        Whether a user gave these numbers; else rows count from 1 in the table of the report.
    ids : dict of str to list of str
        Columns that tell rows apart.
    """

    number: NDArray[np.int64]
    known: bool
    ids: dict[str, list[str]]

    @classmethod
    def of(cls, subject: Subject, X: Any, n_rows: int, given: ArrayLike | None) -> RowNames:
        """From the numbers that a user gave, if any, and the columns that the model left out."""
        ids = _ids(subject, X)
        if given is not None:
            return cls(_checked(given, n_rows), True, ids)
        return cls(np.arange(1, n_rows + 1), False, _index(X) | ids)

    def of_rows(self, rows: NDArray[np.int64]) -> RowNames:
        """Names of some of the rows."""
        ids = {name: [values[row] for row in rows] for name, values in self.ids.items()}
        return RowNames(self.number[rows], self.known, ids)


def _checked(given: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    numbers = np.asarray(given)
    if numbers.shape != (n_rows,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(
            f"row_numbers must hold an integer for each of the {n_rows} rows of X; got "
            f"{numbers.dtype} of shape {numbers.shape}"
        )
    return numbers.astype(np.int64)


def _ids(subject: Subject, X: Any) -> dict[str, list[str]]:
    """Columns of a table that its encoder left out because they tell rows apart."""
    encoder: Any = None if subject.before is None else subject.before.steps[0][1]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return {}
    names = [name for name in getattr(encoder, "ids_", ()) if name in frame.columns]
    return {
        name: ["" if value is None or value != value else str(value) for value in frame[name]]
        for name in names[:MOST_IDS]
    }


def _index(X: Any) -> dict[str, list[str]]:
    """The index of a pandas data frame, where it says more than where a row stands."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if index is None or (index.dtype.kind == "i" and np.array_equal(index, np.arange(len(index)))):
        return {}
    return {str(index.name or "index"): [str(value) for value in index]}
