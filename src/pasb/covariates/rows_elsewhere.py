"""Tables that are not in memory: how to tell them, and who takes them."""

from __future__ import annotations

import os
from typing import Any

#: classifiers that fit rows where they are; all others need them in memory
TAKERS = ("StickLogisticClassifier", "StickRobitClassifier", "SoftplusClassifier")


def is_dask(X: Any) -> bool:
    """Whether it is a collection of Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def is_elsewhere(X: Any) -> bool:
    """Whether rows are to be read piece by piece: a path, or a collection of Dask."""
    return isinstance(X, str | os.PathLike) or is_dask(X)


def need_at_hand(X: Any, name: str, fits: bool = True) -> None:
    """Refuse a path or a collection of Dask where all rows must be in memory.

    Parameters
    ----------
    X : object
    name : str
        The class that needs them.
    fits : bool, default=True
        Whether it is fitted, which others can do without.
    """
    if not is_elsewhere(X):
        return
    if is_dask(X):
        kind = "data frame" if hasattr(X, "columns") else "array"
        what, cure = f"a Dask {kind}", "pass X.compute(), or some of the rows"
    else:
        what, cure = f"a path ({os.fspath(X)!r})", "read the table first, or some of its rows"
    who = f"{name} needs" if name not in TAKERS and fits else "this needs"
    others = ""
    if fits and name not in TAKERS:
        others = f". {', '.join(TAKERS[:-1])} and {TAKERS[-1]} fit rows where they are"
    elif not fits:
        others = "; predict and predict_proba take it as it is"
    raise ValueError(f"X is {what}, and {who} all rows in memory: {cure}{others}")
