"""Labels in any script: fonts that have the letters, or code points where none has.

matplotlib draws an empty box for a letter that its font lacks, and warns. So labels get a list of
fonts, the user's own first. A letter that none of them has is written as its code point, such as
U+732B: not pretty, but it tells labels apart. What stands between two dollars matplotlib takes for
a formula, and refuses where it is none; in a label they are dollars.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# fonts of the usual systems that have what DejaVu Sans lacks
FALLBACKS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Noto Sans CJK TC"),
    *("Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo"),
    *("Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "WenQuanYi Micro Hei"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Bengali"),
    *("Noto Sans Thai", "Noto Sans Tamil", "Geeza Pro", "Nirmala UI", "Tahoma"),
    *("Arial Unicode MS", "Unifont", "Noto Emoji", "Segoe UI Emoji", "Symbola"),
)


DOLLAR = re.compile(r"(?<!\\)\$")  # one that is not escaped yet


def readable(text: str) -> str:
    """A label with code points in the place of letters that no font has, and without formulas."""
    text = DOLLAR.sub(r"\\$", text)
    if text.isascii() and text.isprintable():
        return text
    fonts = [_font(name) for name in families()]
    return "".join(
        letter if _is_drawn(letter, fonts) else f"U+{ord(letter):04X}" for letter in text
    )


def use_fonts(*axes: Axes) -> None:
    """Let all text of some axes fall back on other fonts, where there are any."""
    from matplotlib.text import Text

    names = families()
    if len(names) < 2:
        return
    for ax in axes:
        ax.tick_params(labelfontfamily=names)
        for text in ax.findobj(Text):
            text.set_fontfamily(names)


def families() -> list[str]:
    """The fonts to draw with: the first that the user's settings find, then fallbacks."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont, get_font

    wanted = FontProperties(family=rcParams["font.family"])
    first = get_font(findfont(wanted)).family_name
    return [first, *(name for name in _installed() if name != first)]


@cache
def _installed() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return tuple(name for name in FALLBACKS if name in there)


@cache
def _font(family: str) -> Any:
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont(family))


def _is_drawn(letter: str, fonts: list[Any]) -> bool:
    return letter == "\n" or any(font.get_char_index(ord(letter)) for font in fonts)
