"""Words as numbers: decimal points and commas, units, truths, and dates in fixed formats.

A reading turns the distinct words of a column into numbers, with NaN for words that it does
not know. A column remembers its reading, so that new rows are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.cells import GAPS_OF_NUMBERS, MICROSECONDS_A_DAY, Cells

TRUE = frozenset({"true", "t", "yes", "y", "ja", "j", "wahr", "oui", "si", "sí", "on", "1"})
FALSE = frozenset({"false", "f", "no", "n", "nein", "falsch", "non", "off", "0"})

_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)?(,\d*)?([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?([1-9]\d{0,2}(,\d{3})+(\.\d*)?|\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SPACED = re.compile(r"[+-]?[1-9]\d{0,2}([ '\u2019\u00a0\u2009\u202f])\d{3}(\1\d{3})*([.,]\d*)?")
_NOT_PLAIN = frozenset(" '\u2019\u00a0\u2009\u202f\u2212")
_BETWEEN_THOUSANDS = str.maketrans("", "", " '\u2019\u00a0\u2009\u202f")
_THREE_DIGITS = re.compile(r"[+-]?\d{1,3}")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
SEVERAL = 10  # such words are no accident
_INFINITE = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"})
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?)?")
_LIKE_DATES = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*|\d{1,2}[ -][^\W\d]+[ -]\d{4}|[^\W\d]+ \d{1,2}, \d{4}"
)
_MONTH = re.compile(r"((?:19|20)\d{2})-(0[1-9]|1[0-2])")
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([AaPp])\.?[Mm]\.?)?")

# the formats of dates, as strptime writes them, and what people call them
DATES = {
    "iso": "year-month-day",
    "%d.%m.%Y": "day.month.year",
    "%d.%m.%y": "day.month.year",
    "%d.%m.%Y %H:%M": "day.month.year hour:minute",
    "%d.%m.%Y %H:%M:%S": "day.month.year hour:minute:second",
    "%Y/%m/%d": "year/month/day",
    "%Y/%m/%d %H:%M": "year/month/day hour:minute",
    "%Y/%m/%d %H:%M:%S": "year/month/day hour:minute:second",
    "%Y-%m": "year-month",
    "%m/%d/%Y": "month/day/year",
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%y": "month/day/year",
    "%d/%m/%y": "day/month/year",
    "%m/%d/%Y %H:%M": "month/day/year hour:minute",
    "%d/%m/%Y %H:%M": "day/month/year hour:minute",
    "%m/%d/%Y %H:%M:%S": "month/day/year hour:minute:second",
    "%d/%m/%Y %H:%M:%S": "day/month/year hour:minute:second",
    "%m/%d/%Y %I:%M %p": "month/day/year hour:minute am or pm",
    "%d/%m/%Y %I:%M %p": "day/month/year hour:minute am or pm",
    "%m/%d/%Y %I:%M:%S %p": "month/day/year hour:minute:second am or pm",
    "%d/%m/%Y %I:%M:%S %p": "day/month/year hour:minute:second am or pm",
    "%d-%m-%Y": "day-month-year",
    "%d %b %Y": "day month year",
    "%d-%b-%Y": "day-month-year",
    "%d %B %Y": "day month year",
    "%b %d, %Y": "month day, year",
    "%B %d, %Y": "month day, year",
}


def _plain(word: str) -> str:
    """A number without spaces or apostrophes between thousands, and with the minus of keyboards."""
    if word.startswith("\u2212"):
        word = "-" + word[1:]
    return word.translate(_BETWEEN_THOUSANDS) if _SPACED.fullmatch(word) else word


def _each_plain(words: Sequence[str]) -> Sequence[str]:
    """The same of many words, of which hardly any need it."""
    if _NOT_PLAIN.isdisjoint("".join(words)):
        return words
    return [_plain(word) for word in words]


def _with_point(words: Sequence[str]) -> NDArray[np.float64]:
    return np.array(
        [float(w) if _POINT.fullmatch(w) or w.lower() in _INFINITE else np.nan for w in words],
        dtype=np.float64,
    )


def _with_comma(words: Sequence[str]) -> NDArray[np.float64]:
    def value(word: str) -> float:
        if not _COMMA.fullmatch(word) or not any(c.isdigit() for c in word):
            return float(word) if word.lower() in _INFINITE else np.nan
        return float(word.replace(".", "").replace(",", "."))

    return np.array([value(word) for word in words], dtype=np.float64)


def _with_thousands(words: Sequence[str]) -> NDArray[np.float64]:
    grouped = [word.replace(",", "") if _THOUSANDS.fullmatch(word) else word for word in words]
    return _with_point(grouped)


def _truths(words: Sequence[str]) -> NDArray[np.float64]:
    def value(word: str) -> float:
        lower = word.lower()
        return 1.0 if lower in TRUE else 0.0 if lower in FALSE else np.nan

    return np.array([value(word) for word in words], dtype=np.float64)


def _hours(words: Sequence[str]) -> NDArray[np.float64]:
    """Hours since midnight, of 15:30 or 3:30 pm."""

    def value(word: str) -> float:
        found = _CLOCK.fullmatch(word)
        if not found:
            return np.nan
        hour, minute, second, half = found.groups()
        if int(hour) > 23 or (half and not 1 <= int(hour) <= 12):
            return np.nan
        full = int(hour) if not half else int(hour) % 12 + (12 if half in "Pp" else 0)
        return full + int(minute) / 60 + float(second or 0) / 3600

    return np.array([value(word) for word in words], dtype=np.float64)


def _days(words: Sequence[str], format: str) -> NDArray[np.float64]:
    """Days since 1970-01-01 UTC."""
    import pandas as pd

    out = np.full(len(words), np.nan)
    if format == "iso":
        fits = np.array([bool(_ISO.fullmatch(word)) for word in words], dtype=bool)
        format = "ISO8601"
    elif format == "%Y-%m":
        fits = np.array([bool(_MONTH.fullmatch(word)) for word in words], dtype=bool)
    else:
        fits = np.ones(len(words), dtype=bool)
    chosen = [word for word, fit in zip(words, fits, strict=True) if fit]
    if chosen:
        moments = pd.to_datetime(pd.Series(chosen), format=format, utc=True, errors="coerce")
        plain = moments.dt.tz_convert(None).to_numpy().astype("datetime64[us]")
        microseconds = np.where(np.isnat(plain), np.nan, plain.astype(np.int64).astype(np.float64))
        out[fits] = microseconds / MICROSECONDS_A_DAY
    return out


_READERS: dict[str, Callable[[Sequence[str]], NDArray[np.float64]]] = {
    "point": _with_point,
    "comma": _with_comma,
    "thousands": _with_thousands,
    "truth": _truths,
    "clock": _hours,
}
DECIMAL = ("point", "comma", "thousands")
UNITS = ("$", "€", "£", "¥", "%")
_IN_UNITS = tuple(f"{base} {unit}" for base in DECIMAL for unit in UNITS)
READINGS = (*_READERS, *_IN_UNITS, *DATES)


def taken_apart(reading: str) -> tuple[str, str]:
    """A reading of numbers without its unit, and the unit; empty if it has none."""
    base, _, unit = reading.partition(" ") if reading in _IN_UNITS else (reading, "", "")
    return base, unit


def in_unit(base: str, unit: str) -> str:
    """The reading of numbers in a unit; none, if that is empty."""
    return f"{base} {unit}" if unit else base


def _without_unit(word: str, unit: str) -> str:
    """A number whose unit comes before or after it; one without is none if these are percents."""
    if word.endswith(unit):
        return word.removesuffix(unit).rstrip()
    sign = word[:1] if word[:1] in ("+", "-") else ""
    rest = word.removeprefix(sign).lstrip()
    if rest.startswith(unit):
        return sign + rest.removeprefix(unit).lstrip()
    return "" if unit == "%" else word  # 0.05 may be 5 %


def number_reading(words: Sequence[str], decimal: str) -> str | None:
    """The reading that makes numbers of the most words; None if they could be two things.

    Parameters
    ----------
    words : sequence of str
    decimal : {"auto", ".", ","}
        The sign before the fraction, if it is known.
    """
    some = words[:1000]
    unit = next((u for u in UNITS if any(u in word for word in some)), "")
    if unit and 2 * sum(unit in word for word in some) > len(some):
        bare = [_without_unit(word, unit) for word in some]
        base = _decimal_reading(bare, decimal)
        if base is None or (~np.isnan(read_words(bare, base))).mean() >= 0.9:
            return None if base is None else in_unit(base, unit)
    return _decimal_reading(words, decimal)


def _decimal_reading(words: Sequence[str], decimal: str) -> str | None:
    """What points and commas mean; None if they could mean two things."""
    if decimal == ",":
        return "comma"
    some = _each_plain(words[:1000])
    dotted = [word for word in some if "." in word and "," not in word]
    if decimal == "auto" and not any("," in word for word in some):
        points = {word.count(".") for word in some}
        if points <= {0, 1} or points == {3}:  # all with three are addresses
            return None if _may_be_thousands(some, dotted) else "point"
    n_point = int((~np.isnan(read_words(some, "point"))).sum())
    n_thousands = int((~np.isnan(read_words(some, "thousands"))).sum())
    if decimal == ".":
        return "thousands" if n_thousands > n_point else "point"
    n_comma = int((~np.isnan(read_words(some, "comma"))).sum())
    if max(n_comma, n_thousands) <= n_point or max(n_comma, n_thousands) < 0.9 * len(some):
        return "point"
    if n_comma == n_thousands:
        return None
    two_signs = any(word.count(".") + word.count(",") > 1 for word in some)
    if n_comma > n_thousands:
        grouped = any(_GROUPED.fullmatch(word) for word in dotted)
        if grouped and not two_signs:  # 12.346 beside 1,5: one of them has the wrong sign
            return "point" if n_point >= 0.9 * len(some) else None
        return "comma"
    three = all(len(word.partition(".")[2]) == 3 for word in dotted)
    return None if dotted and three and not two_signs else "thousands"


def _may_be_thousands(some: Sequence[str], dotted: Sequence[str]) -> bool:
    """Whether points stand between thousands: 850 and 1.250, but neither 1.25 nor 1250."""
    others = [word for word in some if "." not in word]
    return (
        len(dotted) >= SEVERAL
        and len(others) > 0
        and all(_GROUPED.fullmatch(word) for word in dotted)
        and all(_THREE_DIGITS.fullmatch(word) for word in others)
    )


def read_words(words: Sequence[str], reading: str) -> NDArray[np.float64]:
    """Words as numbers, NaN where they are none.

    Examples
    --------
    >>> read_words(["1.5", "-2", "x"], "point").tolist()
    [1.5, -2.0, nan]
    >>> read_words(["1.234,5"], "comma").tolist(), read_words(["2.1.1970"], "%d.%m.%Y").tolist()
    ([1234.5], [1.0])
    >>> read_words(["$1,234.5", "-$3"], "thousands $").tolist()
    [1234.5, -3.0]
    >>> read_words(["15:30", "3:30 PM", "0:00"], "clock").tolist()
    [15.5, 15.5, 0.0]
    """
    if reading in DATES:
        return _days(words, reading)
    base, unit = taken_apart(reading)
    bare = [_without_unit(word, unit) for word in words] if unit else words
    return _READERS[base](_each_plain(bare) if base in DECIMAL else bare)


def fitting_dates(words: Sequence[str], day_first: bool) -> str | None:
    """The format that reads the most of the words, at least nine tenths; None if there is none.

    Where several read as many, as for 03/04/2020, `day_first` decides.
    """
    some = list(words[:200])
    if _are_months(words):
        return "%Y-%m"
    if sum(_LIKE_DATES.fullmatch(word) is not None for word in some) < 0.9 * max(len(some), 1):
        return None  # quickly, as most text is no date
    formats = sorted(DATES, key=lambda f: f.startswith("%d/") != day_first)  # stable
    best, most = None, 0.9 * len(some)
    for format in formats:
        read = int((~np.isnan(read_words(some, format))).sum())
        if read >= most and (best is None or read > most):
            best, most = format, read
    if best is None or len(words) == len(some):
        return best
    good = [f for f in formats if not np.isnan(read_words(list(words), f)).any()]
    return good[0] if good else best


def _are_months(words: Sequence[str]) -> bool:
    """Whether all are months such as 2021-03, and not seasons such as 2009-10 and 2010-11."""
    found = [_MONTH.fullmatch(word) for word in words]
    parts = [(int(one[1]), int(one[2])) for one in found if one]
    if not parts or len(parts) < len(words):
        return False
    return any((year + 1) % 100 != month for year, month in parts)


def fitting_times(words: Sequence[str]) -> bool:
    """Whether at least nine tenths are times of the day, such as 15:30 or 3:30 PM."""
    some = list(words[:200])
    return float((~np.isnan(_hours(some))).mean()) >= 0.9 if some else False


def column_numbers(cells: Cells, reading: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers of a column, NaN at gaps, and which rows hold something that is no number.

    Raises
    ------
    TypeError
        When the column is of another kind than the reading is for.
    """
    wanted = "moment" if reading in DATES else "number"
    if cells.kind == "word":
        values = np.append(read_words(cells.words, reading), np.nan)
        empty = np.array([w.lower() in GAPS_OF_NUMBERS for w in cells.words] + [True], dtype=bool)
        values[empty] = np.nan
        bad = np.isnan(values) & ~empty
        return values[cells.codes], bad[cells.codes]
    if reading == "truth" and cells.kind in ("flag", "number"):
        bad = ~np.isin(cells.numbers, (0.0, 1.0)) & ~cells.gaps
        return np.where(bad, np.nan, cells.numbers), bad
    if cells.kind == wanted or (wanted == "number" and cells.kind == "flag"):
        return cells.numbers, np.zeros(len(cells), dtype=bool)
    raise TypeError(cells.shown)
