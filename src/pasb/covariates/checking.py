"""Checks of what users pass in, with errors that name the column and the remedy.

scikit-learn's own checks do most of the work; these add the names of the columns, the
number of bad values and what to do about them. All that is wrong with a table is said at once.
Rows are counted from 1.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_non_negative,
    column_or_1d,
    validate_data,
)

from pasb.covariates.cells import cells_of
from pasb.covariates.frame_input import data_frame
from pasb.covariates.rows_elsewhere import need_at_hand
from pasb.covariates.sparse_rows import SparseRows, as_one_matrix, densified
from pasb.covariates.tables import count

ROWS_AT_ONCE = 4096  # of a check; a byte for every number of a table would be an eighth of it
MOST_SHOWN = 10  # problems of one message


def checked_table(
    estimator, X, *, reset: bool, y: Any = "no_validation", keep_sparse: bool = False
):
    """Covariates as a finite float64 table (and labels, if given).

    Parameters
    ----------
    estimator : estimator
        Gets or is checked against `n_features_in_` and `feature_names_in_`.
    X : array, sparse matrix, or a data frame that narwhals knows (pandas, polars, pyarrow, ...)
    reset : bool
        True in `fit`, False in prediction.
    y : array, optional
    keep_sparse : bool, default=False
        Leave a sparse matrix sparse, as `SparseRows`; else it becomes a dense table, within the
        limit of `pasb.covariates.free_memory.memory_limit`.
    """
    need_at_hand(X, type(estimator).__name__, fits=reset)
    problems = _column_problems(X)
    if not isinstance(y, str):
        y, found = _clear_labels(y)
        problems += found
    _raise_all(problems)
    if getattr(X, "ndim", 0) == 2 and hasattr(X, "columns") and not len(X.columns):
        X = np.empty((len(X), 0))  # scikit-learn cannot convert a frame without columns
    checked = validate_data(
        estimator,
        X if isinstance(X, np.ndarray) else as_one_matrix(X),
        y,
        reset=reset,
        dtype=np.float64,
        ensure_all_finite=False,
        accept_sparse="csr",
        ensure_min_features=0,
    )
    table = checked[0] if isinstance(checked, tuple) else checked
    names = getattr(estimator, "feature_names_in_", None)
    if sparse.issparse(table):
        table = SparseRows(table)
    _raise_all(not_finite(table, names))
    if isinstance(table, SparseRows) and not keep_sparse:
        table = densified(table.matrix)
    return (table, checked[1]) if isinstance(checked, tuple) else table


def _raise_all(problems: list[str]) -> None:
    """One ValueError for all problems."""
    if len(problems) == 1:
        raise ValueError(problems[0])
    if problems:
        rest = len(problems) - MOST_SHOWN
        shown = problems[:MOST_SHOWN] + ([f"and {rest:,} more"] if rest > 0 else [])
        raise ValueError(f"{len(problems):,} problems:\n" + "\n".join(f"- {p}" for p in shown))


def _column_problems(X) -> list[str]:
    """What is wrong with the columns of a data frame: those that do not hold finite numbers.

    Columns with gaps are looked at only where another column is wrong too; else the check
    of the finished table finds them, which is faster.
    """
    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "mM":
            return []
        return [f"X holds dates or times ({X.dtype}), not numbers: turn them into numbers"]
    frame = data_frame(X)
    if frame is None:
        return []
    import narwhals as nw

    problems, plain = [], []
    for name, dtype in frame.schema.items():
        if (dtype.is_numeric() and dtype != nw.Decimal) or dtype == nw.Boolean:
            plain.append(name)
            continue
        problem = _type_problem(name, frame[name])
        if problem:
            problems.append(problem)
    if problems:
        for name in plain:
            problems += not_finite(cells_of(frame[name]).numbers[:, None], [name])
    return problems


def _type_problem(name: str, column: Any) -> str:
    """Why a column does not hold numbers; nothing if it does, in whatever clothes."""
    cells = cells_of(column)
    encode = "Encode it first, with pasb.TableEncoder or sklearn's OneHotEncoder, or drop it."
    if cells.shown.startswith(("times", "durations")) or cells.kind == "moment":
        return (
            f"X: column {name!r} holds dates or times ({cells.shown}), not numbers. Turn it into "
            "numbers first, with pasb.TableEncoder, or drop it."
        )
    if cells.kind == "other" and cells.shown.startswith("complex"):
        return ""  # scikit-learn has an error of its own for these
    if cells.kind == "other":
        return (
            f"X: column {name!r} does not hold numbers but {cells.shown}. Take it apart into "
            f"columns of numbers. {encode}"
        )
    if cells.kind == "word" and not _are_numbers(cells.words):
        example = next((w for w in cells.words if not _are_numbers([w])), cells.words[0])
        return (
            f"X: could not convert string to float: column {name!r} does not hold numbers "
            f"({cells.shown}), for instance {example!r}. {encode}"
        )
    return ""


def _are_numbers(words: list[str]) -> bool:
    try:
        np.array(words, dtype=object).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _clear_labels(y) -> tuple[Any, list[str]]:
    """Labels, and what is unclear about them: gaps, text among numbers, too large integers."""
    labels = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(labels, np.ndarray) and (labels.dtype != object or labels.ndim != 1):
        return y, []
    missing = [i for i, label in enumerate(labels) if _is_missing(label)]
    if missing:
        return y, [
            f"Input y contains NaN or None: {count(len(missing), 'label')} missing, the first in "
            f"row {missing[0] + 1}. Drop those rows, or give them a class of their own."
        ]
    texts = sum(isinstance(label, str) for label in labels)
    if 0 < texts < len(labels):
        kinds = " and ".join(sorted({type(label).__name__ for label in labels}))
        return y, [
            f"y mixes labels of type {kinds}: make them all text or all numbers, for instance "
            "[str(label) for label in y]"
        ]
    if len(labels) and all(isinstance(label, Integral) for label in labels):
        return _integers(labels)
    return y, []


def _integers(labels: Any) -> tuple[Any, list[str]]:
    """Integers in a type that keeps their value."""
    least, most = min(labels), max(labels)
    if all(isinstance(label, bool | np.bool_) for label in labels):
        return labels, []
    if least >= -(2**63) and most < 2**63:
        return np.array([int(label) for label in labels], dtype=np.int64), []
    if least >= 0 and most < 2**64:
        return np.array([int(label) for label in labels], dtype=np.uint64), []
    worst = most if most >= 2**63 else least
    return labels, [
        f"y holds integers that do not fit into 64 bits together, such as {worst}: make the labels "
        "text, for instance [str(label) for label in y]"
    ]


def _is_missing(label) -> bool:
    if isinstance(label, float | np.floating):
        return bool(np.isnan(label))
    return label is None or type(label).__name__ in ("NAType", "NaTType")  # of pandas


def not_finite(table: Any, names) -> list[str]:
    """Columns with NaN or infinity: how many, and where the first one is.

    Parameters
    ----------
    table : array or `SparseRows`
    names : sequence of str or None
    """
    if isinstance(table, SparseRows):
        if np.isfinite(table.matrix.data).all():
            return []
        at_once = max(1, 2**24 // max(1, table.shape[1]))
    else:
        at_once = ROWS_AT_ONCE
        starts = range(0, len(table), at_once)
        if all(np.isfinite(table[k : k + at_once]).all() for k in starts):
            return []
    n_bad, first = np.zeros((2, table.shape[1]), dtype=np.int64)
    nans = np.zeros(table.shape[1], dtype=bool)
    for k in range(0, len(table), at_once):
        part = table[k : k + at_once]
        bad = ~np.isfinite(part)
        new = bad.any(axis=0) & (n_bad == 0)
        first[new] = k + np.argmax(bad, axis=0)[new]
        n_bad += bad.sum(axis=0)
        nans |= np.isnan(part).any(axis=0)
    problems = []
    for v in np.flatnonzero(n_bad):
        name = f"x{v}" if names is None else repr(str(names[v]))
        remedy = (
            "Drop those rows or fill the gaps, with pasb.TableEncoder or sklearn's SimpleImputer."
            if nans[v]
            else "Look for divisions by zero or overflow in that column."
        )
        problems.append(
            f"Input X contains {'NaN' if nans[v] else 'infinity'}: column {name} has "
            f"{count(int(n_bad[v]), 'such value')}, the first in row {int(first[v]) + 1}. {remedy}"
        )
    return problems


def checked_labels(y) -> NDArray:
    """Labels as an array with one for each row, without gaps."""
    labels, problems = _clear_labels(y)
    _raise_all(problems)
    labels = check_array(labels, ensure_2d=False, dtype=None, input_name="y", allow_nd=True)
    return column_or_1d(labels, warn=True)


def checked_classes(labels: NDArray) -> NDArray:
    """The distinct labels, at least two."""
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only ({classes.tolist()[0]!r}); a classifier needs rows of at "
            "least two classes"
        )
    return classes


def checked_weights(
    sample_weight, X: NDArray[np.float64], class_weight: Any = None, labels: NDArray | None = None
) -> NDArray[np.float64]:
    """Row weights, not negative and not all zero; not to be written to.

    Parameters
    ----------
    sample_weight : array, number or None
    X : array of shape (n_rows, n_features)
    class_weight : dict, "balanced" or None
        Further factors, by class.
    labels : array of shape (n_rows,), optional
        The classes of the rows.
    """
    weights = _row_weights(sample_weight, X)
    if class_weight is None or labels is None:
        return weights
    classes, categories = np.unique(labels, return_inverse=True)
    if isinstance(class_weight, str):
        totals = np.bincount(categories, weights)
        if (totals == 0).any():
            raise ValueError("class_weight='balanced': a class has only rows of weight 0")
        factors = totals.sum() / (len(classes) * totals)
    else:
        known = classes.tolist()
        strange = [label for label in class_weight if label not in known]
        if strange:
            raise ValueError(
                f"class_weight: {strange[0]!r} is not a class; the classes are {known}"
            )
        factors = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
        if not (np.isfinite(factors).all() and (factors >= 0).all()):
            raise ValueError(
                f"class_weight must hold non-negative numbers; got {dict(class_weight)!r}"
            )
    return _some_weight(weights * factors[categories])


def _row_weights(sample_weight, X: NDArray[np.float64]) -> NDArray[np.float64]:
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
    return _some_weight(weights)


def _some_weight(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every row: give at least one row of each class a "
            "positive weight"
        )
    return weights


def refuse_fractions(weights: NDArray[np.float64], why: str) -> None:
    """Raise a ValueError unless all weights are 0 or 1."""
    if np.any(weights[weights > 0] != 1):
        raise ValueError(f"sample_weight must be 0 or 1 {why}, and class_weight None")


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
