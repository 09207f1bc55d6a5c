"""What the leading covariates do to class probabilities, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasb.covariates.column_plans import CategoryPlan, NumberPlan
from pasb.covariates.readings import DATES
from pasb.effects import avg_comparisons, predictions
from pasb.report.evaluated import Evaluated, rows_of, spaced
from pasb.report.values_in_words import date_in_words, number_in_words

MOST_TERMS = 8
FIRST_LOOK = (80, 60)  # rows and draws by which covariates are ranked
SECOND_LOOK = (500, 400)  # rows and draws of what is shown
MOST_CURVES = 3
CURVE_POINTS = 15
CURVE_LOOK = (200, 200)
MOST_LEVELS = 12  # of a covariate with levels that are looked at
MOST_COLUMNS = 400  # that are looked at


class Change(NamedTuple):
    """Two settings of some columns, the same for every row."""

    term: str
    words: str
    low: dict[str, float]
    high: dict[str, float]


class _View(NamedTuple):
    """The table whose columns are changed, the model that takes it, and names for people."""

    model: Any
    table: Any
    names: dict[str, str]  # of a column, as people know it
    columns: dict[str, NDArray[np.float64]]
    plans: tuple[CategoryPlan, ...] = ()
    dates: frozenset[str] = frozenset()  # columns that hold days since 1970-01-01
    available: NDArray[np.bool_] | None = None

    def in_words(self, name: str, value: float) -> str:
        """A value of a column as people write it."""
        if name in self.dates:
            return date_in_words(value, float(np.ptp(self.columns[name])))
        return number_in_words(value)

    @classmethod
    def of(cls, evaluated: Evaluated) -> _View:
        subject = evaluated.subject
        model, table, available = subject.classifier, evaluated.columns, evaluated.available
        if hasattr(model, "formula"):
            frame = pd.DataFrame({name: np.asarray(table[name]) for name in model.covariates_})
            plain = [name for name in model.covariates_ if name not in model.levels_]
            held = [name for name in plain if frame[name].dtype.kind in "iufb"]
            numeric = {name: frame[name].to_numpy(float) for name in held}
            own_names = {name: name for name in numeric}
            return cls(model, table, own_names, numeric, available=available)
        array = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=float)
        given = [str(name) for name in getattr(model, "feature_names_in_", ())]
        own = given or [f"x{v}" for v in range(array.shape[1])]
        names = dict(zip(own, subject.feature_names(), strict=True))
        columns = {name: array[:, v] for v, name in enumerate(own)}
        encoder = None if subject.before is None else subject.before.steps[0][1]
        known = [p for p in getattr(encoder, "plans_", ()) if {*p.outputs} <= {*names.values()}]
        shown_dates = {p.name for p in known if isinstance(p, NumberPlan) and p.reading in DATES}
        return cls(
            model,
            pd.DataFrame(array, columns=given) if given else array,
            names,
            columns,
            tuple(p for p in known if isinstance(p, CategoryPlan)),
            frozenset(name for name, shown in names.items() if shown in shown_dates),
            available,
        )


def effect_facts(evaluated: Evaluated, interval: float) -> dict[str, Any]:
    """Average changes of class probabilities, for the covariates with the largest ones."""
    view = _View.of(evaluated)
    changes = _changes(view)
    if not changes:
        return {"terms": [], "curves": [], "n_changes": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers beyond those of a few rows
        sizes = [np.abs(_effect(view, change, FIRST_LOOK, 0.9)[0]).max() for change in changes]
        leading = [changes[k] for k in np.argsort(-np.array(sizes), kind="stable")[:MOST_TERMS]]
        found = [(change, _effect(view, change, SECOND_LOOK, interval)) for change in leading]
        found.sort(key=lambda one: -float(np.abs(one[1][0]).max()))
        plain = [change.term for change, _ in found if len(change.low) == 1]
        curves = [_curve(view, name, interval) for name in plain if _is_curve(view, name)]
    rows = len(_rows(view, SECOND_LOOK[0])["X"])
    return {
        "interval": interval,
        "rows": rows,
        "n_changes": len(changes),
        "n_columns": len(view.columns),
        "terms": [
            {
                "term": view.names.get(change.term, change.term),
                "change": change.words,
                "estimate": estimate.tolist(),
                "lower": lower.tolist(),
                "upper": upper.tolist(),
            }
            for change, (estimate, lower, upper) in found
        ],
        "curves": curves[:MOST_CURVES],
    }


def _changes(view: _View) -> list[Change]:
    """From a standard deviation below the mean to one above; between the levels of others."""
    found, of_plans = [], set()
    own = {shown: name for name, shown in view.names.items()}
    for plan in view.plans:
        of_plans |= {own[shown] for shown in plan.outputs}
        found += _of_levels(plan, own)
    for name, values in list(view.columns.items())[:MOST_COLUMNS]:
        if name in of_plans or view.names[name].endswith(" (missing)"):
            continue
        distinct = np.unique(values)
        if len(distinct) < 2:
            continue
        low, high = values.mean() - values.std(), values.mean() + values.std()
        if len(distinct) == 2:
            low, high = distinct
        words = f"{view.in_words(name, low)} → {view.in_words(name, high)}"
        found.append(Change(name, words, {name: float(low)}, {name: float(high)}))
    return found


def _of_levels(plan: CategoryPlan, own: dict[str, str]) -> list[Change]:
    """From the most frequent level to each other one, in one-hot columns."""
    levels, outputs = plan.all_levels, [own[shown] for shown in plan.outputs]
    rows = np.eye(len(levels))[:, -len(outputs) :]
    base = int(np.argmax(plan.shares))

    def setting(k: int) -> dict[str, float]:
        return dict(zip(outputs, rows[k].tolist(), strict=True))

    others = [k for k in range(len(levels)) if k != base][:MOST_LEVELS]
    return [
        Change(plan.name, f"{levels[base]} → {levels[k]}", setting(base), setting(k))
        for k in others
    ]


def _rows(view: _View, most: int) -> dict[str, Any]:
    """Some rows, and what is available to them."""
    some = spaced(len(view.table), most)
    return {
        "X": rows_of(view.table, some),
        "availability": None if view.available is None else view.available[some],
    }


def _effect(
    view: _View, change: Change, look: tuple[int, int], interval: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean and interval of the change of each class probability."""
    found = avg_comparisons(
        view.model,
        **_rows(view, look[0]),
        profile=(change.low, change.high),
        n_draws=_number(view, look[1]),
        interval=interval,
    )
    return tuple(np.asarray(found[name]) for name in ("estimate", "lower", "upper"))  # type: ignore[return-value]


def _is_curve(view: _View, name: str) -> bool:
    return name in view.columns and len(np.unique(view.columns[name])) > 5


def _curve(view: _View, name: str, interval: float) -> dict[str, Any]:
    """Class probabilities along a covariate, averaged over rows."""
    values = view.columns[name]
    low, high = np.quantile(values, (0.01, 0.99))
    points = np.linspace(low, high, CURVE_POINTS)
    asked: Mapping[str, Any] = {name: points}
    found = predictions(
        view.model,
        **_rows(view, CURVE_LOOK[0]),
        variables=asked,
        by=True,
        n_draws=_number(view, CURVE_LOOK[1]),
        interval=interval,
    )
    shape = CURVE_POINTS, -1
    lines = {k: np.asarray(found[k]).reshape(shape) for k in ("estimate", "lower", "upper")}
    return {
        "term": view.names.get(name, name),
        "value": points.tolist(),
        "dates": name in view.dates,
        **{key: line.T.tolist() for key, line in lines.items()},
    }


def _number(view: _View, most: int) -> int:
    draws = view.model.fitted_.draws
    return min(most, draws.n_chains * draws.n_draws)
