"""Which update of softplus regression made a number.

As printed, the CPU makes the printed update (`pasb.binary.softplus_printed`). A GPU has only our
own, by first arrivals (`pasb.binary.softplus`), and so had every machine before version 0.2.0.
Given the order both have the same posterior; ours takes larger steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PRINTED, OURS = "printed", "first arrivals"
#: experiments of nothing but softplus models
SOFTPLUS = ("iris", "square", "square101", "satimage-orders", "swiss-roll")


def engine_for(scheme: str, engine: str) -> str:
    """The engine of a classifier: a GPU refuses the printed update."""
    return "cpu" if scheme == "paper" else engine


def update_of(scheme: str, engine: str) -> str:
    """The update that chains of a scheme make on an engine."""
    return PRINTED if (scheme, engine) == ("paper", "cpu") else OURS


def is_softplus(model: str) -> bool:
    """Whether a model of the tables is made of softplus regressions."""
    return model.startswith(("msr", "dt"))


def update_in(result: Mapping[str, Any]) -> str | None:
    """The update that a finished cell was made by; None for other models.

    Cells of versions before 0.2.0 do not say so.
    """
    tables = result["experiment"] == "error-rates" and is_softplus(result["what"][1])
    if not tables and result["experiment"] not in SOFTPLUS:
        return None
    return result.get("update", OURS)


def told(results: Sequence[Mapping[str, Any]]) -> str:
    """How many of the softplus cells as printed each update made; empty without such cells."""
    updates = [update_in(result) for result in results if result["scheme"] == "paper"]
    n_printed, n_ours = updates.count(PRINTED), updates.count(OURS)
    if not n_printed + n_ours:
        return ""
    if not n_ours:
        return "All softplus cells as printed are by the printed update."
    how = "all" if not n_printed else f"{n_ours} of {n_printed + n_ours}"
    return (
        f"Of the softplus cells as printed {how} are by our own update (first arrivals), which "
        "has the same posterior given the order and takes larger steps"
        + ("." if not n_printed else "; the others are by the printed update.")
    )
