"""Columns of a table of choices, read with errors that name column and row.

Rows are counted from 1, as in other messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.frame_input import data_frame


class ChoiceColumns:
    """Columns of a data frame of any library."""

    def __init__(self, frame: Any):
        self.frame = data_frame(frame)
        if self.frame is None:
            raise TypeError(f"frame must be a data frame, not {type(frame).__name__}")
        self.n_rows = len(self.frame)

    def raw(self, column: str) -> NDArray:
        """What a column holds."""
        return self._series(column).to_numpy()

    def labels(self, column: str) -> NDArray:
        """Labels, of which none may be missing."""
        series = self._series(column)
        missing = _missing(series)
        if missing.any():
            raise ValueError(f"column {column!r} has no label in row {int(np.argmax(missing)) + 1}")
        values = series.to_numpy()
        return values.astype(str) if values.dtype == object else values

    def numbers(self, column: str, hint: str = "") -> NDArray[np.float64]:
        """Numbers, NaN where there is none; `hint` ends the error of what is not a number."""
        series = self._series(column)
        values = series.to_numpy()
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        missing, out = _missing(series), np.full(self.n_rows, np.nan)
        for row in np.flatnonzero(~missing):
            try:
                out[row] = _number(values[row])
            except ValueError:
                raise ValueError(
                    f"column {column!r} must hold numbers; row {row + 1} has {values[row]!r}{hint}"
                ) from None
        return out

    def columns(self, names: Sequence[str], hint: str = "") -> NDArray[np.float64]:
        """Several columns of numbers side by side."""
        out = np.empty((self.n_rows, len(names)))
        for k, name in enumerate(names):
            out[:, k] = self.numbers(name, hint)
        return out

    def flags(self, column: str, hint: str = "") -> NDArray[np.bool_]:
        """True and False, or 1 and 0; `hint` ends the error of a column of something else."""
        values = self.numbers(column, hint)
        wrong = (values != 0) & (values != 1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"column {column!r} must hold True and False, or 1 and 0; row {row + 1} does not"
                f"{hint}"
            )
        return values == 1

    def _series(self, column: str) -> Any:
        if column not in self.frame.columns:
            raise ValueError(
                f"there is no column {column!r}; the columns are {', '.join(self.frame.columns)}"
            )
        return self.frame[column]


def list_of_names(names: str | Iterable[str]) -> list[str]:
    """Names of columns; a text is one name, not its letters."""
    return [names] if isinstance(names, str) else [str(name) for name in names]


def distinct_alternatives(alternatives: Sequence) -> NDArray:
    """Sorted labels; one that is listed twice is refused."""
    if isinstance(alternatives, str):
        raise TypeError(
            f"alternatives must be a list of labels, such as ['bus', 'car'], not {alternatives!r}"
        )
    labels, counts = np.unique(np.asarray(list(alternatives)), return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"alternatives: {labels[np.argmax(counts > 1)]!s} is listed twice")
    return labels


def check_alternatives(named: Iterable, labels: NDArray, argument: str, *, every: bool) -> None:
    """Refuse names of no alternative and, where `every` one is needed, alternatives left out."""
    given, known = list(named), labels.tolist()
    listed = ", ".join(map(str, known))
    for name in given:
        if name not in known:
            raise ValueError(f"{argument}: {name!r} is not among the alternatives: {listed}")
    for label in known if every else ():
        if label not in given:
            raise ValueError(
                f"{argument}: {label!s} has no column; name one, or write a number that it has in "
                f"every choice, such as {label!r}: 0 (the alternatives: {listed})"
            )


def alternative_values(
    table: ChoiceColumns, labels: NDArray, covariate: str, of: Mapping | str
) -> NDArray[np.float64]:
    """A covariate of alternatives, (choices, alternatives).

    `of` is a pattern of the names of columns, or a column or number for each alternative.
    """
    if not isinstance(of, Mapping):
        own: Mapping = columns_by_pattern(of, labels, "pattern", covariate=covariate)
    else:
        check_alternatives(of, labels, f"covariates[{covariate!r}]", every=True)
        own = of
    out = np.empty((table.n_rows, len(labels)))
    for j, label in enumerate(labels.tolist()):
        column = own[label]
        out[:, j] = column if isinstance(column, Real) else table.numbers(column)
    return out


def columns_by_pattern(pattern: str, labels: NDArray, argument: str, **more: str) -> dict[Any, str]:
    """The column of each alternative, from a pattern such as ``"{covariate}_{alternative}"``."""
    if "{alternative}" not in pattern:
        raise ValueError(
            f"{argument} must hold {{alternative}}, in whose place the names of alternatives are "
            f"put; got {pattern!r}"
        )
    try:
        return {label: pattern.format(alternative=label, **more) for label in labels.tolist()}
    except (KeyError, IndexError, ValueError):
        known = " and ".join(f"{{{name}}}" for name in ["alternative", *more])
        raise ValueError(
            f"{argument} may hold {known} and nothing else in braces; got {pattern!r}"
        ) from None


def person_labels(values: Any, n: int) -> NDArray:
    """Labels of persons as text, one for each choice; 7 and 7.0 are one person."""
    given = np.asarray(values)
    if given.shape != (n,):
        raise ValueError(f"person must have one label for each of the {n} choices")
    missing = np.array([value is None or value != value for value in given.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(f"the person is missing in row {int(np.argmax(missing)) + 1}")
    if given.dtype.kind == "f" and (given == np.round(given)).all() and n:
        given = given.astype(np.int64)
    return np.array([str(value) for value in given.tolist()], dtype=np.str_)


def _missing(series: Any) -> NDArray[np.bool_]:
    """Where a column has nothing, or NaN."""
    missing = series.is_null().to_numpy().astype(np.bool_)
    values = series.to_numpy()
    if values.dtype.kind == "f":
        return missing | np.isnan(values)
    return missing


def _number(value: Any) -> float:
    if isinstance(value, (Real, Decimal, str, np.bool_)):
        return float(value)
    raise ValueError
