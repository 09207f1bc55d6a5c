"""Values that JSON gives back as they were; others are refused by their place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def as_json(value: Any, where: str = "meta") -> Any:
    """Copy `value` into what JSON gives back unchanged, or refuse it by its place.

    Examples
    --------
    >>> as_json({"shape": (2, 3), "scale": np.float64(0.5)})
    {'shape': [2, 3], 'scale': 0.5}
    >>> as_json({"scale": [1.0, float("nan")]})
    Traceback (most recent call last):
    ValueError: meta['scale'][1] is nan, which JSON cannot hold: store it in an array
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return as_name(value, where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which JSON cannot hold: store it in an array")
        return float(value)
    if isinstance(value, list | tuple):
        return [as_json(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            as_name(key, f"a key of {where}"): as_json(item, f"{where}[{key!r}]")
            for key, item in value.items()
        }
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON cannot hold")


def as_name(value: Any, where: str = "the name of an array") -> str:
    """Return a plain string, and refuse anything that is not valid text."""
    if not isinstance(value, str):
        raise TypeError(f"{where} must be a string, not {value!r}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{where} is not valid Unicode text: {value!r}") from None
    return str.__str__(value)
