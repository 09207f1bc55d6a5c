"""Fitted models with less in them, and how far their probabilities are from those of all draws."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.posterior.fitted import Fitted
from pasb.sampling.draws import Draws


@dataclass(frozen=True)
class Compactness:
    """What a compact model left out, and what that changed.

    Attributes
    ----------
    n_draws, n_draws_before : int
        Draws of all chains.
    n_rows : int
        Rows on which probabilities were compared.
    largest, average : float
        Absolute difference of a posterior-mean class probability from that of all draws.
    left_out : float
        Share of experts that are left out, of those that a draw puts on sticks; 0 in models
        without experts.
    """

    n_draws: int
    n_draws_before: int
    n_rows: int
    largest: float
    average: float
    left_out: float

    def __str__(self) -> str:
        experts = f", {self.left_out:.0%} of experts left out" if self.left_out else ""
        return (
            f"{self.n_draws} of {self.n_draws_before} draws{experts}; on {self.n_rows} rows class "
            f"probabilities differ by at most {self.largest:.2g} from those of all draws, by "
            f"{self.average:.2g} on average."
        )

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Compactness:
        """From a file; ValueError where it makes no sense."""
        if not isinstance(stored, dict) or stored.keys() != {field.name for field in fields(cls)}:
            raise ValueError("what it says of its compactness is not complete")
        numbers = [stored[name] for name in ("n_draws", "n_draws_before", "n_rows")]
        sizes = [stored[name] for name in ("largest", "average", "left_out")]
        if not all(type(n) is int and n >= 1 for n in numbers):
            raise ValueError("what it says of its compactness is not a number")
        if not all(type(x) in (int, float) and 0 <= x <= 1 for x in sizes):
            raise ValueError("what it says of its compactness is not a number")
        return cls(**stored)


def compacted(fitted: Fitted, n: int, X: ArrayLike | None) -> tuple[Draws, Compactness]:
    """Some of the draws in float32 precision, without experts that hardly matter."""
    draws = fitted.draws
    total = draws.n_chains * draws.n_draws
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= n <= total:
        raise ValueError(
            f"n must be a positive integer up to {total}, the number of draws of all chains; "
            f"got {n!r}"
        )
    rows = fitted.watched.inner if X is None else fitted.inner_rows(X)
    table = rows[:]
    few = draws.thinned(max(1, round(int(n) / draws.n_chains)))
    kept = _on_sticks(few)
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in kept.items()}
    smaller = fitted.binary.without_negligible(flat, table)
    rounded = {
        name: single_precision(values).reshape(few.parameters[name].shape)
        for name, values in smaller.items()
    }
    if "weight" in rounded:
        rounded["coef"][rounded["weight"] == 0] = 0.0
    few = replace(few, parameters=rounded)
    after = replace(fitted, draws=few).predictor().mean(table, fitted.n_threads)
    gap = np.abs(after - fitted.predictor().mean(table, fitted.n_threads))
    return few, Compactness(
        n_draws=few.n_chains * few.n_draws,
        n_draws_before=total,
        n_rows=len(table),
        largest=float(gap.max()),
        average=float(gap.mean()),
        left_out=_left_out(kept, few.parameters),
    )


def single_precision(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to what float32 holds, unless that cannot hold their size."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = values.astype(np.float32).astype(np.float64)
    return rounded if np.isfinite(rounded).all() else values


def _on_sticks(draws: Draws) -> dict[str, NDArray[np.float64]]:
    """Parameters with no weight for experts of the reference, which take no part in a draw."""
    if "weight" not in draws.parameters:
        return draws.parameters
    weight = draws.parameters["weight"].copy()
    np.put_along_axis(weight, draws.order[:, :, -1:, None], 0.0, axis=2)
    return {**draws.parameters, "weight": weight}


def _left_out(before: dict[str, NDArray], after: dict[str, NDArray]) -> float:
    if "weight" not in before:
        return 0.0
    n = np.count_nonzero(before["weight"])
    return float(1 - np.count_nonzero(after["weight"]) / n) if n else 0.0
