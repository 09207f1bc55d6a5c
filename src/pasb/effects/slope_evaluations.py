"""Class probabilities of some rows and their slopes, exact or by differences, of every kind."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.gaps import check_no_gaps
from pasb.effects.altered_rows import Changes, Shift
from pasb.effects.chain_rule import has_chain_rule, slopes_by_chain_rule
from pasb.effects.members import Member
from pasb.effects.streaming import Evaluation

STEP = 1e-4  # of a covariate's range, where slopes are taken by differences

Kind = Literal["dydx", "eyex", "eydx", "dyex"]


def has_exact_slopes(member: Member) -> bool:
    """Whether the chain rule gives slopes along columns of the table."""
    return member.rows.columns_are_inner and has_chain_rule(member.rows.fitted.binary)


def slopes_of(member: Member, names: list[str]) -> Evaluation:
    """Class probabilities and slopes along covariates, exact where that is possible."""
    if has_exact_slopes(member):
        return slopes_by_chain_rule(member.rows, member.predictor, names)
    return _slopes_by_differences(member, names)


def _slopes_by_differences(member: Member, names: list[str]) -> Evaluation:
    """Class probabilities and central differences along covariates."""
    rows = member.rows
    variants: list[Changes] = [{}]
    widths = []
    for name in names:
        values = np.asarray(rows.column(name), dtype=np.float64)
        check_no_gaps(name, values, "slope")
        low, high = float(values.min()), float(values.max())
        step = STEP * (high - low) or STEP
        sides = [Shift(-step), Shift(step)]
        if not rows.is_plain and low < high:  # splines end with their column
            sides = [Shift(-step, low, high), Shift(step, low, high)]
        variants += [{name: side} for side in sides]
        widths.append(sides[1].of(values) - sides[0].of(values))
    probabilities = member.of_variants(variants)

    def evaluate(part: slice):
        for some, p in probabilities(part):
            steps = np.ones((len(names), 1, p.shape[-1]))
            steps[:, 0, : part.stop - part.start] = [width[part] for width in widths]
            change = (p[:, 2::2] - p[:, 1::2]) / steps
            yield some, np.concatenate([p[:, :1], change], axis=1)

    return evaluate


def of_kind(
    values: NDArray[np.float64], kind: Kind, columns: list[NDArray[np.float64]], nothing: float
) -> NDArray[np.float64]:
    """Slopes of a kind, from probabilities (the first measure) and plain slopes (the others).

    A class that has probability 0 has no slope in percent: it gets `nothing`.
    """
    out = values[:, 1:].copy()
    n = len(columns[0])
    if kind in ("eyex", "eydx"):
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(values[:, :1] > 0, out / values[:, :1], nothing)
    if kind in ("eyex", "dyex"):
        for k, column in enumerate(columns):
            out[:, k, :, :n] *= column
    return out
