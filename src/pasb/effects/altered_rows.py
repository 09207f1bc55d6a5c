"""Rows of a user's table with some columns changed, as the binary model sees them.

Effects are differences between predictions for the rows as they are and for rows that nobody
observed. Only the rows of one block are changed at a time, so that a table is never copied.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from pasb.binary.panel_logistic import PanelLogistic
from pasb.covariates.availability import checked_availability
from pasb.covariates.choice_data import ChoiceData
from pasb.covariates.sparse_rows import dense_table
from pasb.numerics.lazy_rows import Table
from pasb.posterior.fitted import Fitted
from pasb.posterior.pipelines import split_off_last
from pasb.posterior.stacked_posterior import StackedPosterior


class Shift(NamedTuple):
    """Add this to what a row has, within bounds."""

    by: float
    low: float = -np.inf
    high: float = np.inf

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shifted values; those beyond the bounds already stay where they are."""
        low, high = np.minimum(values, self.low), np.maximum(values, self.high)
        return np.clip(values + self.by, low, high)


Changes = Mapping[str, Any]
"""For some columns a value that all rows get, or a `Shift`."""


class AlteredRows:
    """A fitted model and a table, from which hypothetical rows are made.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
    X : array, data frame or sparse matrix of shape (n_rows, n_features), or ChoiceData
        What `model.predict` would take; made dense, within the limit of memory.
    availability : array or data frame of shape (n_rows, n_classes), optional
        Which classes these rows can choose, whatever is changed in them.

    Attributes
    ----------
    fitted : Fitted
    available : boolean array of shape (n_rows, n_classes) or None
        None where everything is available.
    columns : list of str
        Those of `X`.
    names : list of str
        Those of them that the model takes, as far as that is known; it never sees the others.
    covariates : list of str
        Those that may be changed: `names`, or what all models of a stack take.
    ranges : dict
        From where to where columns go in the rows of the fit; empty behind a pipeline.
    bent : list of str
        Columns that enter a spline of a formula, which continues far out as a polynomial.
    library : {"pandas", "polars"}
        The library of data frames that results are given in.
    is_plain : bool
        Whether nothing stands between `X` and the classifier, such as a pipeline or a formula.
    columns_are_inner : bool
        Whether the model's columns are those of `X`, scaled, and nothing else.
    """

    def __init__(self, model: Any, X: Any, availability: Any = None):
        self.fitted, self._inner_rows, plain = unwrapped(model)
        if isinstance(X, ChoiceData):
            X, availability = table_of_choices(model, X, availability)
        if availability is None:
            self.fitted.check_all_available("an effect or its picture")
        X = dense_table(X)
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise TypeError("X is a lazy frame: call its collect() method and pass the result")
        self._frame = frame if isinstance(frame, nw.DataFrame) else None
        if self._frame is None:
            self._array = np.asarray(X)
            if self._array.ndim != 2:
                raise ValueError(f"X must have two dimensions, not {self._array.ndim}")
            n = self._array.shape[1]
            given = list(getattr(model, "feature_names_in_", ()))
            known = len(given) == n
            self.names = [str(name) for name in given] if known else [f"x{v}" for v in range(n)]
            self.columns = self.names
        else:
            self.columns = list(self._frame.columns)
            self.names = _taken(model, self.columns)
        if len(self) == 0:
            raise ValueError("X has no rows")
        self.available = checked_availability(availability, self.fitted.classes, len(self))
        self.covariates = self.names
        known_ranges = self.fitted.ranges if plain or hasattr(model, "formula") else {}
        if plain and len(known_ranges) == len(self.names):  # a table may have names of its own
            known_ranges = dict(zip(self.names, known_ranges.values(), strict=True))
        self.ranges = known_ranges
        self.bent = list(getattr(model, "bent_", ()))
        self._levels = set(getattr(model, "levels_", ()))
        self.is_plain = plain
        self.columns_are_inner = (
            plain
            and self.fitted.columns_are_features
            and len(self.names) == len(self.fitted.feature_names)
        )
        self.library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        self.inner(slice(0, 1), {})  # a table that the model does not know is refused here

    def __len__(self) -> int:
        return len(self._array) if self._frame is None else len(self._frame)

    def available_to(self, rows: slice) -> NDArray[np.bool_] | None:
        """Which classes some rows can choose; None where everything is available."""
        return None if self.available is None else self.available[rows]

    def column(self, name: str) -> NDArray:
        """The values of a column."""
        if self._frame is None:
            return self._array[:, self.names.index(name)]
        return self._frame[name].to_numpy()

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers, of which differences make sense: not in ``C(...)``."""
        if self._frame is None:
            return self._array.dtype.kind in "iuf"
        return self._frame.schema[name].is_numeric() and name not in self._levels

    def check_columns(self, names: Iterable[str], argument: str) -> None:
        """Raise a ValueError that suggests the nearest name for a column that is not there."""
        for name in names:
            known = name in self.columns and name not in self.covariates
            what = "a covariate of the model" if known else "a column of X"
            check_known(name, self.covariates, argument, what)

    def inner(self, rows: slice, changes: Changes) -> NDArray[np.float64]:
        """The binary model's columns for some rows, after `changes`."""
        if self._frame is None:
            part = self._array[rows]
            if changes:
                part = np.array(part, dtype=np.result_type(part.dtype, np.float64))
            for name, value in changes.items():
                column = part[:, self.names.index(name)]
                column[:] = value.of(column) if isinstance(value, Shift) else value
            return self._inner_rows(part)[:]
        frame = self._frame[rows]
        if self.names != self.columns:
            frame = frame.select(self.names)
            changes = {name: value for name, value in changes.items() if name in self.names}
        replaced = [self._series(frame[name], value) for name, value in changes.items()]
        return self._inner_rows(nw.to_native(frame.with_columns(*replaced)))[:]

    @staticmethod
    def _series(old: nw.Series, value: Any) -> nw.Series:
        """A column in which every row has `value`, or in which all are shifted."""
        if old.dtype.is_numeric():
            shifted = isinstance(value, Shift)
            own = old.to_numpy().astype(np.float64) if shifted else np.empty(len(old))
            values = value.of(own) if shifted else np.full(len(old), float(value))
            return nw.new_series(old.name, values, nw.Float64, backend=old.implementation)
        filled = nw.new_series(old.name, [value] * len(old), backend=old.implementation)
        return filled if old.dtype == nw.Object else filled.cast(old.dtype)


