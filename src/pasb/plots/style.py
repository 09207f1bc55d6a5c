"""One look for all pictures: colours, sizes, and clean axes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.short_labels import short_labels
from pasb.plots.lettering import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which stay apart in all common kinds of colour blindness.
# Yellow comes last, as it is hard to see on white; black is softened.
COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#333333",
    "#F0E442",
)
# Tol's muted colours, safe too: for lines that stand for no class.
OTHER_COLOURS = (
    "#882255",
    "#44AA99",
    "#999933",
    "#332288",
    "#AA4499",
    "#117733",
    "#661100",
    "#6699CC",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

INK = "#222222"
SOFT = "#6B6B6B"
FAINT = "#D9D9D9"
TITLE, LABEL, SMALL = 11.0, 9.5, 8.5


def new_figure(width: float, height: float) -> Figure:
    """An empty figure outside pyplot; an ImportError says how to get matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'pasb[plots]'") from None
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04)
    return Figure(figsize=(width, height), layout=layout, dpi=110)


def colours(n: int) -> list[Any]:
    """`n` colours; those of the first classes are the same whatever `n`."""
    new_figure(1, 1)  # for its ImportError
    return palette(n)


def palette(n: int) -> list[str]:
    """`n` colours as text: Okabe and Ito's, then the same darker, lighter, and paler.

    From the 33rd on they repeat. Colour alone does not tell many classes apart; `marker` changes
    with every eight of them too.
    """
    tints = [list(COLOURS)]
    for towards, share in (("#000000", 0.42), ("#FFFFFF", 0.45), ("#FFFFFF", 0.72)):
        tints.append([mixed(colour, towards, share) for colour in COLOURS])
    flat = [colour for tint in tints for colour in tint]
    return [flat[k % len(flat)] for k in range(n)]


def mixed(colour: str, other: str, share: float) -> str:
    """A colour with a share of another one, both as text such as #0072B2."""
    one, two = ([int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in (colour, other))
    parts = [round((1 - share) * a + share * b) for a, b in zip(one, two, strict=True)]
    return "#" + "".join(f"{part:02X}" for part in parts)


def marker(index: int) -> str:
    """The marker of a class, so that classes differ in more than colour."""
    return MARKERS[(index + index // len(MARKERS)) % len(MARKERS)]


def tidy(ax: Axes, *, grid: str | None = None) -> Axes:
    """Quiet spines and ticks, with a faint grid along `grid` ("x", "y" or "both")."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(SOFT)
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(labelsize=SMALL, colors=SOFT, labelcolor=INK, width=0.8, length=3)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(True, axis=grid, color=FAINT, linewidth=0.6, alpha=0.7)  # type: ignore[arg-type]
    return ax


def title(ax: Axes, text: str, detail: str = "") -> None:
    """A bold title on the left, with a line of detail below it in grey; replaces older ones."""
    for old in [text for text in ax.texts if text.get_gid() == "detail"]:
        old.remove()
    if detail:
        ax.annotate(
            detail,
            (0, 1),
            xytext=(0, 5),
            xycoords="axes fraction",
            textcoords="offset points",
            gid="detail",
            fontsize=SMALL,
            color=SOFT,
            ha="left",
            va="bottom",
        )
    ax.set_title(
        text,
        loc="left",
        fontsize=TITLE,
        fontweight="bold",
        color=INK,
        pad=20 if detail else 8,
    )


def shade(colour: str) -> LinearSegmentedColormap:
    """A colour map from near white to `colour`."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shade", ["#EAF2F8", colour])


def shortened(labels: Iterable[object], most: int = 22) -> list[str]:
    """Labels of one picture, at most `most` characters long, in letters that can be drawn.

    They stay distinct only among themselves, so give all that the picture shows. Each stays on one
    line.
    """
    own = [str(label) for label in labels]
    return [readable(text) for text in short_labels(_if_distinct(own, map(one_line, own)), most)]


def pretty(names: Iterable[object], most: int = 30) -> list[str]:
    """Column names as one reads them: underscores become spaces, where names stay distinct."""
    own = [str(name) for name in names]
    return shortened(_if_distinct(own, (name.replace("_", " ").strip() for name in own)), most)


def one_line(text: str) -> str:
    """A label with spaces in the place of line breaks and tabs."""
    return re.sub(r"[^\S ]+", " ", text)


def _if_distinct(own: list[str], nicer: Iterable[str]) -> list[str]:
    """Nicer labels, unless some would look the same that were different."""
    found = list(nicer)
    return found if len(set(found)) == len(set(own)) else own


def in_legend(label: str) -> str:
    """A label that matplotlib shows: it leaves out those that begin with an underscore."""
    return f" {label}" if label.startswith("_") else label


def legend_beside(labels: Sequence[str]) -> tuple[int, float]:
    """Columns of a legend beside a picture, and how wide it is in inches."""
    columns = 1 + (len(labels) - 1) // 14
    return columns, columns * (0.55 + 0.075 * max(map(len, labels)))


def rgb(colour_list: Sequence[Any]) -> NDArray[np.float64]:
    """Colours as an array of shape (n, 3)."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(colour) for colour in colour_list])
