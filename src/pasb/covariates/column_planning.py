"""Decide what becomes of a column, from its cells and its name.

The rules are few, and the report of a fit shows what they led to; options overrule them:

- Types of a data frame count. Text is looked at: truths, numbers, dates, times, else categories.
- Numbers stay numbers. Those written with leading zeros, or in a column called `code`, `zip`
  or the like, are codes: categories.
- Row numbers (of some rows of a table, too), a column of an `id`, and text that hardly repeats
  tell rows apart and not classes: they are left out, and so are constant and empty columns.
- A column of which more than nine tenths are numbers (or dates) has a mistake in the rest.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from pasb.covariates.cells import GAPS_OF_NUMBERS, Cells
from pasb.covariates.column_plans import (
    CategoryPlan,
    ColumnPlan,
    LeftOut,
    NumberPlan,
    gaps_found,
    same_number,
)
from pasb.covariates.readings import (
    FALSE,
    TRUE,
    column_numbers,
    fitting_dates,
    fitting_times,
    number_reading,
    read_words,
)
from pasb.covariates.tables import count

NEARLY_ALL = 0.9
_SAY_DECIMAL = "Say decimal=',' (--decimal ,) or decimal='.' (--decimal .)"
FEW_ROWS = 10  # too few to tell whether values repeat
MANY_ROWS = 50  # of which different integers in a narrow range are not different by chance
NARROW = 4  # the range of row numbers, for every row that is left of their table
REPEATED, RARE = 0.02, 0.01  # of row numbers that occur twice: their share, and its chance
FEW_INTEGERS, ROW_NUMBERS = "few integers", "row numbers"  # remarks
SEVERAL = 10  # so few integers may be codes
_IDS = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid)|index|row|nr|no|key|unnamed: \d+)|.*[a-z](Id|ID)"
)
_CODES = re.compile(r"(?i:(.*[_\s.-])?(code|zip|zipcode|postcode|plz))")


class Choices(NamedTuple):
    """What a user said about columns; see `TableEncoder`."""

    categorical: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    keep_id: frozenset[str] = frozenset()
    missing: str = "indicator"
    unknown: str = "average"
    decimal: str = "auto"
    min_count: int | str = "auto"
    max_levels: int = 50

    @property
    def refuse_gaps(self) -> bool:
        """Whether gaps are an error."""
        return self.missing == "error"


class Decision(NamedTuple):
    """What becomes of a column, or why nothing can; and what is worth a word."""

    plan: ColumnPlan | None
    problem: str = ""
    remark: str = ""


def decide(name: str, cells: Cells, choices: Choices) -> Decision:
    """What becomes of a column."""
    if name in choices.drop:
        return Decision(LeftOut(name, "dropped"))
    if name in choices.ids:
        own = decide(name, cells, choices._replace(ids=frozenset()))
        left_out = LeftOut(name, "id")
        return Decision(left_out, remark=own.remark if own.plan == left_out else "")
    if cells.kind == "other":
        return Decision(
            None, f"column {name!r} holds {cells.shown}: take it apart into columns, or drop it"
        )
    gaps = cells.gaps
    if gaps.all():
        return Decision(LeftOut(name, "empty"))
    if gaps.any() and choices.refuse_gaps:
        return Decision(None, gaps_found(name, gaps))
    if name in choices.categorical:
        return _category(name, cells.as_words(), choices)
    if name in choices.numeric:
        return _numeric(name, cells, choices)
    if cells.kind in ("flag", "moment"):
        return _numbers(name, cells, "truth" if cells.kind == "flag" else "iso", choices)
    if cells.kind == "number":
        return _of_numbers(name, cells, choices)
    if cells.is_category:
        return _category(name, cells, choices)
    return _of_words(name, cells, choices)


def _of_numbers(name: str, cells: Cells, choices: Choices, reading: str = "point") -> Decision:
    """A column of numbers that nothing was said about."""
    values = column_numbers(cells, reading)[0]
    values = values[~np.isnan(values)]
    # of any type: with a gap, pandas makes floats of integers
    whole = bool(np.all(np.isfinite(values)) and np.all(values == np.floor(values)))
    distinct = len(np.unique(values))
    if whole and name not in choices.keep_id:
        named = _IDS.fullmatch(name) is not None
        filled = 2 * len(values) > len(cells)
        mostly = distinct > FEW_ROWS and 2 * distinct > len(values)
        if named and (mostly or (filled and distinct == len(values) > 1)):
            return Decision(LeftOut(name, "id"))
        if filled and _are_row_numbers(values, distinct):
            return Decision(LeftOut(name, "id"), remark=ROW_NUMBERS)
        if distinct > 1 and (named or _CODES.fullmatch(name)):
            return _category(name, cells.as_words(), choices)
    if distinct == 1 and not cells.gaps.any() and len(cells) > 1:
        return Decision(LeftOut(name, "constant"), remark=f"always {values[0]:g}")
    decision = _numbers(name, cells, reading, choices)
    integers = whole and (cells.is_integer or cells.kind == "word")
    if integers and 2 < distinct <= SEVERAL < len(cells) and not decision.problem:
        return decision._replace(remark=FEW_INTEGERS)
    return decision


def _are_row_numbers(values: NDArray[np.float64], distinct: int) -> bool:
    """Whether integers look like numbers of rows, or of those that a split left.

    They fill a good part of the range from 0, and hardly any occurs twice. Measurements of many
    rows would repeat there more often, those of few would not come in order.
    """
    n, repeated = len(values), len(values) - distinct
    if n < FEW_ROWS or values.min() < 0 or values.max() > NARROW * n:
        return False
    if repeated > max(1, REPEATED * n) or (repeated and _by_chance(values, repeated) > RARE):
        return False
    steps = np.diff(values)
    return n >= MANY_ROWS or bool(np.all(steps >= 0) or np.all(steps <= 0))


def _by_chance(values: NDArray[np.float64], repeated: int) -> float:
    """The probability that evenly spread integers in this range repeat so rarely, or less."""
    pairs, places = len(values) * (len(values) - 1) / 2, values.max() - values.min() + 1
    return float(pdtr(repeated, pairs / places))


def _of_words(name: str, cells: Cells, choices: Choices) -> Decision:
    """A column of text that nothing was said about."""
    words = [word for word in cells.words if word.lower() not in GAPS_OF_NUMBERS]
    lower = {word.lower() for word in words}
    if lower & TRUE and lower & FALSE and lower <= TRUE | FALSE and lower != {"0", "1"}:
        return _numbers(name, cells, "truth", choices)
    if any(re.fullmatch(r"0\d+", word) for word in words):
        return _text(name, cells, choices)
    if words:
        reading, problem = _reading(name, words, choices)
        if problem:
            return Decision(None, problem)
        found, bad = column_numbers(cells, reading)
        good = int((~np.isnan(found)).sum())
        if good and not bad.any():
            return _of_numbers(name, cells, choices, reading)
        if good > NEARLY_ALL * (good + int(bad.sum())):
            return Decision(None, _strays(name, cells, bad, "numbers"))
        format = fitting_dates(words, day_first=choices.decimal == ",")
        if format is not None:
            bad = column_numbers(cells, format)[1]
            if bad.any():
                return Decision(None, _strays(name, cells, bad, "dates"))
            return _numbers(name, cells, format, choices)
        if fitting_times(words):
            bad = column_numbers(cells, "clock")[1]
            if bad.any():
                return Decision(None, _strays(name, cells, bad, "times of the day"))
            return _numbers(name, cells, "clock", choices)
    return _text(name, cells, choices)


def _text(name: str, cells: Cells, choices: Choices) -> Decision:
    """Categories, unless the words hardly repeat."""
    filled = int((~cells.gaps).sum())
    distinct = len(cells.words)
    if name not in choices.keep_id and distinct > FEW_ROWS and 2 * distinct > filled:
        differ = distinct == filled and not any(" " in word for word in cells.words)
        reason = "id" if differ or _IDS.fullmatch(name) else "text"
        return Decision(LeftOut(name, reason), remark=_different(distinct))
    decision = _category(name, cells, choices)
    if name in choices.keep_id and decision.plan == LeftOut(name, "text"):
        return Decision(
            None,
            f"column {name!r} is to be kept, but hardly any of its {_different(distinct)} occurs "
            "twice, so no level would get a column. Make numbers or fewer levels of it, or do not "
            "keep it",
        )
    return decision


def _numeric(name: str, cells: Cells, choices: Choices) -> Decision:
    """A column that the user calls numeric."""
    if cells.kind in ("flag", "moment"):
        return _numbers(name, cells, "truth" if cells.kind == "flag" else "iso", choices)
    if cells.kind == "number":
        return _numbers(name, cells, "point", choices)
    reading, problem = _reading(name, cells.words, choices)
    if problem:
        return Decision(None, problem)
    bad = column_numbers(cells, reading)[1]
    if bad.any():
        first = int(np.argmax(bad))
        return Decision(
            None,
            f"column {name!r} is to be numeric, but {count(int(bad.sum()), 'value')} in it are no "
            f"numbers: the first is {cells.words[cells.codes[first]]!r} in row {first + 1}",
        )
    return _numbers(name, cells, reading, choices)


def _reading(name: str, words: list[str], choices: Choices) -> tuple[str, str]:
    """How words are read as numbers, or why it cannot be told."""
    reading = number_reading(words, choices.decimal)
    if reading is not None:
        return reading, ""
    comma = next((word for word in words if "," in word), None)
    point = next((word for word in words if "." in word and "," not in word), None)
    if comma is not None and point is not None:
        asked = f"which sign is that of decimals, the one in {comma!r} or the one in {point!r}?"
        return "", f"column {name!r}: {asked} {_SAY_DECIMAL}, or write all numbers with one sign"
    example, sign = (point, "point") if comma is None else (comma, "comma")
    return "", (
        f"column {name!r}: is {example!r} a number with a decimal {sign}, or in thousands? "
        f"{_SAY_DECIMAL}, or write it without {sign}s"
    )


def _numbers(name: str, cells: Cells, reading: str, choices: Choices) -> Decision:
    """A plan for numbers, truths or dates."""
    values = column_numbers(cells, reading)[0]
    gaps = np.isnan(values)
    filled = values[~gaps]
    if not len(filled):
        return Decision(LeftOut(name, "empty"))
    infinite = np.isinf(values)
    if infinite.any():
        rows, first = count(int(infinite.sum()), "row"), int(np.argmax(infinite)) + 1
        return Decision(
            None,
            f"column {name!r} contains infinity in {rows}, the first is row {first}. Look for "
            "divisions by zero or overflow in it",
        )
    if gaps.any() and choices.refuse_gaps:
        return Decision(None, gaps_found(name, gaps))
    if reading != "point" and len(cells) > 1 and not gaps.any() and filled.min() == filled.max():
        return Decision(LeftOut(name, "constant"))
    fill = float(np.median(filled)) if np.isfinite(np.median(filled)) else float(filled[0])
    plan = NumberPlan(
        name,
        reading,
        fill,
        bool(gaps.any()),
        choices.refuse_gaps,
        reading == "truth" and choices.unknown == "error",
    )
    return Decision(plan, remark=count(int(gaps.sum()), "gap") if gaps.any() else "")


def _category(name: str, cells: Cells, choices: Choices) -> Decision:
    """A plan for categories: the frequent levels, the pooled ones, and the gaps."""
    number_of: dict[str, int] = {}
    same = [number_of.setdefault(same_number(w), len(number_of)) for w in cells.words]
    of_word = np.array([*same, -1], dtype=np.int64)
    codes = of_word[cells.codes]
    counts = np.bincount(codes[codes >= 0], minlength=len(number_of))
    levels = [level for level, n in zip(number_of, counts.tolist(), strict=True) if n > 0]
    counts = counts[counts > 0]
    n_gaps, n_rows = int((codes < 0).sum()), len(codes)
    if len(levels) == 1 and not n_gaps and n_rows > 1:
        return Decision(LeftOut(name, "constant"), remark=f"always {levels[0]!r}")
    own = _frequent(counts, n_rows, choices)
    if not own.any():
        return Decision(LeftOut(name, "text"), remark=_different(len(levels)))
    pooled = int((~own).sum())
    kept = sorted((level for level, is_own in zip(levels, own, strict=True) if is_own), key=_rank)
    count_of = dict(zip(levels, counts.tolist(), strict=True))
    shares = [count_of[level] / n_rows for level in kept]
    shares += [int(counts[~own].sum()) / n_rows] if pooled else []
    shares += [n_gaps / n_rows] if n_gaps else []
    if len(shares) == 1:  # one row
        return Decision(LeftOut(name, "constant"), remark=f"always {levels[0]!r}")
    plan = CategoryPlan(
        name,
        tuple(kept),
        tuple(shares),
        pooled,
        n_gaps > 0,
        choices.refuse_gaps,
        choices.unknown == "error",
    )
    return Decision(plan, remark=count(n_gaps, "gap") if n_gaps else "")


def _frequent(counts: NDArray[np.int64], n_rows: int, choices: Choices) -> NDArray[np.bool_]:
    """Which levels have columns of their own; a single rare one is not pooled."""
    if isinstance(choices.min_count, str):
        least = min(10, max(2, n_rows // 100))
    else:
        least = int(choices.min_count)
    own = counts >= least
    most = int(choices.max_levels)
    if own.sum() > most:
        own[np.argsort(-counts, kind="stable")[most:]] = False
    if (~own).sum() == 1 and len(counts) <= most:
        own[:] = True
    return own


def _rank(level: str) -> tuple[int, float, str]:
    """Numbers by their size, before text."""
    value = read_words([level], "point")[0]
    return (1, 0.0, level) if np.isnan(value) else (0, float(value), level)


def _different(n_texts: int) -> str:
    return f"{n_texts:,} different texts"


def _strays(name: str, cells: Cells, bad: NDArray[np.bool_], what: str) -> str:
    first = int(np.argmax(bad))
    return (
        f"column {name!r} holds {what}, but for {count(int(bad.sum()), 'value')}: the first is "
        f"{cells.words[cells.codes[first]]!r} in row {first + 1}. Correct or empty it, or say "
        f"that the column is categorical (--categorical {name!r})"
    )
