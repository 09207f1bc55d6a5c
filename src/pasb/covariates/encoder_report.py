"""What became of the columns of a table, in a few lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pasb.covariates.column_planning import FEW_INTEGERS, ROW_NUMBERS
from pasb.covariates.column_plans import CategoryPlan, ColumnPlan, LeftOut, NumberPlan
from pasb.covariates.readings import DATES, taken_apart
from pasb.covariates.tables import count, listed

MOST_NAMES = 12
NUMBERS, CATEGORIES, LEFT_OUT = "numbers", "categories, one-hot", "left out"
TRUTHS, DAYS = "true or false, as 1 or 0", "dates, as days"

_REASONS = {
    "id": "tells rows apart",
    "constant": "constant",
    "text": "text that hardly repeats",
    "empty": "empty",
    "dropped": "as asked",
}
# remarks that ask whether a column is what it seems, and the option that says otherwise
_ASKED = (
    (FEW_INTEGERS, "if integers are codes", "--categorical"),
    (ROW_NUMBERS, "if they are no row numbers", "--keep-id"),
)


def report_rows(plans: Sequence[ColumnPlan], remarks: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of a kind and its columns.

    Parameters
    ----------
    plans : sequence of plans
    remarks : mapping from names to text
        What is worth a word, as `pasb.covariates.column_planning.decide` found it.
    """
    lines: dict[str, list[str]] = {}
    for plan in plans:
        kind, details = _described(plan, remarks.get(plan.name, ""))
        text = "; ".join(details) if plan.kind == "left out" else ", ".join(details)
        lines.setdefault(kind, []).append(f"{plan.name} ({text})" if text else plan.name)
    rows = [
        (kind, listed(lines[kind], MOST_NAMES))
        for kind in (NUMBERS, CATEGORIES, TRUTHS, DAYS, LEFT_OUT)
        if kind in lines
    ]
    for remark, question, option in _ASKED:
        names = [plan.name for plan in plans if remarks.get(plan.name) == remark]
        if names:
            options = " ".join(f"{option} {name!r}" for name in names[:4])
            rows.append((question, options + (" ..." if len(names) > 4 else "")))
    return rows


def _described(plan: ColumnPlan, remark: str) -> tuple[str, list[str]]:
    """The kind of a column as readers call it, and what to say about it."""
    more = [remark] if remark and remark != FEW_INTEGERS else []
    if isinstance(plan, LeftOut):
        return LEFT_OUT, [_REASONS[plan.reason], *more]
    if isinstance(plan, CategoryPlan):
        levels = count(len(plan.levels), "level")
        if plan.pooled:
            levels += f" and {plan.pooled} rare ones pooled"
        return CATEGORIES, [levels, *more]
    return _kind_of_numbers(plan), [*_reading(plan), *more]


def _kind_of_numbers(plan: NumberPlan) -> str:
    if plan.reading in DATES:
        return DAYS
    return TRUTHS if plan.reading == "truth" else NUMBERS


def _reading(plan: NumberPlan) -> list[str]:
    if plan.reading in DATES:
        return [DATES[plan.reading]]
    base, unit = taken_apart(plan.reading)
    said = {
        "comma": ["decimal comma"],
        "thousands": ["commas between thousands"],
        "clock": ["times of the day, as hours"],
    }
    return said.get(base, []) + ([f"in {unit}"] if unit else [])
