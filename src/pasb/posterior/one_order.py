"""The draws of one order, as a rectangle of chains and draws that other packages can take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.checking import checked_order
from pasb.posterior.fitted import Fitted
from pasb.posterior.splits import Splits
from pasb.posterior.tree import posterior_tree

if TYPE_CHECKING:
    import xarray

MOST_NAMED = 3  # orders


def tree_of_order(fitted: Fitted, order: Any, direction: Any) -> xarray.DataTree:
    """The tree of the draws that have one order; see `OrderMixin.posterior_of_order`."""
    chosen_direction = _direction(fitted, direction)
    wanted = _order(fitted, order, chosen_direction)
    found = fitted.in_order(wanted, chosen_direction)
    chains, n = largest_rectangle(found.sum(axis=1))
    if n == 0:
        raise ValueError(_never(fitted, wanted, chosen_direction))
    numbers = np.stack([np.flatnonzero(found[chain])[:n] for chain in chains])
    draws = fitted.draws
    picked = np.array(chains)[:, None], numbers
    own = replace(
        draws,
        parameters={name: values[picked] for name, values in draws.parameters.items()},
        directions=tuple(draws.directions[chain] for chain in chains),
        order=draws.order[picked],
        log_likelihood=draws.log_likelihood[picked],
        statistics={name: values[picked] for name, values in draws.statistics.items()},
    )
    alone = replace(fitted, draws=own, directions=(chosen_direction,))
    tree = posterior_tree(alone)
    said = {
        "order": fitted.order_label(wanted),
        "order_probability": float(found.sum() / found[draws.of_direction(chosen_direction)].size),
        "draws_left_out": int(found.sum() - numbers.size),
    }
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    for name, group in groups.items():
        if "chain" in group.dims:
            groups[name] = group = group.assign_coords(chain=chains)
        group.attrs |= said
    by_stick = Splits.of(alone).of_order(wanted, chosen_direction)
    for name in ("posterior", "constant_data"):
        groups[name] = groups[name].isel(split=by_stick)
    groups["sample_stats"]["draw_of_run"] = (("chain", "draw"), numbers)
    return type(tree).from_dict(groups)


def largest_rectangle(counts: NDArray[np.int64]) -> tuple[list[int], int]:
    """The chains, and how many draws of each, by which most draws are kept.

    Parameters
    ----------
    counts : array of shape (n_chains,)
        How many draws each chain has.
    """
    ranking = np.argsort(-counts, kind="stable")
    sizes = np.arange(1, len(counts) + 1) * counts[ranking]
    n_chains = len(sizes) - int(np.argmax(sizes[::-1]))  # of the same number of draws, more chains
    return sorted(ranking[:n_chains].tolist()), int(counts[ranking[n_chains - 1]])


def _direction(fitted: Fitted, direction: Any) -> Any:
    if direction is None:
        return fitted.directions[0]
    if direction not in fitted.directions:
        there = " and ".join(map(repr, fitted.directions))
        raise ValueError(f"direction: the model has {there}; got {direction!r}")
    return direction


def _order(fitted: Fitted, order: Any, direction: Any) -> NDArray[np.int64]:
    if order is None:
        return fitted.top_order(direction)
    wanted = checked_order(order, fitted.classes)
    if fitted.last_two_tie:
        wanted[-2:] = np.sort(wanted[-2:])
    return wanted


def _never(fitted: Fitted, wanted: NDArray[np.int64], direction: Any) -> str:
    orders, counts = fitted.orders_by_frequency(direction)
    shares = counts / counts.sum()
    drawn = ", ".join(
        f"{fitted.order_label(own)} ({share:.2f})"
        for own, share in list(zip(orders, shares, strict=True))[:MOST_NAMED]
    )
    more = f" and {len(orders) - MOST_NAMED} more" if len(orders) > MOST_NAMED else ""
    return f"order: no draw has {fitted.order_label(wanted)}; there are {drawn}{more}"
