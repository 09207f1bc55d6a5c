"""A table as it comes, as numbers for a classifier: a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from pasb.covariates.cells import cells_by_column
from pasb.covariates.column_planning import Choices, decide
from pasb.covariates.column_plans import (
    Assumed,
    CategoryPlan,
    ColumnPlan,
    LeftOut,
    NumberPlan,
)
from pasb.covariates.encoder_choices import choices_of
from pasb.covariates.encoder_report import report_rows
from pasb.covariates.frame_input import data_frame, frame_of_array
from pasb.covariates.readings import column_numbers
from pasb.covariates.tables import Problems, TableError, named, nearest, need_columns


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn text, categories, truths, dates and gaps into numbers.

    Numbers stay as they are (the classifiers scale inside), truths become 0 and 1, dates days
    since 1970-01-01, and categories a 0/1 column for each level (one alone if there are two).
    Rare levels share a column. A gap gets the median and an indicator, or a level of its own.
    Columns that tell rows apart (ids, text that hardly repeats), constant and empty columns are
    left out. `report` says what became of each column.

    New rows are looked up by the names of their columns: these may come in any order, and others
    are ignored. A level that the training rows did not have joins the pooled ones, or counts as an
    average row; so does a gap where the training rows had none. Both give a warning. A column that
    is missing, or of another type, is an error.

    Parameters
    ----------
    categorical : list of column names, default=()
        Columns that are categories, whatever they look like; integer codes, for instance.
    numeric : list of column names, default=()
        Columns that are numbers; other values in them are an error.
    drop : list of column names, default=()
        Columns to leave out.
    ids : list of column names, default=()
        Columns that tell rows apart. They are left out, and `pasb predict` passes them through.
        Those that are not named are told by their values: row numbers that a shuffled split of
        few rows leaves can pass for a measurement.
    keep_id : list of column names, default=()
        Columns to use although they look like ids.
    missing : {"indicator", "error"}, default="indicator"
        Fill gaps, with an indicator; or refuse them. A transformer cannot leave rows out:
        `gap_rows` tells which have gaps, and ``X[~encoder.fit(X).gap_rows(X)]`` has none.
    unknown : {"average", "error"}, default="average"
        What a level means that the training rows did not have, where no levels are pooled; and
        whether a column of truths may hold another word, which counts as a gap.
    decimal : {"auto", ".", ","}, default="auto"
        The sign before the fraction of numbers in text. "auto" decides by column.
    min_count : "auto" or int, default="auto"
        Levels with fewer training rows are pooled; "auto" is 1 % of the rows, from 2 to 10.
    max_levels : int, default=50
        The most levels of a column; rarer ones are pooled.

    Attributes
    ----------
    plans_ : list
        What becomes of each column.
    remarks_ : dict
        What is worth a word about a column, by its name.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where `fit` saw names.
    ids_ : list of str
        Columns left out because they tell rows apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from pasb import TableEncoder
    >>> table = pd.DataFrame({"size": ["1,5", "2,25", "?"], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(table)
       size  size (missing)  colour=red
    0 1.500             0.0         1.0
    1 2.250             0.0         0.0
    2 1.875             1.0         1.0
    >>> for line in encoder.report():
    ...     print(line)
    numbers: size (decimal comma, 1 gap)
    categories, one-hot: colour (2 levels)
    """

    def __init__(
        self,
        *,
        categorical=(),
        numeric=(),
        drop=(),
        ids=(),
        keep_id=(),
        missing="indicator",
        unknown="average",
        decimal="auto",
        min_count="auto",
        max_levels=50,
    ):
        self.categorical = categorical
        self.numeric = numeric
        self.drop = drop
        self.ids = ids
        self.keep_id = keep_id
        self.missing = missing
        self.unknown = unknown
        self.decimal = decimal
        self.min_count = min_count
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Decide what becomes of each column.

        Parameters
        ----------
        X : data frame of pandas, polars or pyarrow, or array of shape (n_rows, n_columns)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        pasb.covariates.tables.TableError
            A ValueError that lists all problems of the table.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Decide what becomes of each column, and make it so.

        Parameters
        ----------
        X : data frame or array, as in `fit`
        y : ignored

        Returns
        -------
        array of shape (n_rows, n_outputs)
            Or a data frame, after `set_output`.
        """
        columns: list[NDArray[np.float64]] = []
        n_rows = self._learn(X, columns)
        return np.hstack(columns) if columns else np.empty((n_rows, 0))

    def _learn(self, X: Any, columns: list[NDArray[np.float64]] | None = None) -> int:
        """Find the plans, and put what they give into `columns`; the number of rows."""
        choices = self.choices()
        frame = self._frame(X, reset=True)
        names, problems = list(frame.columns), Problems("X")
        _check_names(names, choices, problems)
        plans: list[ColumnPlan] = []
        self.remarks_: dict[str, str] = {}
        for name, cells in zip(names, cells_by_column(frame, names), strict=True):
            plan, problem, remark = decide(name, cells, choices)
            if problem or plan is None:
                problems.add(problem)
                continue
            plans.append(plan)
            self.remarks_[name] = remark
            if columns is not None and not isinstance(plan, LeftOut):
                columns.append(plan.coded(cells).columns)
        problems.raise_any()
        self.plans_ = plans
        return len(frame)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The columns for a classifier.

        Parameters
        ----------
        X : data frame or array, as in `fit`

        Returns
        -------
        array of shape (n_rows, n_outputs)
            Or a data frame, after `set_output`.
        """
        coded, assumed = self.encode(X)
        if assumed:
            warnings.warn("\n".join(one.words() for one in assumed), UserWarning, stacklevel=3)
        return coded

    def encode(
        self, X: Any, decimal: str | None = None, before: int = 0
    ) -> tuple[NDArray[np.float64], list[Assumed]]:
        """The columns for a classifier, and what had to be assumed.

        Parameters
        ----------
        X : data frame or array, as in `fit`
        decimal : {".", ","}, optional
            How these rows write numbers, where it is not as in `fit`.
        before : int, default=0
            Rows of the same table before these, as messages count them.

        Returns
        -------
        array of shape (n_rows, n_outputs)
        list of Assumed
            Unknown levels and unexpected gaps, by column.
        """
        check_is_fitted(self, "plans_")
        frame = self._frame(X, reset=False)
        problems = Problems("X")
        assumed: list[Assumed] = []
        self.need(frame.columns, problems)
        used, known = self._used(), set(frame.columns)
        out = np.empty((len(frame), sum(len(plan.outputs) for plan in used)))
        at = 0
        there = [plan for plan in used if plan.name in known]
        columns = cells_by_column(frame, [plan.name for plan in there])
        for plan, cells in zip(there, columns, strict=True):
            if isinstance(plan, NumberPlan):
                plan = plan.with_decimal(decimal)
            coded = plan.coded(cells, before)
            if coded.problem:
                problems.add(coded.problem)
                continue
            assumed += coded.assumed
            width = len(plan.outputs)
            out[:, at : at + width] = coded.columns
            at += width
        problems.raise_any()
        return out, assumed

    def need(self, names: Sequence[str], problems: Problems) -> list[str]:
        """The columns that are used; a problem if some are not among `names`."""
        known = set(names)
        used = [plan.name for plan in self._used()]
        lacking = [name for name in used if name not in known]
        if lacking:
            others = known.difference(used)
            near = nearest(lacking[0], [name for name in names if name in others])
            what = "is missing, and the model needs it"
            if len(lacking) > 1:
                what = "are missing, and the model needs them"
            problems.add(f"{named(lacking)} {what}{near}")
        return used

    def gap_rows(self, X: Any) -> NDArray[np.bool_]:
        """Which rows have a gap in a column that is used."""
        check_is_fitted(self, "plans_")
        frame = self._frame(X, reset=False)
        found = np.zeros(len(frame), dtype=bool)
        used = self._used()
        columns = cells_by_column(frame, [plan.name for plan in used])
        for plan, cells in zip(used, columns, strict=True):
            if isinstance(plan, NumberPlan):
                found |= np.isnan(column_numbers(cells, plan.reading)[0])
            else:
                found |= cells.as_words().gaps
        return found

    def _used(self) -> list[NumberPlan | CategoryPlan]:
        return [plan for plan in self.plans_ if not isinstance(plan, LeftOut)]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the columns that `transform` gives: ``colour=red``, ``size (missing)``.

        Parameters
        ----------
        input_features : array of str, optional
            The names that `fit` saw, or None.

        Returns
        -------
        array of str
        """
        check_is_fitted(self, "plans_")
        names = [plan.name for plan in self.plans_]
        renamed = dict(zip(names, names, strict=True))
        if input_features is not None:
            given = [str(name) for name in input_features]
            if hasattr(self, "feature_names_in_") and given != names:
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != len(names):
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({len(names)}), got {len(given)}"
                )
            renamed = dict(zip(names, given, strict=True))
        outputs = [
            renamed[plan.name] + output.removeprefix(plan.name)
            for plan in self.plans_
            for output in plan.outputs
        ]
        return np.array(_made_unique(outputs), dtype=object)

    @property
    def ids_(self) -> list[str]:
        """Columns that were left out because they tell rows apart."""
        check_is_fitted(self, "plans_")
        return [p.name for p in self.plans_ if isinstance(p, LeftOut) and p.reason == "id"]

    @property
    def is_trivial(self) -> bool:
        """Whether the encoder does nothing: plain numbers without gaps, all of them used."""
        check_is_fitted(self, "plans_")
        return all(
            (isinstance(p, NumberPlan) and p.reading == "point" and not p.indicator)
            or (isinstance(p, LeftOut) and p.reason == "dropped")
            for p in self.plans_
        )

    def report(self) -> list[str]:
        """What became of the columns, in a few lines."""
        return [f"{kind}: {text}" for kind, text in self.report_rows()]

    def report_rows(self) -> list[tuple[str, str]]:
        """The lines of `report`, as pairs of a kind and its columns."""
        check_is_fitted(self, "plans_")
        return report_rows(self.plans_, self.remarks_)

    def choices(self) -> Choices:
        """The parameters, checked; ValueError for impossible ones."""
        return choices_of(self.get_params())

    def _frame(self, X: Any, reset: bool) -> Any:
        """The table as a narwhals data frame, columns checked."""
        frame = data_frame(X)
        if frame is not None:
            if reset:
                validate_data(self, X, skip_check_array=True, reset=True)
                self.n_features_in_ = len(frame.columns)
                if not hasattr(self, "feature_names_in_"):
                    self.feature_names_in_ = np.array(frame.columns, dtype=object)
            if not len(frame):
                raise TableError("X has 0 rows (0 sample(s)), while a minimum of 1 is required")
            return frame
        array = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_features=0)
        validate_data(self, array, skip_check_array=True, reset=reset)
        has_names = not reset and hasattr(self, "feature_names_in_")
        return frame_of_array(array, self.feature_names_in_ if has_names else None)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def ids_of(X: Any, choices: Choices) -> list[str]:
    """Columns that tell the rows of a data frame apart, whatever is wrong with the others."""
    frame = data_frame(X)
    names = list(frame.columns)
    columns = zip(names, cells_by_column(frame, names), strict=True)
    plans = [decide(name, cells, choices).plan for name, cells in columns]
    return [plan.name for plan in plans if isinstance(plan, LeftOut) and plan.reason == "id"]


def _check_names(names: list[str], choices: Choices, problems: Problems) -> None:
    """Columns that options name must be there."""
    options = (choices.categorical, choices.numeric, choices.drop, choices.ids, choices.keep_id)
    need_columns(names, sorted(frozenset().union(*options)), problems)


def _made_unique(names: list[str]) -> list[str]:
    """Names, with a number behind those that would occur twice."""
    if len(set(names)) == len(names):
        return names
    taken, used, out = set(names), set[str](), []
    for name in names:
        new, number = name, 2
        while new in used or (new != name and new in taken):
            new, number = f"{name} ({number})", number + 1
        used.add(new)
        out.append(new)
    return out
