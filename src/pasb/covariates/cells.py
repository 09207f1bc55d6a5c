"""The cells of one column, whichever library they come from: numbers, days or words.

Text is taken apart once: each distinct word is stripped and looked at, and the rows hold its
number. So what is done with words takes as long as there are distinct ones.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# words for a gap, in lower case, in every column
GAPS = frozenset({"", "na", "n/a", "#n/a", "nan", "<na>", "null", "nat", "?"})
# and words that may be levels of a category, but no numbers, dates or truths
GAPS_OF_NUMBERS = frozenset({"none", "-", "--", ".", "missing", "unknown"})
MICROSECONDS_A_DAY = 86_400e6
FEW_ROWS = 2048  # of text; its columns are looked at together
COLUMNS_AT_ONCE, CELLS_AT_ONCE = 512, 2**22

Kind = Literal["number", "flag", "moment", "word", "other"]


@dataclass(frozen=True)
class Cells:
    """A column.

    Attributes
    ----------
    kind : {"number", "flag", "moment", "word", "other"}
        What the cells hold; "moment" are dates and times, "other" what a model cannot use.
    numbers : array of shape (n_rows,)
        Numbers (durations are numbers of days, times of the day numbers of hours), 0 and 1, or
        days since 1970-01-01 UTC; NaN at gaps; empty for words.
    words : list of str
        The distinct words, without spaces around them; empty for numbers.
    codes : array of shape (n_rows,)
        The word of each row, -1 at gaps; empty for numbers.
    shown : str
        The type in words, for messages.
    is_integer : bool
        Numbers of an integer type.
    is_category : bool
        Of a type that is made for categories.
    """

    kind: Kind
    numbers: NDArray[np.float64]
    words: list[str]
    codes: NDArray[np.int64]
    shown: str
    is_integer: bool = False
    is_category: bool = False

    def __len__(self) -> int:
        return max(len(self.numbers), len(self.codes))

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which rows hold nothing."""
        return self.codes < 0 if self.kind == "word" else np.isnan(self.numbers)

    def as_words(self) -> Cells:
        """The same cells as words: integers without a point, truths as "true" and "false"."""
        if self.kind == "word":
            return self
        found, codes = np.unique(self.numbers, return_inverse=True)
        codes = np.where(self.gaps, -1, codes.reshape(-1)).astype(np.int64)
        found = found[~np.isnan(found)]
        if self.kind == "flag":
            words = ["true" if value else "false" for value in found]
        else:
            words = [plain_number(value) for value in found.tolist()]
        return replace(self, kind="word", numbers=_NO_NUMBERS, words=words, codes=codes)


_NO_NUMBERS = np.empty(0)
_NO_CODES = np.empty(0, dtype=np.int64)
_NESTED = (list, tuple, dict, set, np.ndarray)


