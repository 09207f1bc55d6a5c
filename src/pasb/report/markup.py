"""HTML of a report: text that is escaped, tables with captions, sections."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from pasb.covariates.short_labels import short_labels
from pasb.covariates.visible import visible


class Html(str):
    """Markup that is ready; any other text is escaped."""

    __slots__ = ()


def text(value: Any) -> str:
    """Text of any origin, escaped; control characters and marks that turn text are written out."""
    return value if isinstance(value, Html) else html.escape(visible(str(value)), quote=True)


def labels(values: Iterable[Any], most: int = 60) -> list[Html]:
    """Class labels or column names: each set apart, so that its script turns nothing around it.

    Long ones are shortened so that they stay distinct, with the whole of them in a title.
    """
    whole = [str(value) for value in values]
    return [
        shortened(one, short) for one, short in zip(whole, short_labels(whole, most), strict=True)
    ]


def shortened(whole: str, short: str) -> Html:
    """A label that was shortened, with the whole of it in a title."""
    title = "" if short == whole else f' title="{text(whole)}"'
    return Html(f"<bdi{title}>{text(short)}</bdi>")


def paragraph(*parts: Any, kind: str = "") -> Html:
    """A paragraph of texts and markup."""
    attribute = f' class="{kind}"' if kind else ""
    return Html(f"<p{attribute}>{''.join(text(part) for part in parts)}</p>")


def table(
    caption: str,
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Iterable[int] = (),
    styles: Sequence[Sequence[str]] | None = None,
    named: bool = True,
) -> Html:
    """A table that scrolls by itself where it is wide; the first cell of a row is its heading.

    Parameters
    ----------
    caption : str
    head : list
        Headings of the columns.
    rows : list of lists
    numbers : list of int
        Columns that are aligned on the right.
    styles : list of lists of str, optional
        CSS of each cell behind the first, such as its shade.
    named : bool
        Whether the first cell is a heading.
    """
    right = set(numbers)

    def kind(k: int) -> str:
        return ' class="number"' if k in right else ""

    heading = "".join(f'<th scope="col"{kind(k)}>{text(h)}</th>' for k, h in enumerate(head))
    body = []
    for r, row in enumerate(rows):
        cells = []
        for k, cell in enumerate(row):
            tag = "th" if k == 0 and named else "td"
            scope = ' scope="row"' if tag == "th" else ""
            style = f' style="{styles[r][k - 1]}"' if styles and k > 0 and styles[r][k - 1] else ""
            cells.append(f"<{tag}{scope}{kind(k)}{style}>{text(cell)}</{tag}>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{heading}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def section(name: str, title: str, *parts: str) -> Html:
    """A section with a heading that can be linked to."""
    return Html(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{text(title)}'
        f"</h2>{''.join(parts)}</section>"
    )


def details(summary: str, *parts: str) -> Html:
    """Something to unfold."""
    return Html(f"<details><summary>{text(summary)}</summary>{''.join(parts)}</details>")


def percent(value: float | None, digits: int = 1) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}%}"


def number(value: float | None, form: str = ".3g") -> str:
    """A number; a dash where there is none."""
    return "–" if value is None else format(value, form)
