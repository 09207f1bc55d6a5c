"""Splines of formulas beyond their knots: they continue, and predictions there are warned of.

By default formulaic ends in an error there. But a change of a covariate by a unit takes some rows
of most tables past the last knot, and so does a fold whose training rows lack an extreme one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pasb.effects.extrapolation import MARGIN
from pasb.errors import warn_user

SPLINE = re.compile(r"\b(?:bs|cr|cs)\(")


def context() -> dict[str, Any]:
    """What a formula's names mean beside columns: `bs` that continues beyond its knots."""
    from formulaic.transforms.basis_spline import basis_spline
    from formulaic.utils.stateful_transforms import stateful_transform

    def bs(x, *args, _state=None, **options):
        if len(args) < 7 and "extrapolation" not in options:
            options["extrapolation"] = "extend"
        return basis_spline(x, *args, _state=_state, **options)

    return {"bs": stateful_transform(bs)}


def bent_columns(terms: Any, columns: Sequence[str]) -> list[str]:
    """The columns that enter a spline."""
    texts = {str(factor.expr) for term in terms for factor in term.factors}
    splines = [text for text in texts if SPLINE.search(text)]
    return [
        name
        for name in columns
        if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in splines)
    ]


def warn_beyond(table: Any, ranges: Mapping[str, tuple[float, float]], bent: Sequence[str]) -> None:
    """Warn of rows in which a spline is farther beyond its knots than new rows mostly are."""
    for name in bent:
        if name not in ranges:  # files of older versions have none
            continue
        low, high = ranges[name]
        values, more = np.asarray(table[name], dtype=np.float64), MARGIN * (high - low)
        outside = (values < low - more) | (values > high + more)
        if outside.any():
            warn_user(
                f"{name!r} goes from {low:g} to {high:g} in the rows of the fit and is outside, "
                f"such as {values[outside][0]:g}, in {outside.sum()} of {len(values)} rows: there "
                "a spline of the formula continues beyond its knots, and its form alone decides"
            )
