"""Checks of what users pass in, with errors that name the column and the remedy.

scikit-learn's own checks do most of the work; these add the name of the column, the
number of bad values and what to do about them.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_non_negative, validate_data

ROWS_AT_ONCE = 4096  # of a check; a byte for every number of a table would be an eighth of it


def checked_table(estimator, X, *, reset: bool, y: Any = "no_validation"):
    """Covariates as a finite float64 table (and labels, if given).

    Parameters
    ----------
    estimator : estimator
        Gets or is checked against `n_features_in_` and `feature_names_in_`.
    X : array, or a data frame that narwhals knows (pandas, polars, pyarrow and others)
    reset : bool
        True in `fit`, False in prediction.
    y : array, optional
    """
    _refuse_text_columns(X)
    if not isinstance(y, str):
        _refuse_unclear_labels(y)
    checked = validate_data(estimator, X, y, reset=reset, dtype=np.float64, ensure_all_finite=False)
    table = checked[0] if isinstance(checked, tuple) else checked
    _refuse_not_finite(table, getattr(estimator, "feature_names_in_", None))
    return checked


def _refuse_text_columns(X) -> None:
    """Name the first column of a data frame that does not hold numbers."""
    import narwhals as nw

    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(f"X holds dates or times ({X.dtype}), not numbers: turn them into numbers")
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        twice = next(name for name in X.columns if list(X.columns).count(name) > 1)
        raise ValueError(f"X: two columns are named {twice!r}; rename one of them") from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame: call its collect() method and pass the result")
    if not isinstance(frame, nw.DataFrame):
        return
    for name, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype == nw.Boolean:
            continue
        column = frame[name]
        shown = getattr(column.to_native(), "dtype", dtype)
        if dtype.is_temporal() or str(shown).startswith("period"):  # which only pandas has
            raise ValueError(
                f"X: column {name!r} holds dates or times ({shown}), not numbers. Turn it "
                "into numbers first, for instance days since some date, or drop it."
            )
        if not _holds_numbers(column.to_numpy()):
            raise ValueError(
                f"X: could not convert string to float: column {name!r} does not hold numbers "
                f"({shown}). Encode it first, for instance with "
                "sklearn.preprocessing.OneHotEncoder, or drop it."
            )


def _holds_numbers(values: NDArray) -> bool:
    """Tell whether scikit-learn can turn values into numbers: objects, or text such as "1.5"."""
    if values.dtype.kind in "biufc":  # it has an error of its own for complex numbers
        return True
    if any(isinstance(value, list | np.ndarray) for value in values[:1]):
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_unclear_labels(y) -> None:
    """Refuse missing labels, and text among numbers, which NumPy would turn into text."""
    labels = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(labels, np.ndarray) and (labels.dtype != object or labels.ndim != 1):
        return
    missing = [i for i, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"Input y contains NaN or None: {len(missing)} labels are missing, the first in row "
            f"{missing[0]}. Drop those rows, or give them a class of their own."
        )
    texts = sum(isinstance(label, str) for label in labels)
    if 0 < texts < len(labels):
        kinds = " and ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"y mixes labels of type {kinds}: make them all text or all numbers, for instance "
            "[str(label) for label in y]"
        )


def _is_missing(label) -> bool:
    if isinstance(label, float | np.floating):
        return bool(np.isnan(label))
    return label is None or type(label).__name__ in ("NAType", "NaTType")  # of pandas


def _refuse_not_finite(table: NDArray[np.float64], names) -> None:
    starts = range(0, len(table), ROWS_AT_ONCE)
    if all(np.isfinite(table[k : k + ROWS_AT_ONCE]).all() for k in starts):
        return
    finite = np.isfinite(table)
    column = int(np.argmin(finite.all(axis=0)))
    bad = ~finite[:, column]
    what = "NaN" if np.isnan(table[bad, column]).any() else "infinity"
    name = repr(str(names[column])) if names is not None else f"number {column}"
    more = int((~finite.all(axis=0)).sum()) - 1
    others = f"; so do {more} more columns" if more else ""
    remedy = (
        "Drop those rows or fill the gaps, for instance with sklearn.impute.SimpleImputer."
        if what == "NaN"
        else "Look for divisions by zero or overflow in that column."
    )
    raise ValueError(
        f"Input X contains {what}: column {name} has {int(bad.sum())} such value"
        f"{'s' if bad.sum() > 1 else ''}, the first in row {int(np.argmax(bad))}{others}. {remedy}"
    )


def checked_weights(sample_weight, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row weights, not negative and not all zero; not to be written to."""
    if sample_weight is None:
        return np.broadcast_to(1.0, len(X))  # one number for all rows
    if isinstance(sample_weight, Real):
        sample_weight = np.full(len(X), sample_weight, dtype=np.float64)
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (len(X),):
        raise ValueError(
            f"sample_weight must hold one number for each row, so its shape must be {(len(X),)}; "
            f"got {weights.shape}"
        )
    check_non_negative(weights, "`sample_weight`")
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every row: give at least one row of each class a "
            "positive weight"
        )
    return weights


def checked_order(order, classes: NDArray) -> NDArray[np.int64]:
    """Turn an order of class labels, first stick to last, into category indices."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    labels = np.asarray(order).tolist() if not isinstance(order, list | tuple) else list(order)
    if not isinstance(labels, list):
        raise ValueError(
            f"order must be 'infer' or list every class once, first stick to last; got {order!r}"
        )
    known = ", ".join(repr(label) for label in index)
    for label in labels:
        if isinstance(label, list | np.ndarray) or label not in index:
            raise ValueError(f"order: {label!r} is not a class; the classes are {known}")
    if sorted(index[label] for label in labels) != list(range(len(index))):
        missing = [label for label in index if label not in labels]
        trouble = f"{missing[0]!r} is missing" if missing else "some occur more than once"
        raise ValueError(f"order must list every class exactly once ({known}): {trouble}")
    return np.array([index[label] for label in labels], dtype=np.int64)
