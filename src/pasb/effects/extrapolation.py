"""Warnings of values beyond those of the fit, where the form of the model alone decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.gaps import numbers_in
from pasb.effects.altered_rows import AlteredRows
from pasb.errors import warn_user

MARGIN = 0.1  # of a column's range: new rows may well lie a little beyond
MOST_BEYOND = 0.5  # share of the rows that a change may take out of the range
MOST_COLUMNS = 3  # that a warning names


class Span(NamedTuple):
    """From where to where a column goes, and in which rows."""

    low: float
    high: float
    rows: str

    def beyond(self, values: NDArray[np.float64], margin: float = 0.0) -> NDArray[np.bool_]:
        """Which values are outside, by more than a share of the range."""
        more = margin * (self.high - self.low)
        return (values < self.low - more) | (values > self.high + more)


def span_of(rows: AlteredRows, name: str) -> Span:
    """That of the fit; behind a pipeline that of the table, as the fit's is not known there."""
    if name in rows.ranges:
        low, high = rows.ranges[name]
        return Span(float(low), float(high), "the rows of the fit")
    return span_of_values(numbers_in(name, rows.column(name)))


def span_of_values(values: NDArray[np.float64]) -> Span:
    """That of a table's column."""
    return Span(float(np.min(values)), float(np.max(values)), "these rows")


def warn_outside(name: str, asked: Sequence[float], span: Span) -> None:
    """Warn of numbers that a column is set to."""
    outside = [value for value in asked if span.beyond(np.array(value))]
    if outside:
        warn_user(
            f"{name!r} goes from {span.low:g} to {span.high:g} in {span.rows}; at {outside[0]:g} "
            "the model extrapolates, and its form alone decides"
        )


def warn_of_shift(rows: AlteredRows, name: str, by: float) -> None:
    """Warn of a change that takes many rows out of the range, or some out of a spline."""
    values, span = np.asarray(rows.column(name), dtype=np.float64), span_of(rows, name)
    bent = name in rows.bent
    share = span.beyond(values + by, MARGIN if bent else 0.0).mean()
    if share > (0.0 if bent else MOST_BEYOND):
        well = "well " if bent else ""
        what = (
            "a spline of the formula continues beyond its knots"
            if bent
            else "the model extrapolates"
        )
        warn_user(
            f"{name!r} goes from {span.low:g} to {span.high:g} in {span.rows}, and {by:+g} takes "
            f"{share:.0%} of the rows {well}out of that; there {what}"
        )


def warn_of_rows(rows: AlteredRows) -> None:
    """Warn of a table, such as a grid made by hand, that goes beyond the rows of the fit."""
    found = []
    for name in rows.covariates:
        if name not in rows.ranges or not rows.is_numeric(name):
            continue
        span, values = span_of(rows, name), np.asarray(rows.column(name), dtype=np.float64)
        outside = span.beyond(values, MARGIN)
        if outside.any():
            found.append(
                f"{name!r} goes from {span.low:g} to {span.high:g} in {span.rows} and is outside, "
                f"such as {values[outside][0]:g}, in {outside.sum()} of {len(values)} rows of X"
            )
    if found:
        rest = len(found) - MOST_COLUMNS
        shown = "; ".join(found[:MOST_COLUMNS]) + (f"; and {rest} more" if rest > 0 else "")
        warn_user(f"{shown}: there the model extrapolates")
