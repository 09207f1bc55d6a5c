"""Pictures of a report: SVG whose colours follow the page, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pasb.report.markup import Html, text

WIDTH = 320.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 8.0, 34.0


class Panel:
    """A small chart: linear axes, marks, and a description for those who do not see it.

    Parameters
    ----------
    x, y : pair of float
        Limits.
    height : float
    left : float
        Room for what is written on the left.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        height: float = 190.0,
        left: float = LEFT,
        width: float = WIDTH,
        bottom: float = BOTTOM,
    ):
        self.x_limits, self.y_limits = _apart(x), _apart(y)
        self.height, self.left, self.width, self.bottom = height, left, width, bottom
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        """Where a value lies across."""
        low, high = self.x_limits
        return self.left + (value - low) / (high - low) * (self.width - self.left - RIGHT)

    def y(self, value: float) -> float:
        """Where a value lies up."""
        low, high = self.y_limits
        return (
            self.height
            - self.bottom
            - (value - low) / (high - low) * (self.height - self.bottom - TOP)
        )

    def axes(
        self,
        x_label: str,
        y_label: str = "",
        *,
        x_ticks: Sequence[float] | None = None,
        x_words: Sequence[str] | None = None,
        y_ticks: Sequence[float] | None = None,
    ) -> None:
        """Grid lines, ticks and names; `x_words` are written at `x_ticks` in place of numbers."""
        floor = self.height - self.bottom
        for value in ticks(*self.y_limits) if y_ticks is None else y_ticks:
            at = self.y(value)
            self.line(self.left, at, self.width - RIGHT, at, "grid")
            self.write(self.left - 5, at + 3.5, _short(value), "tick end")
        places = ticks(*self.x_limits) if x_ticks is None else x_ticks
        for value, words in zip(places, x_words or map(_short, places), strict=True):
            self.write(self.x(value), floor + 14, words, "tick middle")
        self.line(self.left, floor, self.width - RIGHT, floor, "axis")
        self.write((self.left + self.width - RIGHT) / 2, self.height - 4, x_label, "name middle")
        if y_label:
            middle = (TOP + floor) / 2
            self.parts.append(
                f'<text class="name middle" transform="translate(10 {middle:.1f}) rotate(-90)">'
                f"{text(y_label)}</text>"
            )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line, in the picture's units."""
        self.parts.append(
            f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        )

    def write(self, x: float, y: float, words: Any, kind: str, whole: Any = None) -> None:
        """Text; where it was shortened, the whole of it goes into a title."""
        shown = str(words)
        title = "" if whole is None or str(whole) == shown else f"<title>{text(whole)}</title>"
        self.parts.append(
            f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{title}{text(shown)}</text>'
        )

    def curve(self, x: Sequence[float], y: Sequence[float], colour: str, kind: str) -> None:
        """A line through points."""
        points = " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y, strict=True))
        self.parts.append(f'<polyline class="{kind}" style="stroke:{colour}" points="{points}"/>')

    def band(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str
    ) -> None:
        """The area between two lines."""
        there = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, low, strict=True)]
        back = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, high, strict=True)]
        points = " ".join([*there, *back[::-1]])
        self.parts.append(f'<polygon class="band" style="fill:{colour}" points="{points}"/>')

    def dot(self, x: float, y: float, colour: str, *, size: float = 4.0, hollow: bool = False):
        """A point."""
        paint = f"stroke:{colour}" if hollow else f"fill:{colour};stroke:{colour}"
        kind = "dot hollow" if hollow else "dot"
        self.parts.append(
            f'<circle class="{kind}" style="{paint}" cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" '
            f'r="{size:g}"/>'
        )

    def svg(self, description: str) -> Html:
        """The picture; a screen reader says `description`."""
        widest = f'style="max-width:{1.35 * self.width:.0f}px"'
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" {widest}'
        return Html(
            f'<svg role="img" aria-label="{text(description)}" {size}>{"".join(self.parts)}</svg>'
        )


def figure(title: Any, detail: Any, picture: str, *, wide: bool = False) -> Html:
    """A picture with its caption."""
    kind = ' class="wide"' if wide else ""
    return Html(
        f'<figure{kind}><figcaption><strong>{text(title)}</strong> <span class="detail">'
        f"{text(detail)}</span></figcaption>{picture}</figure>"
    )


def gallery(figures: Sequence[str]) -> Html:
    """Pictures beside one another where there is room."""
    return Html(f'<div class="gallery">{"".join(figures)}</div>')


def colour(k: int, n: int) -> str:
    """The colour of a class, as the page's style sheet has it."""
    return f"var(--class-{k % 32})"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two limits."""
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    for factor in (1, 2, 5, 10):
        if (high - low) / (step * factor) <= most:
            break
    step *= factor
    first = np.ceil(low / step - 1e-9)
    last = np.floor(high / step + 1e-9)
    return [float(k * step) for k in np.arange(first, last + 1)]


def _short(value: float) -> str:
    shown = f"{value:.6g}"
    return "0" if shown == "-0" else shown.replace("-", "\N{MINUS SIGN}")


def _apart(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = limits
    return (low, high) if high != low else (low - 0.5, low + 0.5)
