"""The table of what is on each stick: a line for each covariate, or for each quantity."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.posterior.diagnostics import rhat_and_ess
from pasb.posterior.fitted import Fitted
from pasb.posterior.frames import by_direction, native_frame
from pasb.posterior.pointwise import categories_of
from pasb.posterior.prior_words import prior_column
from pasb.posterior.splits import Splits
from pasb.posterior.stick_contents import Contents, contents_of
from pasb.posterior.stick_evidence import StickEvidences
from pasb.posterior.words import PROBABLE, rows_on_sticks, stick_divisions

LEAST_DRAWS = 8  # of a chain that takes part in R-hat


def coefficient_table(
    fitted: Fitted,
    tails: tuple[float, float],
    orders: str | int = "top",
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    availability: Any = None,
) -> Any:
    """What is on the sticks of one or several orders; see `OrderMixin.summary`."""
    contents = contents_of(fitted)
    number = isinstance(orders, Integral) and not isinstance(orders, bool) and orders >= 1
    if orders not in ("top", "probable") and not number:
        raise ValueError(f"orders must be 'top', 'probable' or a positive integer; got {orders!r}")
    if (X is None) != (y is None):
        raise ValueError("pass both X and y, or none of them")
    rows = None
    if X is not None and y is not None:
        if availability is None:
            fitted.check_all_available("summary(X=X, y=y)")
        table, available = fitted.opened(X, availability)
        rows = table[:], categories_of(fitted, y, len(table)), available
    elif availability is not None:
        raise ValueError("availability needs the rows it belongs to: pass X and y too")
    splits = Splits.of(fitted)
    frames = []
    for direction in fitted.directions:
        evidences = None if rows is None else StickEvidences(fitted, direction, *rows)
        distinct, counts = fitted.orders_by_frequency(direction)
        share = counts / counts.sum()
        most = (
            1 if orders == "top" else int(orders) if number else max(1, (share >= PROBABLE).sum())
        )
        parts = []
        for order, probability in list(zip(distinct, share, strict=True))[:most]:
            part = _of_order(fitted, contents, splits, order, direction, tails)
            if rows is not None and evidences is not None:
                columns = _divisions(fitted, order, direction, *rows)
                columns["log_evidence"] = evidences.of_order(order)
                n_each = len(contents.names)
                part |= {name: np.repeat(own, n_each) for name, own in columns.items()}
            if orders != "top":
                n = len(part["stick"])
                label = {"order": [fitted.order_label(order)] * n}
                part = label | {"order_probability": np.full(n, probability)} | part
            parts.append(part)
        frames.append({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    return native_frame(by_direction(frames, fitted.directions), fitted.frame_library)


def _of_order(
    fitted: Fitted,
    contents: Contents,
    splits: Splits,
    order: NDArray[np.int64],
    direction: Any,
    tails: tuple[float, float],
) -> dict[str, Any]:
    n_sticks, n = len(order) - 1, len(contents.names)
    statistics: dict[str, list[NDArray]] = {
        name: [] for name in ("mean", "sd", "lower", "upper", "rhat", "ess")
    }
    numbers = splits.of_order(order, direction)
    for stick, number in enumerate(numbers):
        chosen = splits.draws_with(number)
        parameters = {
            name: values[:, :, order[stick]] for name, values in fitted.draws.parameters.items()
        }
        by_chain = [
            contents.values({name: own[chain][mask] for name, own in parameters.items()})
            for chain, mask in enumerate(chosen)
        ]
        values = np.concatenate(by_chain)
        lower, upper = np.quantile(values, tails, axis=0)
        rhat, ess = _agreement(by_chain)
        found = (values.mean(axis=0), values.std(axis=0), lower, upper, rhat, ess)
        for name, statistic in zip(statistics, found, strict=True):
            statistics[name].append(statistic)
    table: dict[str, Any] = {
        "stick": np.repeat(np.arange(1, n_sticks + 1), n),
        "class": np.repeat(fitted.classes[order[:-1]], n),
        "against": np.repeat([splits.each[k].against(fitted) for k in numbers], n),
        "probability": np.repeat(splits.share[numbers], n),
        contents.title: contents.names * n_sticks,
        **{name: np.concatenate(found) for name, found in statistics.items()},
    }
    used = prior_column(fitted)
    if used and contents.title == "feature":
        table["prior"] = used * n_sticks
    return table


def _agreement(
    by_chain: list[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """R-hat and effective sample size of draws that not all chains have in the same number.

    Chains with fewer than `LEAST_DRAWS` take no part, the others are cut to the shortest; the
    effective sample size is then that of all draws, in proportion.
    """
    n_columns = by_chain[0].shape[1]
    long = [own for own in by_chain if len(own) >= LEAST_DRAWS]
    if not long:
        return np.full(n_columns, np.nan), np.full(n_columns, np.nan)
    shortest = min(len(own) for own in long)
    rhat, ess = rhat_and_ess(np.stack([own[:shortest] for own in long]))
    if len(long) < 2:
        rhat = np.full(n_columns, np.nan)  # one chain cannot disagree
    return rhat, ess * sum(map(len, by_chain)) / (shortest * len(long))


def _divisions(
    fitted: Fitted,
    order: NDArray[np.int64],
    direction: Any,
    inner: NDArray[np.float64],
    categories: NDArray[np.int64],
    available: NDArray[np.bool_] | None,
) -> dict[str, NDArray[np.float64]]:
    """The share of rows that each stick is about, and how it divides them."""
    chains = fitted.draws.of_direction(direction)
    chosen = fitted.in_order(order, direction)[chains]
    found = stick_divisions(fitted, order, direction, chains, chosen, inner, categories, available)
    reached = rows_on_sticks(order, categories, available).mean(axis=1)
    own = [np.nan if split is None else split.own for split in found]
    others = [np.nan if split is None else split.others for split in found]
    columns = {"rows": reached, "stopped_own": own, "stopped_others": others}
    return {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
