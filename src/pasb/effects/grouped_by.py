"""What rows are grouped by: columns of the table, covariates or not, and labels beside it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.gaps import is_gap
from pasb.effects.altered_rows import check_known

UNNAMED = "group"


class NamedColumns(Protocol):
    """Rows with columns by name, such as `AlteredRows`."""

    columns: list[str]

    def column(self, name: str) -> NDArray:
        """The values of a column."""

    def __len__(self) -> int: ...


def grouped_by(
    rows: NamedColumns, by: Any, what: str = "a column of X", counted: str = "rows of X"
) -> tuple[list[str], list[list]]:
    """Names and values of what rows are grouped by.

    Parameters
    ----------
    rows : NamedColumns
    by : str, array, Series, or list of these
        Columns of the table, or a label for each row.
    what, counted : str
        What errors call a column, and the rows.
    """
    each = list(by) if isinstance(by, list | tuple) else [by]
    _check_no_labels(rows, each)
    names: list[str] = []
    columns: list[list] = []
    for one in each:
        if np.ndim(one) == 0:
            check_known(one, rows.columns, "by", what)
            name, values = str(one), rows.column(one)
        else:
            name, values = str(getattr(one, "name", None) or UNNAMED), np.asarray(one)
            if values.shape != (len(rows),):
                raise ValueError(
                    f"by: {name!r} must hold one label for each of the {len(rows)} {counted}; it "
                    f"has the shape {values.shape}"
                )
        labels = values.tolist()
        n_gaps = sum(map(is_gap, labels))
        if n_gaps:
            raise ValueError(
                f"by: {name!r} has no value in {n_gaps} of {len(rows)} {counted}; fill these gaps, "
                "or leave them out"
            )
        if name in names:
            raise ValueError(f"by: {name!r} is there twice; give one of them another name")
        names.append(name)
        columns.append(labels)
    return names, columns


def _check_no_labels(rows: NamedColumns, each: list) -> None:
    """Refuse a list of the rows' labels: in a list, every label is the name of a column."""
    plain = len(each) == len(rows) and all(np.ndim(one) == 0 for one in each)
    if plain and not set(each) & set(rows.columns):
        raise ValueError(
            f"by: a list holds names of columns, and {_shown(each[0])} is none of X. If it holds a "
            "label for each row, pass an array or a Series: by=np.asarray(labels)"
        )


def _shown(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
