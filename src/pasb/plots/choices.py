"""Answers of `pasb.choice`, with their intervals."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from pasb.covariates.frame_input import data_frame
from pasb.covariates.short_labels import short_labels
from pasb.plots import canvas, style
from pasb.plots.lettering import use_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 34  # letters of the name of a row
MIDDLES = ("estimate", "median")
NUMBERS = (*MIDDLES, "lower", "upper", "share", "counterfactual", "violated", "price_below_zero")
WORDS = {
    ("from", "to"): "{} \N{RIGHTWARDS ARROW} {}",
    ("changed", "alternative", "kind"): "{0} \N{RIGHTWARDS ARROW} {1}",
    ("first", "second", "third"): "{} / {} without {}",
}


def choices(answer: Any, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw shares, changes of shares, elasticities, diversion, or what is asked of independence.

    Parameters
    ----------
    answer : data frame
        Of a function of `pasb.choice`.
    label : str, default=""
        What is below the axis of quantities.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        With a point and an interval for each row of the answer. Intervals that exclude zero are
        dark, the others grey; groups have colours of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> from pasb import plots
    >>> answer = pd.DataFrame({
    ...     "alternative": ["bus", "car"], "estimate": [0.4, 0.6], "lower": [0.3, 0.5],
    ...     "upper": [0.5, 0.7]})
    >>> ax = plots.choices(answer)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['bus', 'car']
    """
    frame = data_frame(answer)
    middle = next((name for name in MIDDLES if frame is not None and name in frame.columns), None)
    if frame is None or middle is None or not {"lower", "upper"} <= set(frame.columns):
        raise TypeError("answer must be a data frame of pasb.choice, with lower and upper")
    low, value, high = (
        frame[name].to_numpy().astype(np.float64) for name in ("lower", middle, "upper")
    )
    names, groups = _rows(frame)
    each = list(dict.fromkeys(groups))
    colours = style.colours(len(each)) if len(each) > 1 else [style.INK]
    ax = canvas.one_axes(ax, 6.0, 1.2 + 0.3 * len(names))
    places = np.arange(len(names))
    clear = (low > 0) | (high < 0)
    ax.axvline(0, color=style.SOFT, linewidth=0.8)
    for k, group in enumerate(each):
        own = np.array([name == group for name in groups])
        for mask, shade in ((own & ~clear, "#A6A6A6"), (own & clear, colours[k])):
            ax.hlines(places[mask], low[mask], high[mask], color=shade, linewidth=2.2)
            ax.scatter(value[mask], places[mask], s=22, color=shade, zorder=3)
    ax.set_yticks(places, style.pretty(names, LONGEST))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(label or middle, fontsize=style.SMALL, color=style.INK)
    style.tidy(ax, grid="x")
    ax.tick_params(axis="y", length=0)
    use_fonts(ax)
    return ax


def _rows(frame: Any) -> tuple[list[str], list[tuple]]:
    """What to call each row, and its group."""
    keys = [name for name in frame.columns if name not in NUMBERS]
    known = next((own for own in WORDS if set(own) <= set(keys)), None)
    own = list(known) if known else [n for n in keys if n in ("alternative", "quantity")]
    grouping = [name for name in keys if name not in own]
    if not own:
        own, grouping = grouping, []
    text = WORDS[known] if known else ", ".join(["{}"] * len(own))
    columns = [list(map(str, frame[name].to_list())) for name in own]
    names = [text.format(*row) for row in zip(*columns, strict=True)]
    if max(map(len, names), default=0) > LONGEST:
        columns = _short_columns(columns)
        names = [text.format(*row) for row in zip(*columns, strict=True)]
    groups = list(frame.select(grouping).iter_rows()) if grouping else [()] * len(names)
    if grouping:
        names = [
            f"{', '.join(map(str, group))}: {name}"
            for name, group in zip(names, groups, strict=True)
        ]
    return names, groups


def _short_columns(columns: list[list[str]]) -> list[list[str]]:
    """Labels short enough for a line of several; a label is the same in all columns."""
    most = (LONGEST - 3) // len(columns)
    short = iter(short_labels([label for column in columns for label in column], most))
    return [list(islice(short, len(column))) for column in columns]
