"""Tables to files, some rows at a time; a file takes the place of an old one when it is whole."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pasb.covariates.table_reading import need_pyarrow
from pasb.covariates.tables import PARQUET, TableError, ending
from pasb.storage.whole_file import replacing

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def table_writer(path: Path) -> Iterator[Any]:
    """Give a function that appends the rows of a data frame to a new file.

    The file is written beside `path` and takes its place at the end. If anything goes
    wrong, what was there before stays as it was.

    Raises
    ------
    TableError
        When the file cannot be written, for instance because the disk is full.
    """
    kind = ending(path)
    if kind in PARQUET:
        need_pyarrow(path)
    try:
        with replacing(path) as file, _writer(file, kind) as writer:
            yield writer.append
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}") from error


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format that the ending of `path` names."""
    with table_writer(path) as append:
        append(table)


def _writer(file: IO[bytes], kind: str) -> _Parquet | _Separated:
    return _Parquet(file) if kind in PARQUET else _Separated(file, kind)


class _Separated:
    def __init__(self, file: IO[bytes], kind: str):
        packed: Any = gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if "gz" in kind else None
        self.packed = packed
        self.text = io.TextIOWrapper(
            file if packed is None else packed, encoding="utf-8", newline="", write_through=True
        )
        self.separator = "\t" if kind.startswith(".tsv") else ","
        self.begun = False

    def __enter__(self) -> _Separated:
        return self

    def append(self, table: pd.DataFrame) -> None:
        """Write some rows, the names before the first."""
        table.to_csv(
            self.text,
            index=False,
            sep=self.separator,
            header=not self.begun,
            lineterminator="\n",
        )
        self.begun = True

    def __exit__(self, *error: object) -> None:
        self.text.flush()
        self.text.detach()  # the file belongs to who opened it
        if self.packed is not None:
            self.packed.close()


class _Parquet:
    def __init__(self, file: IO[bytes]):
        self.file = file
        self.writer: Any = None

    def __enter__(self) -> _Parquet:
        return self

    def append(self, table: pd.DataFrame) -> None:
        """Write some rows; the first ones decide the types."""
        import pyarrow as pa
        import pyarrow.parquet as parquet

        schema = None if self.writer is None else self.writer.schema
        rows = pa.Table.from_pandas(table, schema=schema, preserve_index=False, nthreads=1)
        if self.writer is None:
            rows = rows.replace_schema_metadata(None)
            self.writer = parquet.ParquetWriter(self.file, rows.schema)
        self.writer.write_table(rows)

    def __exit__(self, *error: object) -> None:
        if self.writer is not None:
            self.writer.close()
