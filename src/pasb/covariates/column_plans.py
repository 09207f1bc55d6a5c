"""What becomes of a column: its numbers for a model, learned once and remembered.

A plan turns the cells of new rows into the same columns as those of the rows it was learned
from. It is numbers and text, so a file can hold it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.cells import Cells
from pasb.covariates.readings import DATES, DECIMAL, READINGS, column_numbers, in_unit, taken_apart
from pasb.covariates.tables import count, listed

OTHER, MISSING = "(other)", "(missing)"
A_DISTANT_DAY = 2_000_000  # since 1970, of the year 7445: farther away, it is no date of a table
AVERAGE = "they count as an average row"


class Assumed(NamedTuple):
    """Something that new rows have and the training rows had not, and what it counts as.

    Attributes
    ----------
    column : str
    what : str
    n_rows : int
    meaning : str
    """

    column: str
    what: str
    n_rows: int
    meaning: str

    def words(self) -> str:
        """A sentence."""
        return (
            f"column {self.column!r} has {self.what} in {count(self.n_rows, 'row')}, and the "
            f"training rows had none: {self.meaning}"
        )


class Coded(NamedTuple):
    """Columns of some rows.

    Attributes
    ----------
    columns : array of shape (n_rows, n_outputs)
    problem : str
        Why the rows cannot be used; empty if they can.
    assumed : tuple of Assumed
    """

    columns: NDArray[np.float64]
    problem: str = ""
    assumed: tuple[Assumed, ...] = ()


@dataclass(frozen=True)
class NumberPlan:
    """A column of numbers, truths or dates.

    Attributes
    ----------
    name : str
    reading : str
        How words become numbers; one of `pasb.covariates.readings.READINGS`.
    fill : float
        What takes the place of a gap: the median.
    indicator : bool
        A second column says where the gaps are.
    refuse_gaps : bool
        Gaps are an error.
    refuse_unknown : bool
        Other words in a column of truths are an error; they count as gaps otherwise.
    """

    name: str
    reading: str
    fill: float
    indicator: bool = False
    refuse_gaps: bool = False
    refuse_unknown: bool = False
    kind: ClassVar[str] = "number"

    @property
    def outputs(self) -> list[str]:
        """Names of the columns that it gives."""
        return [self.name, f"{self.name} {MISSING}"] if self.indicator else [self.name]

    def coded(self, cells: Cells, before: int = 0) -> Coded:
        """The columns of some rows, which come after `before` others."""
        try:
            values, bad = column_numbers(cells, self.reading)
        except TypeError as error:
            return self._refused(f"column {self.name!r} holds {error}, not {self._wanted()}")
        tolerant = self.reading == "truth" and not (self.refuse_unknown or self.refuse_gaps)
        if bad.any() and not tolerant:
            return self._refused(_unreadable(self.name, cells, bad, self._wanted(), before))
        infinite = np.isinf(values)
        if infinite.any():
            first = before + int(np.argmax(infinite)) + 1
            return self._refused(
                f"column {self.name!r} contains infinity in {count(int(infinite.sum()), 'row')}, "
                f"the first is row {first}. Look for divisions by zero or overflow in it"
            )
        gaps = np.isnan(values)
        if gaps.any() and self.refuse_gaps:
            return self._refused(gaps_found(self.name, gaps, before))
        out = np.empty((len(values), len(self.outputs)))
        out[:, 0] = np.where(gaps, self.fill, values)
        if self.indicator:
            out[:, 1] = gaps
        filled = f"filled with the median, {self._fill_in_words()}"
        assumed = []
        if bad.any():  # in a column of truths
            meaning = "they count as gaps" + ("" if self.indicator else f", {filled}")
            what = f"values such as {_some(cells, bad)}"
            assumed.append(Assumed(self.name, what, int(bad.sum()), meaning))
        if not self.indicator and (empty := gaps & ~bad).any():
            assumed.append(Assumed(self.name, "gaps", int(empty.sum()), filled))
        return Coded(out, assumed=tuple(assumed))

    def _refused(self, problem: str) -> Coded:
        return Coded(np.empty((0, 0)), problem)

    def _fill_in_words(self) -> str:
        if self.reading in DATES and abs(self.fill) < A_DISTANT_DAY:
            return str(np.datetime64("1970-01-01") + math.floor(self.fill))
        return f"{self.fill:g}"

    def _wanted(self) -> str:
        if self.reading in DATES:
            return f"dates ({DATES[self.reading]})"
        base, unit = taken_apart(self.reading)
        wanted = {
            "truth": "true or false",
            "comma": "numbers with a decimal comma",
            "clock": "times of the day (hour:minute)",
        }
        return wanted.get(base, "numbers") + (f" in {unit}" if unit else "")

    def checked(self) -> NumberPlan:
        """The plan itself; ValueError for content that no plan has."""
        _check(isinstance(self.name, str) and self.reading in READINGS)
        _check(type(self.fill) in (float, int) and math.isfinite(self.fill))
        flags = (self.indicator, self.refuse_gaps, self.refuse_unknown)
        _check(all(isinstance(flag, bool) for flag in flags))
        return self

    def with_decimal(self, decimal: str | None) -> NumberPlan:
        """The plan for rows that write numbers with another decimal sign; None for the same."""
        base, unit = taken_apart(self.reading)
        if decimal is None or base not in DECIMAL:
            return self
        return replace(self, reading=in_unit("comma" if decimal == "," else "thousands", unit))


@dataclass(frozen=True)
class CategoryPlan:
    """A column of categories, one-hot: a 0/1 column for each level, one alone if there are two.

    Attributes
    ----------
    name : str
    levels : tuple of str
        Those with columns of their own; after them come the pooled ones and the gaps.
    shares : tuple of float
        The share of training rows of each column. A level that is not known gets these, which
        is what an average row has.
    pooled : int
        Rare levels that share a column; unknown ones join them.
    missing : bool
        Whether gaps have a column.
    refuse_gaps, refuse_unknown : bool
    """

    name: str
    levels: tuple[str, ...]
    shares: tuple[float, ...]
    pooled: int = 0
    missing: bool = False
    refuse_gaps: bool = False
    refuse_unknown: bool = False
    kind: ClassVar[str] = "category"

    @property
    def all_levels(self) -> list[str]:
        """The levels, the pooled ones and the gaps."""
        return [
            *self.levels,
            *([OTHER] if self.pooled else []),
            *([MISSING] if self.missing else []),
        ]

    @property
    def outputs(self) -> list[str]:
        """Names of the columns that it gives."""
        levels = self.all_levels
        return [f"{self.name}={level}" for level in (levels[1:] if len(levels) == 2 else levels)]

    def coded(self, cells: Cells, before: int = 0) -> Coded:
        """The columns of some rows, which come after `before` others."""
        if cells.kind == "other" or cells.kind == "moment":
            return Coded(
                np.empty((0, 0)), f"column {self.name!r} holds {cells.shown}, not categories"
            )
        cells = cells.as_words()
        number_of = {level: number for number, level in enumerate(self.levels)}
        unknown = -1
        of_unknown = len(self.levels) if self.pooled else unknown
        number = np.array(
            [number_of.get(same_number(word), of_unknown) for word in cells.words] + [unknown],
            dtype=np.int64,
        )
        new = np.array([same_number(word) not in number_of for word in cells.words] + [False])
        chosen, gaps = number[cells.codes], cells.gaps
        if self.missing:
            chosen[gaps] = len(self.all_levels) - 1
        elif gaps.any() and self.refuse_gaps:
            return Coded(np.empty((0, 0)), gaps_found(self.name, gaps, before))
        rows = new[cells.codes] & ~gaps
        words = [word for word, is_new in zip(cells.words, new[:-1], strict=True) if is_new]
        assumed = []
        if rows.any() and not self.pooled:
            new_ones = f"levels such as {listed([repr(word) for word in words], 3)}"
            if self.refuse_unknown:
                known = listed([repr(level) for level in self.levels], 5)
                return Coded(
                    np.empty((0, 0)),
                    f"column {self.name!r} has unknown {new_ones} in "
                    f"{count(int(rows.sum()), 'row')}; known are {known}",
                )
            assumed.append(Assumed(self.name, new_ones, int(rows.sum()), AVERAGE))
        if gaps.any() and not self.missing:
            assumed.append(Assumed(self.name, "gaps", int(gaps.sum()), AVERAGE))
        table = np.vstack([np.eye(len(self.shares)), self.shares])  # the last row: unknown
        return Coded(table[chosen][:, -len(self.outputs) :], assumed=tuple(assumed))

    def checked(self) -> CategoryPlan:
        """The plan itself; ValueError for content that no plan has."""
        _check(isinstance(self.name, str) and len(self.levels) > 0)
        _check(isinstance(self.levels, tuple) and isinstance(self.shares, tuple))
        _check(all(isinstance(level, str) for level in self.levels))
        _check(len(set(self.levels)) == len(self.levels))
        _check(type(self.pooled) is int and self.pooled >= 0)
        flags = (self.missing, self.refuse_gaps, self.refuse_unknown)
        _check(all(isinstance(flag, bool) for flag in flags))
        _check(len(self.shares) == len(self.all_levels) > 1)
        _check(all(type(share) in (float, int) and 0 <= share <= 1 for share in self.shares))
        return self


@dataclass(frozen=True)
class LeftOut:
    """A column that the model does not see.

    Attributes
    ----------
    name : str
    reason : {"id", "constant", "text", "empty", "dropped"}
    """

    name: str
    reason: str
    kind: ClassVar[str] = "left out"
    outputs: ClassVar[list[str]] = []
    REASONS: ClassVar[tuple[str, ...]] = ("id", "constant", "text", "empty", "dropped")

    def checked(self) -> LeftOut:
        """The plan itself; ValueError for content that no plan has."""
        _check(isinstance(self.name, str) and self.reason in self.REASONS)
        return self


ColumnPlan = NumberPlan | CategoryPlan | LeftOut
_KINDS: dict[str, Any] = {plan.kind: plan for plan in (NumberPlan, CategoryPlan, LeftOut)}


def to_json(plan: ColumnPlan) -> dict[str, Any]:
    """A plan as JSON."""
    content = asdict(plan)
    lists = {key: list(value) for key, value in content.items() if isinstance(value, tuple)}
    return {"kind": plan.kind, **content, **lists}


def from_json(stored: Any) -> ColumnPlan:
    """A plan from JSON of unknown origin; ValueError for what is none."""
    _check(isinstance(stored, dict) and isinstance(stored.get("kind"), str))
    _check(stored["kind"] in _KINDS)
    plan = _KINDS[stored["kind"]]
    content = {key: value for key, value in stored.items() if key != "kind"}
    if plan is NumberPlan:
        content.setdefault("refuse_unknown", False)  # which files did not always have
    _check(content.keys() == {field.name for field in fields(plan)})
    for name, value in content.items():
        if isinstance(value, list):
            content[name] = tuple(value)
        _check(isinstance(value, str | int | float | bool | list))
    return plan(**content).checked()


def same_number(word: str) -> str:
    """One spelling for 1 and 1.0, which libraries write for the same code."""
    whole, point, zeros = word.partition(".")
    digits = whole.removeprefix("-")
    same = point and digits.isdigit() and not zeros.strip("0") and len(zeros) > 0
    return whole if same else word


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError("a column of the table is described in an impossible way")


def gaps_found(name: str, gaps: NDArray[np.bool_], before: int = 0) -> str:
    """How many gaps there are, and where the first one is."""
    first = before + int(np.argmax(gaps)) + 1
    return f"column {name!r} has {count(int(gaps.sum()), 'gap')}, the first in row {first}"


def _unreadable(name: str, cells: Cells, bad: NDArray[np.bool_], wanted: str, before: int) -> str:
    first, cells = int(np.argmax(bad)), cells.as_words()
    return (
        f"column {name!r} holds {count(int(bad.sum()), 'value')} other than {wanted}, the first is "
        f"{cells.words[cells.codes[first]]!r} in row {before + first + 1}"
    )


def _some(cells: Cells, bad: NDArray[np.bool_]) -> str:
    """Some of the different values of these rows."""
    cells = cells.as_words()
    return listed([repr(cells.words[code]) for code in np.unique(cells.codes[bad])], 3)
