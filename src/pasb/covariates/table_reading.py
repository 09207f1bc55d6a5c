"""Tables from files: CSV as text, Parquet with its types; whole, or some rows at a time.

Cells of a CSV stay text, so that "01" and "1" differ and a column reads the same whatever its other
rows hold; `TableEncoder` makes numbers of them. Parquet is read without the threads of
pyarrow, which wait for ever when memory is short, and beside the main thread, which so can
answer signals. Everything that can be wrong with a file ends in a `TableError` that names it.
"""

from __future__ import annotations

import codecs
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pasb.covariates.file_beginnings import (
    named_separator,
    open_text,
    separator_of,
    what_else,
)
from pasb.covariates.free_memory import VARIABLE, free_bytes, in_words, memory_limit
from pasb.covariates.ragged_rows import refuse_ragged
from pasb.covariates.tables import (
    ENDINGS,
    PARQUET,
    Problems,
    TableError,
    ending,
    listed,
    nearest_of,
    twice,
)

if TYPE_CHECKING:
    import pandas as pd

NAMELESS = "Unnamed: "  # what pandas calls a column without a name, and its number
Value = TypeVar("Value")


def read_table(path: Path, encoding: str = "utf-8") -> pd.DataFrame:
    """Read a table with a header.

    Parameters
    ----------
    path : Path
        CSV (also with semicolons), TSV, either with gzip, or Parquet.
    encoding : str, default="utf-8"
        Of CSV and TSV.

    Returns
    -------
    pandas.DataFrame
        Text columns for CSV, columns of Arrow types for Parquet.

    Raises
    ------
    TableError
        When the file is missing, unreadable, empty, or of another format, and when two
        columns have one name.
    """
    with _errors(path, encoding):
        if ending(_there(path)) in PARQUET:
            return _read_parquet(path)
        table = _separated(path, _header(path, encoding), encoding)
    if not len(table):
        raise TableError(f"{path} has column names but no rows")
    return table


def read_chunks(
    path: Path, wanted: Callable[[list[str]], list[str]], n_rows: int, encoding: str = "utf-8"
) -> Iterator[pd.DataFrame]:
    """Read a table some rows at a time, in the memory that these take.

    Parameters
    ----------
    path : Path
    wanted : callable
        Chooses columns from the names of all.
    n_rows : int
        Rows at a time, at most.
    encoding : str, default="utf-8"
    """
    seen = False
    with _errors(path, encoding):
        if ending(_there(path)) not in PARQUET:
            names = _header(path, encoding)
            columns = wanted(names)
            for chunk in _chunks(path, names, encoding, n_rows):
                seen = seen or len(chunk) > 0
                if len(chunk):
                    yield chunk[columns]
        else:
            with _parquet(path) as file:
                columns = wanted(_checked_names(path, file.schema_arrow.names))
                own = [name for name in file.schema_arrow.names if name.strip() in set(columns)]
                batches = file.iter_batches(n_rows, columns=own, use_threads=False)
                while (batch := beside(lambda: next(batches, None))) is not None:
                    seen = seen or batch.num_rows > 0
                    if batch.num_rows:
                        import pyarrow as pa

                        yield _frame(pa.table(batch), [name.strip() for name in own])
    if not seen:
        raise TableError(f"{path} has column names but no rows")


def beside(work: Callable[[], Value]) -> Value:
    """Do something in another thread, so that signals reach this one meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return results[0]


def need_pyarrow(path: Path) -> None:
    """Raise a `TableError` that says how to install pyarrow where it is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except MemoryError:
        raise
    except ImportError as error:
        if "map segment" in str(error) or "allocate" in str(error):
            raise MemoryError("pyarrow cannot be loaded") from None
        raise TableError(f"{path}: Parquet needs pyarrow: pip install 'pasb[files]'") from None


@contextmanager
def _errors(path: Path, encoding: str) -> Iterator[None]:
    """Turn whatever readers raise into a `TableError`."""
    import pandas as pd

    try:
        yield
    except TableError:
        raise
    except pd.errors.EmptyDataError:
        raise TableError(f"{path} is empty; the first line must name the columns") from None
    except UnicodeError:
        others = "often latin-1 or cp1252" if _is_utf8(encoding) else "or leave it out for UTF-8"
        raise TableError(
            what_else(path)
            or f"{path} is not text in {encoding.upper()}; name its encoding with --encoding, "
            f"{others}"
        ) from None
    except MemoryError:
        raise TableError(
            f"{path} does not fit into memory, of which {in_words(free_bytes())} are free. Use "
            "fewer rows or columns, or a machine with more"
        ) from None
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise TableError(f"{path} cannot be read: {reason}") from error


def _there(path: Path) -> Path:
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file that ends in {listed(ENDINGS)}")
    if not path.exists():
        raise TableError(f"{path}: no such file{_nearest_file(path)}")
    return path


def _nearest_file(path: Path) -> str:
    """A question that suggests a table whose name is alike; that endings agree says nothing."""
    of_stem: dict[str, str] = {}
    for name in _names_in(path.parent):
        if (stem := _stem(name)) != name:
            of_stem.setdefault(stem, name)
    near = nearest_of(_stem(path.name), of_stem)
    return f"; did you mean {of_stem[near]!r}?" if near is not None else ""


