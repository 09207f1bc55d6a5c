"""Tables in files: CSV and Parquet in, CSV and Parquet out.

Everything that can be wrong with a file ends in a `TableError` whose message names the
file, the column and the remedy.
"""

from __future__ import annotations

import difflib
import gzip
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.errors import PasbError

if TYPE_CHECKING:
    import pandas as pd

SEPARATED = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ENDINGS = (*SEPARATED, *PARQUET)

# texts that mean a missing label; "None" is left out, as it is a plausible class
_NO_LABEL = frozenset({"", "nan", "NaN", "NAN", "NA", "N/A", "#N/A", "null", "NULL", "<NA>"})


class TableError(PasbError, ValueError):
    """A file that cannot be read, or a table that cannot be used."""


def ending(path: Path) -> str:
    """The ending that decides the format; a `TableError` if it is not a known one."""
    name = path.name.lower()
    for known in sorted(ENDINGS, key=len, reverse=True):
        if name.endswith(known):
            return known
    raise TableError(f"{path}: cannot tell the format; the name must end in {_listed(ENDINGS)}")


def read_table(path: Path, target: str | None = None) -> pd.DataFrame:
    """Read a table with a header.

    Parameters
    ----------
    path : Path
        CSV (also with semicolons), TSV, either with gzip, or Parquet.
    target : str, optional
        The column of class labels. In CSV it is read as text, so that "01" and "1" stay
        two labels and come back as they are.

    Raises
    ------
    TableError
        When the file is missing, unreadable, empty, or of another format.
    """
    import pandas as pd

    if not path.exists():
        near = _nearest(path.name, _names_in(path.parent))
        raise TableError(f"{path}: no such file{near}")
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file that ends in {_listed(ENDINGS)}")
    kind = ending(path)
    try:
        table = _read_parquet(path) if kind in PARQUET else _read_separated(path, kind, target)
    except TableError:
        raise
    except pd.errors.EmptyDataError:
        raise TableError(f"{path} is empty; the first line must name the columns") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not text in UTF-8; save it as UTF-8 first") from None
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TableError(f"{path} cannot be read: {reason}") from error
    table.columns = [str(name).strip() for name in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise TableError(f"{path}: two columns are named {twice[0]!r}; rename one of them")
    if not len(table):
        raise TableError(f"{path} has column names but no rows")
    return table


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format that the ending of `path` names."""
    kind = ending(path)
    try:
        if kind in PARQUET:
            _need_pyarrow(path)
            table.to_parquet(path, index=False)
        else:
            table.to_csv(path, index=False, sep="\t" if kind.startswith(".tsv") else ",")
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}") from error


def class_labels(table: pd.DataFrame, target: str, path: Path) -> NDArray:
    """The labels of the target column: text, integers or booleans.

    Raises
    ------
    TableError
        When the column is missing, has gaps, holds one class only, or looks like a
        measurement instead of a class.
    """
    import pandas as pd

    need_column(table, target, path)
    column = table[target]
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        gaps = column.isna().to_numpy()
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        integers = bool(np.all(numbers[~gaps] == np.floor(numbers[~gaps])))
        text = np.array([str(value) for value in column])
    else:
        text = np.array([str(value).strip() for value in column])
        gaps = np.isin(text, list(_NO_LABEL)) | column.isna().to_numpy()
        integers = False
    if gaps.any():
        raise TableError(
            f"{path}: column {target!r} has {_count(int(gaps.sum()), 'missing label')}, the first "
            f"in row {int(np.argmax(gaps)) + 1}. Drop those rows first."
        )
    _check_are_classes(text, target, path)
    if pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=bool)
    if kind in "iu" or integers:
        return column.to_numpy(dtype=np.int64)
    return text


def _check_are_classes(text: NDArray[np.str_], target: str, path: Path) -> None:
    distinct = np.unique(text)
    if len(distinct) < 2:
        raise TableError(
            f"{path}: column {target!r} holds one class only ({distinct[0]!r}); a classifier "
            "needs rows of at least two."
        )
    try:
        numbers = distinct.astype(np.float64)
    except ValueError:
        numbers = None
    fractions = numbers is not None and bool(np.any(numbers != np.floor(numbers)))
    many = len(distinct) > max(20, len(text) // 10)
    if numbers is not None and (many or (fractions and len(distinct) > 10)):
        raise TableError(
            f"{path}: column {target!r} looks continuous ({len(distinct)} different numbers in "
            f"{len(text)} rows). Name a column of classes, or cut it into classes first."
        )
    if len(distinct) > max(10, len(text) // 2):
        raise TableError(
            f"{path}: column {target!r} has {len(distinct)} different labels in {len(text)} rows. "
            "Name a column of classes that occur more than once."
        )


def covariates(table: pd.DataFrame, columns: Sequence[str], path: Path) -> pd.DataFrame:
    """The named columns as float64.

    Raises
    ------
    TableError
        Names the columns that are missing, hold text, or have gaps.
    """
    import pandas as pd

    missing = [name for name in columns if name not in table.columns]
    if missing:
        near = _nearest(missing[0], table.columns)
        raise TableError(f"{path} lacks {_named(missing)}, which the model needs{near}")
    chosen = table[list(columns)]
    text = [name for name in columns if not pd.api.types.is_numeric_dtype(chosen[name])]
    if text:
        values = chosen[text[0]].tolist()  # a long number may be stored as text
        example = next((value for value in values if not _is_number(value)), values[0])
        raise TableError(
            f"{path}: {_named(text)} {'hold' if len(text) > 1 else 'holds'} text, not numbers "
            f"(for instance {example!r}).\nEncode as numbers first, or leave out with "
            + " ".join(f"--drop {name!r}" for name in text[:3])
            + (" ..." if len(text) > 3 else "")
            + "."
        )
    gaps = chosen.isna()
    if gaps.to_numpy().any():
        counts = gaps.sum()
        bad = [name for name in columns if counts[name]]
        first = int(np.argmax(gaps[bad[0]].to_numpy())) + 1
        raise TableError(
            f"{path}: {_named(bad)} {'have' if len(bad) > 1 else 'has'} missing values "
            f"({int(counts[bad[0]])} in {bad[0]!r}, the first in row {first}).\n"
            "Drop those rows or fill the gaps first."
        )
    return chosen.astype(np.float64)


def need_column(table: pd.DataFrame, name: str, path: Path) -> None:
    """Raise a `TableError` that suggests the nearest name if there is no such column."""
    if name not in table.columns:
        near = _nearest(name, table.columns)
        known = "" if near else f"; it has {_listed(list(table.columns), 8)}"
        raise TableError(f"{path} has no column {name!r}{near or known}")


def _read_separated(path: Path, kind: str, target: str | None) -> pd.DataFrame:
    import pandas as pd

    separator = "\t" if kind.startswith(".tsv") else _separator(path, kind)
    options: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(path, **options)
        except pd.errors.ParserWarning:
            raise TableError(f"{path}: rows have more cells than the header has names") from None
    mine = [name for name in table.columns if str(name).strip() == target]
    if len(mine) == 1:  # read it again as text: numbers would lose their spelling
        labels = pd.read_csv(path, usecols=mine, dtype=str, keep_default_na=False, **options)
        table[mine[0]] = labels[mine[0]]
    return table


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    _need_pyarrow(path)
    return pd.read_parquet(path)


def _need_pyarrow(path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise TableError(f"{path}: Parquet needs pyarrow: pip install 'pasb[files]'") from None


def _separator(path: Path, kind: str) -> str:
    """Comma, unless the first line has none and has semicolons or tabs."""
    opener: Any = gzip.open if kind.endswith(".gz") else open
    with opener(path, "rb") as file:
        header = file.readline()
    if b"," not in header:
        for candidate in (b";", b"\t"):
            if candidate in header:
                return candidate.decode()
    return ","


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _nearest(name: str, known: Iterable[str]) -> str:
    """A question that suggests the nearest name, or nothing."""
    names = list(known)
    lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""


def _named(columns: Sequence[str]) -> str:
    word = "column" if len(columns) == 1 else "columns"
    return f"{word} {_listed([repr(name) for name in columns], 5)}"


def _listed(items: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
