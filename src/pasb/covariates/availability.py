"""Which classes a row could choose: checks of the table that says so.

Rows are counted from 1, as in other messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.frame_input import data_frame
from pasb.covariates.tables import count


def checked_availability(
    availability: Any,
    classes: NDArray,
    n_rows: int,
    chosen: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_] | None:
    """A boolean table (rows, classes); None where everything is available to every row.

    Parameters
    ----------
    availability : array or data frame of shape (n_rows, n_classes), or None
        True or 1 where a class is available. Columns of a data frame are named after the
        classes, in any order; those of an array are in the order of `classes`.
    classes : array of shape (n_classes,)
    n_rows : int
    chosen : integer array of shape (n_rows,), optional
        The number of the class that each row chose, which must be available to it.

    Examples
    --------
    >>> import numpy as np
    >>> classes = np.array(["bus", "car"])
    >>> checked_availability([[1, 1], [1, 0]], classes, 2)
    array([[ True,  True],
           [ True, False]])
    >>> checked_availability([[1, 1], [0, 0]], classes, 2)
    Traceback (most recent call last):
    ...
    ValueError: availability: nothing is available in row 2; leave such rows out
    """
    if availability is None:
        return None
    if isinstance(availability, Mapping):
        raise ValueError(
            "availability: a dictionary names columns of Parquet files or of a Dask data frame; "
            "for a table in memory pass a table of rows and classes"
        )
    table = _booleans(_columns(availability, classes))
    if table.shape != (n_rows, len(classes)):
        shape = " x ".join(map(str, table.shape))
        raise ValueError(
            f"availability must have a row for each of the {count(n_rows, 'row')} of X and a "
            f"column for each of the {len(classes)} classes ({_listed(classes)}); got {shape}"
        )
    nothing = ~np.any(table, axis=1)
    if nothing.any():
        raise ValueError(
            f"availability: nothing is available in {_rows(nothing)}; leave such rows out"
        )
    if chosen is not None:
        wrong = ~table[np.arange(n_rows), chosen]
        if wrong.any():
            first = int(np.argmax(wrong))
            raise ValueError(
                f"availability: {_rows(wrong)} chose a class that was not available, the first of "
                f"them {classes[chosen[first]]!s}: correct y or availability"
            )
    return None if table.all() else np.ascontiguousarray(table)


def _columns(availability: Any, classes: NDArray) -> NDArray:
    frame = data_frame(availability)
    if frame is None:
        return np.asarray(availability)
    labels = [str(label) for label in classes]
    extra = [name for name in frame.columns if name not in labels]
    if extra:
        raise ValueError(
            f"availability: column {extra[0]!r} is no class of the model ({_listed(classes)}); a "
            "class that nobody chose cannot be learned: leave it out"
        )
    for name in labels:
        if name not in frame.columns:
            raise ValueError(f"availability: there is no column {name!r} for this class")
    return np.column_stack([frame[name].to_numpy() for name in labels])


def _booleans(table: NDArray) -> NDArray[np.bool_]:
    if table.dtype == np.bool_:
        return table
    try:
        numbers = table.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("availability must hold True and False, or 1 and 0") from None
    wrong = (numbers != 0) & (numbers != 1)
    if wrong.any():
        place = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"availability must hold True and False, or 1 and 0; got {table[place]!r} in row "
            f"{place[0] + 1}"
        )
    return numbers == 1


def _rows(wrong: Any) -> str:
    n, first = int(wrong.sum()), int(np.argmax(wrong)) + 1
    return f"row {first}" if n == 1 else f"{n:,} rows, the first of them row {first}"


def _listed(classes: NDArray) -> str:
    shown = [str(label) for label in classes[:12]]
    return ", ".join(shown + (["..."] if len(classes) > 12 else []))
