"""Text of files as a terminal may see it: no escape sequences, nothing that turns lines round."""

from __future__ import annotations

import unicodedata

# marks that reorder the text around them
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    r"""Text with its control characters written out.

    Labels and column names come from files. A terminal would obey the escape sequences in
    them: move the cursor, change the title, print over what was there.

    Examples
    --------
    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character == "\n":
        return character
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _TURNING:
        return character.encode("unicode_escape").decode("ascii")
    return character
