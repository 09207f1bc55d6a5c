"""What a file begins with: the separator of its cells, or that it is no text at all."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

_NAMED = re.compile(r"\ufeff?\"?sep=(.)\"?\s*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
SEPARATORS = (",", ";", "\t", "|")
_NO_TEXT = {
    b"PK\x03\x04": "is a spreadsheet or another zip file: save the table as CSV",
    b"\xd0\xcf\x11\xe0": "is a spreadsheet: save the table as CSV",
    b"PAR1": "is Parquet: let its name end in .parquet",
    b"\x1f\x8b": "is packed with gzip: let its name end in .csv.gz",
}
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def open_text(path: Path, encoding: str, errors: str = "strict") -> Any:
    """A text file, packed or not, with its line ends as they are."""
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    return opener(path, "rt", encoding=encoding, errors=errors, newline="")


def named_separator(line: str) -> str | None:
    """The separator of a first line ``sep=;``, which Excel writes and asks for; None without."""
    found = _NAMED.fullmatch(line)
    return found[1] if found else None


def separator_of(header: str) -> str:
    """Comma, unless the header has more semicolons, tabs or bars outside of quotes."""
    bare = _QUOTED.sub("", header)
    return max(SEPARATORS, key=bare.count)


def what_else(path: Path) -> str:
    """What a file is that is not the text it should be; empty if that cannot be told."""
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        start = file.read(64)
    for mark, said in _NO_TEXT.items():
        if start.startswith(mark):
            return f"{path} {said}"
    wide = {start[1::2].count(0): "utf-16-le", start[::2].count(0): "utf-16-be"}
    encoding = _MARKS.get(start[:2]) or (wide[max(wide)] if max(wide) > len(start) // 4 else "")
    return f"{path} is text in {encoding.upper()}: say --encoding {encoding}" if encoding else ""