def cells_by_column(frame: Any, names: Iterable[str]) -> Iterator[Cells]:
    """The cells of some columns of a narwhals data frame, one column after the other."""
    schema, wanted = frame.schema, list(names)
    native_types = getattr(frame.to_native(), "dtypes", None)  # pyarrow has none
    shown = {} if native_types is None else dict(zip(frame.columns, native_types, strict=True))
    at_once = min(COLUMNS_AT_ONCE, CELLS_AT_ONCE // max(1, len(frame)) + 1)
    for k in range(0, len(wanted), at_once):
        some = wanted[k : k + at_once]
        by_type: dict[Any, list[str]] = {}
        for name in some:
            by_type.setdefault(schema[name], []).append(name)
        found: dict[str, Cells] = {}
        for dtype, own in by_type.items():
            if len(own) > 1:
                found |= _together(frame, own, dtype, shown)
        for name in some:
            yield found[name] if name in found else cells_of(frame[name])


def _together(frame: Any, names: list[str], dtype: Any, shown: dict[str, Any]) -> dict[str, Cells]:
    """The cells of columns of one type, much faster than one by one; none if that cannot be."""
    import narwhals as nw

    if dtype.is_numeric() and dtype != nw.Decimal:
        table = frame.select(names).to_numpy()
        if table.dtype.kind in "iuf":
            whole = dtype.is_integer()
            columns = np.array(table.T, dtype=np.float64, order="C")
            return {
                name: _plain("number", column, f"numbers ({shown.get(name, dtype)})", whole)
                for name, column in zip(names, columns, strict=True)
            }
    if dtype == nw.String and len(frame) <= FEW_ROWS:
        table = frame.select(names).to_numpy()
        return {
            name: _few_words(values, str(shown.get(name, dtype)))
            for name, values in zip(names, table.T.tolist(), strict=True)
        }
    return {}


def cells_of(column: Any) -> Cells:
    """The cells of a narwhals series."""
    import narwhals as nw

    dtype, native = column.dtype, column.to_native()
    shown = str(getattr(native, "dtype", dtype))
    if dtype == nw.Boolean:
        return _numbers(column, "flag", "true or false")
    if dtype.is_numeric():
        what = "decimals" if dtype == nw.Decimal else "numbers"
        return _numbers(column, "number", f"{what} ({shown})", dtype.is_integer())
    if dtype in (nw.Date, nw.Datetime):
        microseconds = _floats(column.dt.timestamp("us"))
        what = "dates" if dtype == nw.Date else "timestamps"
        return _plain("moment", microseconds / MICROSECONDS_A_DAY, f"{what} ({shown})")
    if dtype == nw.Duration:
        microseconds = _floats(column.dt.total_microseconds())
        return _plain("number", microseconds / MICROSECONDS_A_DAY, f"durations ({shown})")
    if dtype == nw.Time:
        hours = np.array([_hours(value) for value in column.to_list()], dtype=np.float64)
        return _plain("number", hours, f"times of the day ({shown})")
    if dtype.is_nested():
        return _other(len(column), f"nested values ({shown})")
    if dtype == nw.Binary:
        return _other(len(column), f"bytes ({shown})")
    if str(shown).startswith("period"):  # which only pandas has
        return cells_of(nw.from_native(native.dt.to_timestamp(), series_only=True))
    is_category = dtype in (nw.Categorical, nw.Enum)
    if dtype != nw.String and not is_category:
        values = column.to_numpy()
        if values.dtype.kind in "biuf":  # such as the sparse columns of pandas
            return _plain("number", values.astype(np.float64), f"numbers ({shown})")
        if values.dtype.kind == "c":
            return _other(len(column), f"complex numbers ({shown})")
    return _words(column, shown, is_category)


def plain_number(value: float) -> str:
    """A number as a level of a category."""
    return str(int(value)) if value == np.floor(value) and abs(value) < 2**53 else repr(value)


def _plain(kind: Kind, numbers: NDArray, shown: str, is_integer: bool = False) -> Cells:
    return Cells(kind, numbers, [], _NO_CODES, shown, is_integer)


def _other(n_rows: int, shown: str) -> Cells:
    return _plain("other", np.zeros(n_rows), shown)


def _numbers(column: Any, kind: Kind, shown: str, is_integer: bool = False) -> Cells:
    return _plain(kind, _floats(column), shown, is_integer)


def _floats(column: Any) -> NDArray[np.float64]:
    """Numbers as float64, NaN at gaps."""
    import narwhals as nw

    values = column.to_numpy()
    if values.dtype.kind in "biuf":  # quickly, as most columns are so
        return values.astype(np.float64)
    values = column.cast(nw.Float64).to_numpy()
    if values.dtype == np.float64:
        return values
    return np.array([np.nan if value is None else value for value in values.tolist()], dtype=float)


def _hours(value: datetime.time | None) -> float:
    if value is None or not hasattr(value, "hour"):
        return np.nan
    return value.hour + value.minute / 60 + (value.second + value.microsecond / 1e6) / 3600


def _words(column: Any, shown: str, is_category: bool) -> Cells:
    """Distinct words, stripped, and the word of each row."""
    import pandas as pd

    native = column.to_native()
    if not isinstance(native, pd.Series):
        native = pd.Series(column.to_list(), dtype=object)
    try:
        codes, found = pd.factorize(native)
    except (TypeError, NotImplementedError):  # lists and maps cannot be compared
        return _other(len(native), f"nested values ({shown})")
    values = list(found)
    if any(isinstance(value, _NESTED) for value in values):
        return _other(len(native), f"nested values ({shown})")
    if any(isinstance(value, bytes) for value in values):
        return _other(len(native), f"bytes ({shown})")
    return _numbered(values, codes, shown, is_category)


def _few_words(values: list[Any], shown: str) -> Cells:
    """The same for the text of a few rows, without the start of `pandas.factorize`."""
    number_of: dict[str, int] = {}
    codes = [
        number_of.setdefault(value, len(number_of)) if isinstance(value, str) else -1
        for value in values
    ]
    return _numbered(list(number_of), np.array(codes, dtype=np.int64), shown, False)


def _numbered(values: list[Any], codes: NDArray, shown: str, is_category: bool) -> Cells:
    """Distinct values as distinct words, of which several values may be one."""
    number_of: dict[str, int] = {}
    renumbered = np.empty(len(values) + 1, dtype=np.int64)
    renumbered[-1] = -1  # the code of a gap
    for code, value in enumerate(values):
        word = _word(value)
        gap = word.lower() in GAPS
        renumbered[code] = -1 if gap else number_of.setdefault(word, len(number_of))
    return Cells("word", _NO_NUMBERS, list(number_of), renumbered[codes], shown, False, is_category)


def _word(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return plain_number(float(value)) if np.isfinite(value) else str(value)
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value).strip()
