"""The parameters of a table encoder, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

from pasb.covariates.column_planning import Choices
from pasb.covariates.tables import named

_ALLOWED = {
    "missing": ("indicator", "error"),
    "unknown": ("average", "error"),
    "decimal": ("auto", ".", ","),
}


def choices_of(parameters: Mapping[str, Any]) -> Choices:
    """What `TableEncoder` was told; ValueError for what is impossible."""
    for name, options in _ALLOWED.items():
        value = parameters[name]
        if value not in options:
            told = f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}"
            if (name, value) == ("missing", "drop"):
                told += ": a transformer cannot drop rows, so drop them from X and y before fit"
            raise ValueError(told)
    for name in ("min_count", "max_levels"):
        value = parameters[name]
        if name == "min_count" and isinstance(value, str) and value == "auto":
            continue
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive integer; got {value!r}")
    lists: dict[str, Any] = {
        name: _columns(name, parameters[name])
        for name in ("categorical", "numeric", "drop", "ids", "keep_id")
    }
    for one, other in (("categorical", "numeric"), ("ids", "keep_id")):
        if both := lists[one] & lists[other]:
            raise ValueError(f"{one} and {other} both name {named(sorted(both))}")
    return Choices(
        **lists,
        **{name: parameters[name] for name in _ALLOWED},
        min_count=parameters["min_count"],
        max_levels=int(parameters["max_levels"]),
    )


def _columns(name: str, value: Iterable | None) -> frozenset[str]:
    if isinstance(value, str) or (value is not None and not isinstance(value, Iterable)):
        raise ValueError(f"{name} must be a list of column names; got {value!r}")
    return frozenset(f"x{v}" if isinstance(v, Integral) else str(v) for v in value or ())
