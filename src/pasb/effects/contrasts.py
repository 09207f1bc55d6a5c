"""What a covariate is changed from, and to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from pasb.covariates.gaps import check_no_gaps, numbers_in, without_gaps
from pasb.effects.altered_rows import AlteredRows, Changes, Shift, check_known, one_or_more
from pasb.effects.extrapolation import span_of, warn_of_shift, warn_outside

MOST_LEVELS = 50  # of a covariate that is compared level by level


class Contrast(NamedTuple):
    """Two versions of every row, of which the predictions are compared."""

    term: str  # what is changed
    label: str  # from what to what
    low: Changes
    high: Changes


def contrasts_of(rows: AlteredRows, variables: Any) -> list[Contrast]:
    """From what a user writes to contrasts.

    Parameters
    ----------
    rows : AlteredRows
    variables : None, str, list of str, or dict
        Columns (all by default), or for each column how it is to change: a number (add it),
        "sd", "2sd", "iqr", "minmax", a pair of values, or for levels "reference" or "pairwise".
    """
    if variables is None:
        variables = rows.covariates
    if not isinstance(variables, Mapping):
        variables = dict.fromkeys(one_or_more(variables))
    rows.check_columns(variables, "variables")
    found = []
    for name, how in variables.items():
        numeric = rows.is_numeric(name) and not _is_pair_of(how, (str, bool))
        found += _of_number(rows, name, how) if numeric else _of_levels(rows, name, how)
    return found


def profile_contrast(rows: AlteredRows, profile: Any) -> Contrast:
    """From one whole profile to another: a pair of dictionaries of values."""
    if not (isinstance(profile, Sequence) and len(profile) == 2):
        raise ValueError("profile must be a pair of dictionaries, from what and to what")
    low, high = profile
    for side in (low, high):
        if not isinstance(side, Mapping):
            raise ValueError(f"profile must hold two dictionaries of columns; got {side!r}")
        rows.check_columns(side, "profile")
        for name, value in side.items():
            _check_value(rows, name, value, "profile")
    names = ", ".join(dict.fromkeys([*low, *high]))
    return Contrast(names, "profile", dict(low), dict(high))


def _of_number(rows: AlteredRows, name: str, how: Any) -> list[Contrast]:
    values = numbers_in(name, rows.column(name))
    if how is None:
        distinct = np.unique(values)
        if len(distinct) == 2:  # one more than the larger of two values is nobody's
            return [_from_to(name, float(distinct[0]), float(distinct[1]))]
        how = 1.0
    if isinstance(how, str):
        return [_from_to(name, *_ends(values, name, how), label=how)]
    if isinstance(how, Real) and not isinstance(how, bool):
        if not np.isfinite(float(how)) or how == 0:
            raise ValueError(f"variables: the change of {name!r} must be finite and not 0")
        check_no_gaps(name, rows.column(name), f"change by {float(how):+g}")
        warn_of_shift(rows, name, float(how))
        return [Contrast(name, f"{float(how):+g}", {}, {name: Shift(float(how))})]
    if _is_pair_of(how, (Real,)):
        for end in how:
            _check_value(rows, name, end, "variables")
        return [_from_to(name, float(how[0]), float(how[1]))]
    raise ValueError(
        f"variables: {name!r} can change by a number, between a pair of numbers, or by 'sd', "
        f"'2sd', 'iqr' or 'minmax', not {how!r}"
    )


def _ends(values: Any, name: str, how: str) -> tuple[float, float]:
    """Where changes with a name begin and end."""
    if how in ("sd", "2sd"):
        half = values.std(ddof=1) * (0.5 if how == "sd" else 1.0)
        return float(values.mean() - half), float(values.mean() + half)
    if how in ("iqr", "minmax"):
        tails = (0.25, 0.75) if how == "iqr" else (0.0, 1.0)
        low, high = np.quantile(values, tails)
        return float(low), float(high)
    check_known(how, ("sd", "2sd", "iqr", "minmax"), f"variables[{name!r}]", "a change")
    raise AssertionError


def _of_levels(rows: AlteredRows, name: str, how: Any) -> list[Contrast]:
    if _is_pair_of(how, (object,)):
        for level in how:
            _check_value(rows, name, level, "variables")
        return [_from_to(name, how[0], how[1])]
    levels = levels_of(rows, name)
    if how in (None, "reference"):
        pairs = [(levels[0], level) for level in levels[1:]]
    elif how == "pairwise":
        pairs = [(a, b) for k, a in enumerate(levels) for b in levels[k + 1 :]]
    else:
        raise ValueError(
            f"variables: {name!r} has levels; they can be compared by 'reference', 'pairwise' or a "
            f"pair of them, not {how!r}"
        )
    return [_from_to(name, a, b) for a, b in pairs]


def levels_of(rows: AlteredRows, name: str) -> list[Any]:
    """The distinct values of a column, sorted; a gap is none."""
    levels = np.unique(without_gaps(rows.column(name))).tolist()
    if len(levels) > MOST_LEVELS:
        raise ValueError(f"column {name!r} has {len(levels)} levels, more than {MOST_LEVELS}")
    return levels


def _from_to(name: str, low: Any, high: Any, label: str | None = None) -> Contrast:
    text = [f"{end:g}" if isinstance(end, float) else str(end) for end in (low, high)]
    return Contrast(name, label or f"{text[1]} - {text[0]}", {name: low}, {name: high})


def _check_value(rows: AlteredRows, name: str, value: Any, argument: str) -> None:
    """Refuse a level that is not there; warn of a number beyond those in the table."""
    if not rows.is_numeric(name):
        check_known(value, levels_of(rows, name), argument, f"a level of {name!r}")
        return
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{argument}: {name!r} holds numbers; {value!r} is not one")
    warn_outside(name, [float(value)], span_of(rows, name))


def _is_pair_of(how: Any, kinds: tuple[type, ...]) -> bool:
    pair = isinstance(how, list | tuple | np.ndarray) and len(how) == 2
    return pair and all(isinstance(end, kinds) for end in how)
