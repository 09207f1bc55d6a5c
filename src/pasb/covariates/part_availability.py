"""Availability of rows in parts: flags as they are read, and the groups of a whole table.

Which groups of rows there are (`pasb.numerics.row_groups`) has to be known before any part can be
sorted, and by all who sort one. So a look at a part collects its *patterns*: distinct pairs of a
label and what was available with it. The groups of the table follow from those of all parts, in an
order that depends on the set of patterns alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.covariates.frame_input import data_frame
from pasb.covariates.tables import count, nearest
from pasb.numerics.row_groups import NO_GROUPS, Groups, grouped

NEITHER = 2  # a flag that is neither True nor False
ALWAYS = -1  # in place of a column, where a class is available to every row

Alternatives = Mapping[Any, str] | Sequence[Any] | None


class Patterns(NamedTuple):
    """Distinct labels and sets of available classes; arrays have an entry for each pair.

    Attributes
    ----------
    label : integer array
        Number among the labels of the rows that were looked at.
    available : boolean array of shape (n_patterns, n_columns)
    first : integer array
        The number, in the table, of the first such row.
    counts : integer array
        Rows.
    used : boolean array
        Whether any of them has a weight that is not zero.
    """

    label: NDArray[np.int64]
    available: NDArray[np.bool_]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    used: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        label: NDArray[np.int64],
        available: NDArray[np.bool_],
        first: NDArray[np.int64],
        counts: NDArray[np.int64],
        used: NDArray[np.bool_],
    ) -> Patterns:
        """Of rows, or of other patterns, some of which are the same."""
        group, groups = grouped(label, available)
        n = len(groups.category)
        earliest = np.full(n, np.iinfo(np.int64).max)
        np.minimum.at(earliest, group, first)
        total = np.zeros(n, dtype=np.int64)
        np.add.at(total, group, counts)
        return cls(*groups, earliest, total, np.bincount(group[used], minlength=n) > 0)

    @classmethod
    def of_rows(
        cls,
        label: NDArray[np.int64],
        flags: NDArray[np.uint8],
        weights: NDArray[np.float64],
        first_row: int,
    ) -> Patterns:
        """Of rows, of which the first has a number in the table."""
        numbers = first_row + np.arange(len(label))
        ones = np.ones(len(label), dtype=np.int64)
        return cls.of(label, flags == 1, numbers, ones, weights > 0)

    @classmethod
    def united(cls, each: Sequence[Patterns]) -> Patterns:
        """Of several parts, whose labels are numbered alike."""
        return cls.of(*(np.concatenate(arrays) for arrays in zip(*each, strict=True)))


def flags_of(values: ArrayLike) -> NDArray[np.uint8]:
    """Flags as numbers: 0, 1, or `NEITHER`.

    Examples
    --------
    >>> import numpy as np
    >>> flags_of(np.array([[True, False], [True, True]]))
    array([[1, 0],
           [1, 1]], dtype=uint8)
    >>> flags_of([1.0, np.nan, 0.0, 3.0])
    array([1, 2, 0, 2], dtype=uint8)
    """
    table = np.asarray(values)
    if table.dtype == np.bool_:
        return table.astype(np.uint8)
    try:
        numbers = table.astype(np.float64)
    except (TypeError, ValueError):
        return np.full(table.shape, NEITHER, dtype=np.uint8)
    return np.where(numbers == 0, 0, np.where(numbers == 1, 1, NEITHER)).astype(np.uint8)


def what_is_wrong(flags: NDArray[np.uint8] | None, first_row: int = 0) -> list[str]:
    """What to say of flags that are neither True nor False; `first_row` is that of the table."""
    if flags is None or not (flags == NEITHER).any():
        return []
    row = first_row + int(np.argmax((flags == NEITHER).any(axis=1))) + 1
    return [f"availability must hold True and False, or 1 and 0; row {row} holds something else"]


def table_in_memory(availability: Any, n_rows: int) -> tuple[list[Any] | None, NDArray]:
    """A table of rows and classes, and the classes that its columns are named after, if any."""
    if isinstance(availability, Mapping):
        raise ValueError(
            "availability: a dictionary names columns of Parquet files or of a Dask data frame; "
            "with an array pass a table of rows and classes"
        )
    frame, names = data_frame(availability), None
    if frame is None:
        table = np.asarray(availability)
    else:
        names = list(frame.columns)
        table = np.column_stack([flags_of(frame[name].to_numpy()) for name in names])
    if table.ndim != 2 or len(table) != n_rows:
        shape = " x ".join(map(str, table.shape))
        raise ValueError(
            f"availability must have a row for each of the {count(n_rows, 'row')} of X and a "
            f"column for each class; got {shape}"
        )
    return names, table


def checked_mapping(
    availability: Mapping[Any, str] | None, names: Sequence[str], where: str
) -> Mapping[Any, str] | None:
    """A dictionary of classes and columns, all of which are there; None if it is empty."""
    if availability is None:
        return None
    if not isinstance(availability, Mapping):
        raise ValueError(
            f"availability of {where} must be a dictionary from classes to columns, such as "
            f"{{'car': 'has_car'}}; got {type(availability).__name__}"
        )
    for label, name in availability.items():
        if name not in names:
            raise ValueError(
                f"availability of {label!r}: {where} has no column {name!r}"
                f"{nearest(str(name), list(names))}"
            )
    return dict(availability) or None


def columns_of_classes(
    alternatives: Alternatives, n_columns: int, classes: NDArray
) -> NDArray[np.int64]:
    """Which column says whether a class is available, or `ALWAYS`.

    Without `alternatives` columns are in the order of `classes`. A dictionary has columns of some
    classes, and the others are always available; a list has the class of each column, and all of
    them.

    Examples
    --------
    >>> import numpy as np
    >>> columns_of_classes({"car": "has_car"}, 1, np.array(["bus", "car"]))
    array([-1,  0])
    """
    known = ", ".join(map(str, classes[:12])) + (", ..." if len(classes) > 12 else "")
    if alternatives is None:
        if n_columns != len(classes):
            raise ValueError(
                f"availability has {count(n_columns, 'column')}, and there are {len(classes)} "
                f"classes: {known}"
            )
        return np.arange(n_columns)
    columns = np.full(len(classes), ALWAYS)
    places = {str(label): s for s, label in enumerate(classes)}
    for column, name in enumerate(alternatives):
        if str(name) not in places:
            raise ValueError(
                f"availability: {name!r} is no class of the model ({known}); a class that nobody "
                "chose cannot be learned: leave it out"
            )
        columns[places[str(name)]] = column
    missing = columns == ALWAYS
    if missing.any() and not isinstance(alternatives, Mapping):
        label = classes[np.argmax(missing)]
        raise ValueError(f"availability: there is no column {str(label)!r} for this class")
    return columns


def by_class(table: NDArray, columns: NDArray[np.int64]) -> NDArray:
    """A table of flags (rows, columns) as one of rows and classes."""
    out = np.ones((len(table), len(columns)), dtype=table.dtype)
    some = columns != ALWAYS
    out[:, some] = table[:, columns[some]]
    return out


def groups_of(
    patterns: Patterns | None, alternatives: Alternatives, classes: NDArray
) -> tuple[Groups, NDArray[np.int64]]:
    """The groups of a table, and which column of flags belongs to each class.

    No groups where everything is available to every row.

    Raises
    ------
    ValueError
        For rows with nothing available, and for rows whose class was not.
    """
    if patterns is None:
        return NO_GROUPS, NO_GROUPS.category
    columns = columns_of_classes(alternatives, patterns.available.shape[1], classes)
    available = by_class(patterns.available, columns)
    _refuse(
        patterns,
        np.asarray(~available.any(axis=1)),
        "availability: nothing is available in {rows}; leave such rows out",
        classes,
    )
    _refuse(
        patterns,
        ~available[np.arange(len(available)), patterns.label],
        "availability: {rows} chose a class that was not available, the first of them {label}: "
        "correct y or availability",
        classes,
    )
    used = patterns.used
    if available[used].all():
        return NO_GROUPS, columns
    return grouped(patterns.label[used], available[used])[1], columns


def _refuse(patterns: Patterns, wrong: NDArray[np.bool_], words: str, classes: NDArray) -> None:
    if not wrong.any():
        return
    n, first = int(patterns.counts[wrong].sum()), int(patterns.first[wrong].min())
    label = classes[patterns.label[wrong][np.argmin(patterns.first[wrong])]]
    row = f"row {first + 1}"
    rows = row if n == 1 else f"{n:,} rows, the first of them {row}"
    raise ValueError(words.format(rows=rows, label=label))
