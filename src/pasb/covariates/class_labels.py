"""The labels of a target column: text, integers or booleans, each with the value it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.tables import Problems, count

if TYPE_CHECKING:
    import pandas as pd

# texts that mean a missing label; "None" is left out, as it is a plausible class
_NO_LABEL = frozenset(
    {"", "nan", "NaN", "NAN", "NA", "N/A", "n/a", "#N/A", "null", "Null", "NULL", "<NA>", "?"}
)
EXACT = 2**53  # floats hold every integer up to here


def class_labels(column: pd.Series) -> tuple[NDArray, NDArray[np.bool_]]:
    """Labels, and which rows have none.

    Parameters
    ----------
    column : pandas.Series
        The target.

    Returns
    -------
    array of shape (n_rows,)
        Booleans, 64-bit integers, or text; integers that do not fit are text. The labels of rows
        that have none mean nothing.
    array of bool of shape (n_rows,)
    """
    import pandas as pd

    gaps = column.isna().to_numpy(dtype=bool)
    if pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=bool, na_value=False), gaps
    if pd.api.types.is_integer_dtype(column):
        try:
            signed: NDArray = column.fillna(0).to_numpy(dtype=object)
            return np.array([int(v) for v in signed], dtype=_integer_type(signed)), gaps
        except OverflowError:
            pass
    values = column.astype(object).where(~gaps, None).tolist()
    if pd.api.types.is_float_dtype(column):
        filled = np.array([v for v in values if v is not None], dtype=np.float64)
        if np.all(filled == np.floor(filled)) and np.all(np.abs(filled) <= EXACT):
            return np.array([0 if v is None else int(v) for v in values], dtype=np.int64), gaps
    text = np.array([label_text(value) for value in values])
    return text, gaps | np.isin(text, list(_NO_LABEL))


def label_text(value: Any) -> str:
    """A label as text; a decimal or float without a fraction as an integer."""
    import decimal

    if isinstance(value, decimal.Decimal) and value == value.to_integral_value():
        return str(int(value))
    return str(value).strip()


def check_labels(labels: NDArray, gaps: NDArray[np.bool_], target: str, problems: Problems) -> None:
    """Note what keeps a column from being one of classes: gaps, one class, a measurement."""
    if gaps.any():
        first = int(np.argmax(gaps)) + 1
        problems.add(
            f"column {target!r} has {count(int(gaps.sum()), 'missing label')}, the first in row "
            f"{first}. Drop those rows first, or with --missing drop"
        )
    if gaps.all():
        return
    distinct = np.unique(labels[~gaps])
    n_rows = int((~gaps).sum())
    if len(distinct) < 2:
        problems.add(
            f"column {target!r} holds one class only ({distinct.tolist()[0]!r}); a classifier "
            "needs rows of at least two"
        )
    elif _looks_continuous(distinct, n_rows):
        problems.add(
            f"column {target!r} looks continuous ({len(distinct)} different numbers in "
            f"{count(n_rows, 'row')}). Name a column of classes, or cut it into classes first"
        )
    elif len(distinct) > max(10, n_rows // 2):
        problems.add(
            f"column {target!r} has {len(distinct)} different labels in {count(n_rows, 'row')}. "
            "Name a column of classes that occur more than once"
        )


def _looks_continuous(distinct: NDArray, n_rows: int) -> bool:
    try:
        numbers = distinct.astype(np.float64)
    except ValueError:
        return False
    fractions = bool(np.any(numbers != np.floor(numbers)))
    return len(distinct) > max(20, n_rows // 10) or (fractions and len(distinct) > 10)


def _integer_type(values: NDArray) -> type:
    """The 64-bit type that holds all values; OverflowError if none does."""
    least, most = min(values, default=0), max(values, default=0)
    if least >= -(2**63) and most < 2**63:
        return np.int64
    if least >= 0 and most < 2**64:
        return np.uint64
    raise OverflowError
