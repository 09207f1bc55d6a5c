"""Rows of a CSV file that have more or fewer cells than its header.

A reader fills short rows up with gaps and says of long ones no more than that there are any. A row
that differs is a mistake of whoever wrote the file: a separator without quotes, or the end of a
file that was cut off.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from pasb.covariates.file_beginnings import named_separator, open_text
from pasb.covariates.tables import TableError, count


def refuse_ragged(path: Path, encoding: str, separator: str) -> None:
    """Raise a `TableError` that names the first row of another length, if there is one."""
    n_names = n_such = first = n_cells = 0
    try:
        for number, length in enumerate(_lengths(path, encoding, separator)):
            if number == 0:
                n_names = length
            elif length != n_names:
                n_such += 1
                if n_such == 1:
                    first, n_cells = number, length
    except (csv.Error, UnicodeError):
        return  # whoever reads the file says what is wrong
    if not n_such:
        return
    more = f" ({n_such:,} such rows in all)" if n_such > 1 else ""
    if n_cells > n_names:
        remedy = f"Put cells that contain {separator!r} into quotes, or name all columns"
        if n_names == 1:
            remedy += "; lines before the header have to go"
    else:
        remedy = "If the file was not cut off there, write empty cells out"
    raise TableError(
        f"{path}: row {first} has {count(n_cells, 'cell')}, but the header names "
        f"{count(n_names, 'column')}{more}. {remedy}"
    )


def _lengths(path: Path, encoding: str, separator: str) -> Iterator[int]:
    """Cells of the header and of every row; readers pass over empty lines, and so does this."""
    with open_text(path, encoding) as file:
        if named_separator(file.readline(1 << 20)) is None:
            file.seek(0)
        for cells in csv.reader(file, delimiter=separator):
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                yield len(cells)