def _stem(name: str) -> str:
    """A name without the ending of a table."""
    known = [end for end in ENDINGS if name.lower().endswith(end)]
    return name[: -max(map(len, known))] if known else name


def _header(path: Path, encoding: str) -> list[str]:
    """The names of the columns of a CSV file, before a reader can rename them."""
    import pandas as pd

    try:
        codecs.lookup(encoding)
    except LookupError:
        raise TableError(
            f"there is no encoding {encoding!r}; try utf-8, latin-1, cp1252 or utf-16"
        ) from None
    options = _options(path, encoding)
    first = pd.read_csv(path, header=None, nrows=1, **options)
    if not len(first):
        raise TableError(f"{path} is empty; the first line must name the columns")
    cells = ["" if isinstance(cell, float) else str(cell) for cell in first.iloc[0]]
    if any("\0" in cell for cell in cells):
        raise TableError(what_else(path) or f"{path} is not text in {encoding.upper()}")
    return _checked_names(path, cells)


def _checked_names(path: Path, cells: Sequence[str]) -> list[str]:
    """Names without spaces around them, none twice; nameless columns by their number."""
    names = [name.strip() or f"{NAMELESS}{k}" for k, name in enumerate(cells)]
    problems = Problems(str(path))
    for name in twice(names):
        problems.add(f"two columns are named {name!r}; rename one of them")
    problems.raise_any()
    return names


def _separated(path: Path, names: list[str], encoding: str) -> pd.DataFrame:
    """The rows of a CSV file as text."""
    import pandas as pd

    options = {**_options(path, encoding), "header": 0, "names": names}
    with _refusing_ragged(path, options), _strict():
        table = pd.read_csv(path, **options)
        if _may_be_short(table):
            refuse_ragged(path, options["encoding"], options["sep"])
        return table


def _chunks(path: Path, names: list[str], encoding: str, n_rows: int) -> Iterator[pd.DataFrame]:
    """The same, some rows at a time."""
    import pandas as pd

    options = {**_options(path, encoding), "header": 0, "names": names}
    looked = False
    with _refusing_ragged(path, options):
        with _strict():
            chunks = pd.read_csv(path, chunksize=n_rows, **options)
        with chunks:
            while True:
                with _strict():
                    chunk = next(chunks, None)
                if chunk is None:
                    return
                if not looked and _may_be_short(chunk):
                    refuse_ragged(path, options["encoding"], options["sep"])
                    looked = True
                yield chunk


def _may_be_short(table: pd.DataFrame) -> bool:
    """Whether a row may have too few cells: the last ones are empty then."""
    return table.shape[1] > 1 and bool((table.iloc[:, -1] == "").any())


@contextmanager
def _strict() -> Iterator[None]:
    """Warnings of the parser as errors; no `yield` of a generator may lie in it."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        yield


@contextmanager
def _refusing_ragged(path: Path, options: dict[str, Any]) -> Iterator[None]:
    """Say which row has more cells than the header has names."""
    import pandas as pd

    try:
        yield
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        refuse_ragged(path, options["encoding"], options["sep"])
        if isinstance(error, pd.errors.ParserError):
            raise
        raise TableError(f"{path}: rows have more cells than the header has names") from None


def _options(path: Path, encoding: str) -> dict[str, Any]:
    """What pandas is told about a CSV file; the first line may name the separator for Excel."""
    encoding = "utf-8-sig" if _is_utf8(encoding) else encoding
    with open_text(path, encoding, "replace") as file:
        first = file.readline(1 << 20)
    named = named_separator(first)
    is_tsv = ending(path).startswith(".tsv")
    return {
        "sep": named or ("\t" if is_tsv else separator_of(first)),
        "skiprows": int(named is not None),
        "encoding": encoding,
        "index_col": False,
        "dtype": str,
        "keep_default_na": False,
        "na_filter": False,
    }


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    """A Parquet file, opened without threads."""
    need_pyarrow(path)
    import pyarrow.parquet as parquet

    with beside(lambda: parquet.ParquetFile(path, pre_buffer=False)) as file:
        yield file


def _read_parquet(path: Path) -> pd.DataFrame:
    with _parquet(path) as file:
        names = _checked_names(path, file.schema_arrow.names)
        n_rows = file.metadata.num_rows
        if not n_rows:
            raise TableError(f"{path} has column names but no rows")
        _check_fits(path, n_rows, len(names))
        return _frame(beside(lambda: file.read(use_threads=False)), names)


def _check_fits(path: Path, n_rows: int, n_columns: int) -> None:
    """Refuse a table that cannot fit, before it is unpacked."""
    needed, limit = 8 * n_rows * n_columns, memory_limit()
    if needed > limit:
        raise TableError(
            f"{path} has {n_rows:,} rows and {n_columns:,} columns, which take {in_words(needed)} "
            f"or more; the limit is {in_words(limit)}, half of the memory that is free ({VARIABLE} "
            "sets another, in GiB). Use fewer rows or columns"
        )


def _frame(table: Any, names: list[str]) -> pd.DataFrame:
    """An Arrow table as a pandas frame that keeps its types."""
    import pandas as pd

    frame = table.to_pandas(
        types_mapper=pd.ArrowDtype, use_threads=False, ignore_metadata=True, self_destruct=True
    )
    frame.columns = names
    return frame


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
