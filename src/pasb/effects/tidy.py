"""From draws of quantities to tidy tables: one row for each quantity, class and group."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pasb.posterior.fitted import Fitted
from pasb.posterior.frames import native_frame

if TYPE_CHECKING:
    import xarray

Between = Literal["difference", "ratio"]


def between_classes(
    values: NDArray[np.float64], names: list[Any], between: Between | None
) -> tuple[NDArray[np.float64], list[Any]]:
    """Compare classes with each other, where that is asked for.

    Parameters
    ----------
    values : array of shape (draws, ..., classes)
    names : list
        The classes.
    between : {"difference", "ratio"} or None
        None leaves each class by itself.
    """
    if between is None:
        return values, names
    if between not in ("difference", "ratio"):
        raise ValueError(f"between must be 'difference', 'ratio' or None, not {between!r}")
    if len(names) < 2:
        raise ValueError(
            f"between={between!r} compares classes with each other: name two or more in classes"
        )
    pairs = list(combinations(range(len(names)), 2))
    first, second = ([pair[k] for pair in pairs] for k in (0, 1))
    if between == "difference":
        labels = [f"{names[a]} - {names[b]}" for a, b in pairs]
        return values[..., first] - values[..., second], labels
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = values[..., first] / values[..., second]
    return ratios, [f"{names[a]} / {names[b]}" for a, b in pairs]


def reduced(
    values: NDArray[np.float64], tails: tuple[float, float], are_ratios: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Posterior mean and credible interval of draws on the first axis; of ratios, the median.

    The mean of a ratio may lie far beyond its interval, or not exist.
    """
    with np.errstate(invalid="ignore"):
        lower, middle, upper = np.quantile(values, (tails[0], 0.5, tails[1]), axis=0)
        estimate = middle if are_ratios else values.mean(axis=0)
        return {"estimate": estimate, "lower": lower, "upper": upper}


def table_of(
    keys: list[dict[str, Any]], statistics: dict[str, NDArray[np.float64]], library: str
) -> Any:
    """A data frame with a row for each dictionary of keys."""
    columns: dict[str, Any] = {name: [key[name] for key in keys] for name in keys[0]}
    return native_frame(columns | statistics, library)


def draws_of(
    keys: list[dict[str, Any]], values: NDArray[np.float64], fitted: Fitted | None
) -> xarray.DataArray:
    """All draws (draws, quantities) with names, for ArviZ.

    Draws are split into chains where all of those of one model were used.
    """
    import xarray

    n_chains, n_draws = 1, len(values)
    if fitted is not None and fitted.draws.n_chains * fitted.draws.n_draws == len(values):
        n_chains, n_draws = fitted.draws.n_chains, fitted.draws.n_draws
    return xarray.DataArray(
        values.reshape(n_chains, n_draws, -1),
        dims=("chain", "draw", "quantity"),
        coords={
            "chain": np.arange(n_chains),
            "draw": np.arange(n_draws),
            **{name: ("quantity", np.array([str(key[name]) for key in keys])) for name in keys[0]},
        },
        name="effect",
    )
