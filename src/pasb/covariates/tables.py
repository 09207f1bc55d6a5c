"""What all that reads, writes and checks tables has in common: the error and its words."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from pasb.errors import PasbError

SEPARATED = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ENDINGS = (*SEPARATED, *PARQUET)


class TableError(PasbError, ValueError):
    """A file that cannot be read, or a table that cannot be used.

    Attributes
    ----------
    found : tuple of str
        The single problems, where they were collected.
    """

    found: tuple[str, ...] = ()


class Problems:
    """What is wrong with a table, collected so that all of it is reported together.

    Parameters
    ----------
    where : str
        The table, as messages begin: the path of a file, or ``X``.
    """

    MOST = 20  # of those that are shown

    def __init__(self, where: str):
        self.where = where
        self.found: list[str] = []

    def add(self, problem: str) -> None:
        """Note a problem."""
        self.found.append(problem)

    def add_of(self, error: TableError) -> None:
        """Note the problems of an error."""
        self.found += error.found or (str(error),)

    def raise_any(self) -> None:
        """Raise one `TableError` for all of them; nothing if there is none."""
        if not self.found:
            return
        text = f"{self.where}: {self.found[0]}"
        if len(self.found) > 1:
            rest = len(self.found) - self.MOST
            shown = self.found[: self.MOST] + ([f"and {rest:,} more"] if rest > 0 else [])
            lines = "\n".join(f"- {problem}" for problem in shown)
            text = f"{self.where} has {len(self.found):,} problems:\n{lines}"
        error = TableError(text)
        error.found = tuple(self.found)
        raise error


def ending(path: Path) -> str:
    """The ending that decides the format; a `TableError` if it is not a known one."""
    name = path.name.lower()
    for known in sorted(ENDINGS, key=len, reverse=True):
        if name.endswith(known):
            return known
    raise TableError(f"{path}: cannot tell the format; the name must end in {listed(ENDINGS)}")


def twice(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, each once."""
    return [name for name, count in Counter(names).items() if count > 1]


def need_columns(names: Sequence[str], wanted: Iterable[str], problems: Problems) -> list[str]:
    """Those of `wanted` that are there; a problem, with the nearest name, for each other one."""
    there, known = [], set(names)
    for name in wanted:
        if name in known:
            there.append(name)
            continue
        near = nearest(name, names)
        problems.add(f"there is no column {name!r}{near or f'; there are {listed(names, 8)}'}")
    return there


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that suggests the nearest name, or nothing."""
    close = nearest_of(name, known)
    return "" if close is None else f"; did you mean {close!r}?"


def nearest_of(name: str, known: Iterable[str]) -> str | None:
    """The name that is most like another one, if any is."""
    lower = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), list(lower)[:2000], n=1, cutoff=0.6)
    return lower[close[0]] if close else None


def named(columns: Sequence[str]) -> str:
    """The word "column" or "columns" and their names."""
    word = "column" if len(columns) == 1 else "columns"
    return f"{word} {listed([repr(name) for name in columns], 5)}"


def listed(items: Sequence[str], most: int = 20) -> str:
    """Some of the items, and how many more there are."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"


def count(n: int, noun: str) -> str:
    """A number and a noun.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
