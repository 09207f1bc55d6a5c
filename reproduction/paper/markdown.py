"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; cells are shown by `str`.

    Examples
    --------
    >>> from reproduction.paper.markdown import table
    >>> print(table(["a", "b"], [[1, 2]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def number(value: float, digits: int = 2) -> str:
    """A number, or a dash where there is none.

    Examples
    --------
    >>> from reproduction.paper.markdown import number
    >>> number(3.14159), number(float("nan"))
    ('3.14', '-')
    """
    return "-" if value != value else f"{value:.{digits}f}"


def folded(summary: str, text: str) -> str:
    """Text that opens on a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def anchor(title: str) -> str:
    """The link to a title."""
    kept = [c for c in title.lower() if c.isalnum() or c in " -"]
    return "".join(kept).replace(" ", "-")
