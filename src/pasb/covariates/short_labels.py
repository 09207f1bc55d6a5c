"""Labels cut to a width so that those shown together stay distinct."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def short_labels(labels: Iterable[object], most: int) -> list[str]:
    """Labels as text of at most `most` characters; different ones stay different.

    A long label loses its middle. Where several would look the same then, they lose their common
    beginning, and what still looks the same is numbered.

    Parameters
    ----------
    labels : list
        Of everything that is shown together; the same label may come more than once.
    most : int
        At least 5.

    Examples
    --------
    >>> short_labels(["blue", "a class with a long name, number 1"], 15)
    ['blue', 'a class…umber 1']
    >>> short_labels(["sold in 2024 by post", "sold in 2025 by post"], 12)
    ['…4 by post', '…5 by post']
    """
    texts = [str(label) for label in labels]
    distinct = list(dict.fromkeys(texts))
    shown = _numbered(_shortened(distinct, most), most)
    short = dict(zip(distinct, shown, strict=True))
    return [short[text] for text in texts]


def _shortened(texts: Sequence[str], most: int) -> list[str]:
    """Without their middle; those that look the same then, without their common beginning."""
    shown = [_without_middle(text, most) for text in texts]
    alike = defaultdict(list)
    for k, text in enumerate(shown):
        alike[text].append(k)
    for group in alike.values():
        beginning = _common_beginning([texts[k] for k in group])
        if len(group) == 1 or beginning == 0 or most < 5:
            continue
        rest = _shortened([texts[k][beginning:] for k in group], most - 1)
        for k, text in zip(group, rest, strict=True):
            shown[k] = "…" + text.removeprefix("…")
    return shown


def _common_beginning(texts: Sequence[str]) -> int:
    first, last = min(texts), max(texts)  # whatever these two share, those between them have too
    differ = (k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return next(differ, min(len(first), len(last)))


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return text[: most - 1 - tail] + "…" + text[len(text) - tail :]


def _numbered(shown: Sequence[str], most: int) -> list[str]:
    """What looks the same gets a number behind it."""
    taken: set[str] = set()
    found = []
    for text in shown:
        own, count = text, 1
        while own in taken or (shown.count(own) > 1 and count == 1):
            number = f" ({count})"
            own = text[: max(1, most - len(number))] + number
            count += 1
        taken.add(own)
        found.append(own)
    return found