def _taken(model: Any, columns: list[str]) -> list[str]:
    """The columns that a model takes, in its order; all of them if it knows no names."""
    named = getattr(model, "feature_names_in_", getattr(model, "covariates_", None))
    known = set(columns)
    if named is None or not known.intersection(named):
        return columns
    return [str(name) for name in named if name in known]


def one_or_more(given: Any) -> list[Any]:
    """A label, or several, as a list."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return list(given) if several else [given]


def table_of_choices(model: Any, data: ChoiceData, availability: Any) -> tuple[Any, Any]:
    """The columns of choices, and what is available to them."""
    if not hasattr(model, "table_of"):
        raise TypeError(
            f"{type(model).__name__} knows no covariates of alternatives: pass the table of "
            "covariates, as in fit, and availability"
        )
    if availability is not None:
        raise ValueError("availability is part of ChoiceData: use data.without(...)")
    model.check_data(data)
    return model.table_of(data), data.available


def check_known(name: Any, known: Iterable[Any], argument: str, what: str) -> None:
    """Raise a ValueError that suggests the nearest name unless `name` is among the known ones."""
    names = list(known)
    name = name.item() if isinstance(name, np.generic) else name
    if name in names:
        return
    texts = [str(other) for other in names]
    close = difflib.get_close_matches(str(name), texts, n=1, cutoff=0.6)
    shown = ", ".join(repr(other) for other in names[:12])
    rest = f" and {len(names) - 12} more" if len(names) > 12 else ""
    remedy = f"did you mean {close[0]!r}?" if close else f"there are {shown}{rest}"
    raise ValueError(f"{argument}: {name!r} is not {what}; {remedy}")


def unwrapped(model: Any) -> tuple[Fitted, Callable[[ArrayLike], Table], bool]:
    """What was fitted, the way from a user's table to its columns, and whether that is plain."""
    if isinstance(model, Pipeline):
        last, before = split_off_last(model)
        if before is None:
            return unwrapped(last)
        fitted, inner_rows, _ = unwrapped(last)
        return fitted, lambda X: inner_rows(before.transform(X)), False
    if isinstance(model, StackedPosterior):
        raise TypeError("odds ratios are of one model: pass one of the stack's models_")
    if not hasattr(type(model), "fitted_"):
        raise TypeError(
            "effects need a fitted classifier of pasb, or a pipeline that ends in one, not "
            f"{type(model).__name__}"
        )
    fitted = model.fitted_
    if isinstance(fitted.binary, PanelLogistic):
        raise TypeError("effects know no intercepts of persons: ask pasb.choice instead")
    if hasattr(model, "terms_of"):  # of a formula; what is beyond its splines is warned of once
        inner_rows = model.model_.fitted_.inner_rows
        return fitted, lambda X: inner_rows(model.terms_of(X)), False
    return fitted, fitted.inner_rows, True
