"""What has to be known of all rows before any of them can be scaled.

One look at every part: its labels, and for each label the range, mean and squares of every
column. Looks are combined by the formula for the moments of a union (Chan, Golub and LeVeque
1983), in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.checking import checked_classes, not_finite
from pasb.covariates.part_availability import Patterns, what_is_wrong
from pasb.covariates.parts import Raw
from pasb.covariates.scaling import Scaling
from pasb.errors import PasbError


class PartError(PasbError, ValueError):
    """Rows that cannot be used, in some part of a table."""


class Look(NamedTuple):
    """What one part, or several, look like; arrays have a row for each label.

    Attributes
    ----------
    labels : array of shape (n_labels,)
    counts, totals : array of shape (n_labels,)
        Rows, and their weights.
    low, high, mean, squares : array of shape (n_labels, n_columns)
        Range over rows whose weight is not zero, weighted mean, and weighted sum of squares of
        what differs from it.
    problems : list of str
    patterns : Patterns or None
        Labels and what was available with them, where that is said.
    """

    labels: NDArray
    counts: NDArray[np.int64]
    totals: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]
    problems: list[str]
    patterns: Patterns | None = None


def looked_at(raw: Raw, names: Sequence[str] | None, first_row: int) -> Look:
    """Look at the rows of a part, of which the first has a number in the table."""
    problems = _problems(raw, names, first_row)
    if problems:
        empty, none = np.zeros((0, raw.X.shape[1])), np.zeros(0)
        nobody = np.zeros(0, dtype=np.int64)
        return Look(raw.labels[:0], nobody, none, empty, empty, empty, empty, problems)
    labels, which = np.unique(raw.labels, return_inverse=True)
    weights = raw.row_weights
    shape = (len(labels), raw.X.shape[1])
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    mean, squares = np.zeros(shape), np.zeros(shape)
    totals = np.bincount(which, weights, minlength=len(labels)).astype(np.float64)
    for s in range(len(labels)):
        own = np.flatnonzero((which == s) & (weights > 0))
        if not len(own):
            continue
        x, w = raw.X[own], weights[own][:, None]
        low[s], high[s] = x.min(axis=0), x.max(axis=0)
        centre = low[s] / 2 + high[s] / 2
        mean[s] = centre + np.sum(w * (x - centre), axis=0) / totals[s]
        with np.errstate(over="ignore"):
            squares[s] = np.sum(w * (x - mean[s]) ** 2, axis=0)
    counts = np.bincount(which, minlength=len(labels)).astype(np.int64)
    patterns = None
    if raw.flags is not None:
        patterns = Patterns.of_rows(which.astype(np.int64), raw.flags, weights, first_row)
    return Look(labels, counts, totals, low, high, mean, squares, [], patterns)


def _problems(raw: Raw, names: Sequence[str] | None, first_row: int) -> list[str]:
    where = f" (rows are counted from row {first_row + 1} of the table)" if first_row else ""
    problems = [f"{text}{where}" for text in not_finite(raw.X, names)]
    if raw.labels.dtype.kind == "f" and np.isnan(raw.labels).any():
        n = int(np.isnan(raw.labels).sum())
        problems.append(
            f"y contains NaN: {n} labels missing{where}. Drop those rows, or give them a class of "
            "their own."
        )
    if raw.weights is not None and not (
        np.isfinite(raw.weights).all() and (raw.weights >= 0).all()
    ):
        problems.append(f"sample_weight holds negative numbers, or none{where}")
    return problems + what_is_wrong(raw.flags, first_row)


def united(looks: Sequence[Look]) -> Look:
    """One look at all parts; a `PartError` that tells what is wrong with them."""
    problems = [text for look in looks for text in look.problems]
    if problems:
        rest = len(problems) - 10
        raise PartError("\n".join(problems[:10]) + (f"\nand {rest} more" if rest > 0 else ""))
    looks = [look for look in looks if len(look.labels)]
    if not looks:
        raise PartError("the table has no rows")
    kinds = {_kind(look.labels) for look in looks}
    if len(kinds) > 1:
        raise PartError(
            f"y holds {' and '.join(sorted(kinds))} in different parts of the table: make all "
            "labels text or all numbers"
        )
    labels = np.unique(np.concatenate([look.labels for look in looks]))
    n_columns = looks[0].low.shape[1]
    shape = (len(labels), n_columns)
    counts, totals = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels))
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    mean, squares = np.zeros(shape), np.zeros(shape)
    patterns = []
    for look in looks:
        at = np.searchsorted(labels, look.labels)
        if look.patterns is not None:
            patterns.append(look.patterns._replace(label=at[look.patterns.label]))
        counts[at] += look.counts
        low[at], high[at] = np.minimum(low[at], look.low), np.maximum(high[at], look.high)
        total = totals[at] + look.totals
        share = np.divide(look.totals, total, out=np.zeros(len(at)), where=total > 0)[:, None]
        change = look.mean - mean[at]
        with np.errstate(over="ignore"):
            squares[at] += look.squares + change**2 * (totals[at][:, None] * share)
        mean[at] += share * change
        totals[at] = total
    whole = Patterns.united(patterns) if patterns else None
    return Look(labels, counts, totals, low, high, mean, squares, [], whole)


def _kind(labels: NDArray) -> str:
    return "text" if labels.dtype.kind in "USO" else "numbers"


def class_factors(look: Look, class_weight: Any) -> NDArray[np.float64] | None:
    """Weights of the classes; see `pasb.covariates.checking.checked_weights`."""
    if class_weight is None:
        return None
    known = look.labels.tolist()
    if isinstance(class_weight, str):
        if (look.totals == 0).any():
            raise ValueError("class_weight='balanced': a class has only rows of weight 0")
        return look.totals.sum() / (len(known) * look.totals)
    assert isinstance(class_weight, Mapping)
    strange = [label for label in class_weight if label not in known]
    if strange:
        raise ValueError(f"class_weight: {strange[0]!r} is not a class; the classes are {known}")
    factors = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise ValueError(f"class_weight must hold non-negative numbers; got {dict(class_weight)!r}")
    return factors


def scaling_of(
    look: Look, factors: NDArray[np.float64] | None, how: str | None, names: Sequence[str]
) -> Scaling:
    """The scaling of all rows, as `Scaling.of` has it to rounding."""
    checked_classes(look.labels)
    n_columns = look.low.shape[1]
    if how is None:
        return Scaling(np.zeros(n_columns), np.ones(n_columns))
    totals = look.totals * (1.0 if factors is None else factors)
    seen = totals > 0
    if not seen.any():
        raise PartError("sample_weight is zero for every row: give some a positive weight")
    low, high = look.low[seen].min(axis=0), look.high[seen].max(axis=0)
    centre, spread = low / 2 + high / 2, high / 2 - low / 2
    if how == "standard":
        weight = (totals[seen] / totals.sum())[:, None]
        ratio = (totals[seen] / look.totals[seen])[:, None]
        centre = np.sum(weight * look.mean[seen], axis=0)
        within = np.sum(look.squares[seen] * ratio, axis=0) / totals.sum()
        between = np.sum(weight * (look.mean[seen] - centre) ** 2, axis=0)
        spread = np.sqrt(within + between)
        if not np.isfinite(spread).all():
            v = int(np.flatnonzero(~np.isfinite(spread))[0])
            raise PartError(f"column {names[v]!r} holds numbers too large to be scaled")
    constant = ~(spread > 1e-13 * np.maximum(np.abs(low), np.abs(high)))
    return Scaling(np.where(constant, low, centre), np.where(constant, 1.0, spread))
