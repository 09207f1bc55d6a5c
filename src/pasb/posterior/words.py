"""What the order says about the data, in words: who is split off first, and how cleanly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.numerics.rows import blocked
from pasb.posterior.fitted import Fitted
from pasb.sticks import Direction, accept_reject

SURE = 0.8  # probability from which one sequence is told, not several
PROBABLE = 0.05  # from which an order is worth a table of its own
MOST_NAMED = 5  # classes
MOST_ORDERS = 3  # that are named
MOST_DRAWS = 50  # by which a stick is judged
FEWEST_ROWS = 3  # on either side of a split
# (share of its own rows that stop + share of the others that continue) / 2, from this on
HOW = ((0.95, "cleanly"), (0.85, "well"), (0.7, "with errors"), (0.0, "poorly"))


class Division(NamedTuple):
    """How a stick divides the rows that reach it: posterior means of the shares that stop."""

    own: float  # of the rows of its class
    others: float  # of the rows of the classes behind it


def order_in_words(
    fitted: Fitted,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    availability: Any = None,
) -> str:
    """Say in which order a fitted model splits off its classes, and how cleanly.

    Parameters
    ----------
    fitted : Fitted
    X, y : array, optional
        Rows by which the splits are judged; by default those training rows that the model
        keeps to watch its chains, a couple of dozen.
    availability : array or data frame, optional
        Which classes these rows could choose.
    """
    watched = X is None or y is None
    if X is None or y is None:
        if availability is not None:
            raise ValueError("availability needs the rows it belongs to: pass X and y too")
        _, inner, categories, available = fitted.watched
    else:
        if availability is None:
            fitted.check_all_available("order_in_words(X, y)")
        labels, known = np.asarray(y), fitted.classes
        table, available = fitted.opened(X, availability)
        inner = table[:]
        categories = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        if len(labels) != len(inner) or not (known[categories] == labels).all():
            raise ValueError("y must hold one of the model's classes for each row of X")
    sentences = []
    for direction in fitted.directions:
        text = _sentences(fitted, direction, inner, categories, available)
        named = len(fitted.directions) > 1
        sentences.append(f"{direction.capitalize()} sticks: {text}" if named else text)
    if available is not None:
        sentences.append("(On each stick, rows count that could stop there and could go on.)")
    if watched:
        sentences.append(f"(Judged by {len(inner)} of the training rows.)")
    return " ".join(sentences)


def several_orders(fitted: Fitted) -> str:
    """Which orders are probable, where there are several; else nothing."""
    told = []
    for direction in fitted.directions:
        orders, counts = fitted.orders_by_frequency(direction)
        shares = counts / counts.sum()
        if shares[0] > 1 - PROBABLE:
            continue
        named = ", ".join(
            f"{fitted.order_label(order)} ({share:.2f})"
            for order, share in list(zip(orders, shares, strict=True))[:MOST_ORDERS]
        )
        rest = len(orders) - MOST_ORDERS
        more = f" and {rest} more ({shares[MOST_ORDERS:].sum():.2f})" if rest > 0 else ""
        of = f" of {direction} sticks" if len(fitted.directions) > 1 else ""
        told.append(f"Several orders{of} are probable: {named}{more}.")
    return " ".join(told)


def _sentences(
    fitted: Fitted,
    direction: Direction,
    inner: NDArray,
    categories: NDArray,
    available: NDArray[np.bool_] | None,
) -> str:
    chains = fitted.draws.of_direction(direction)
    orders = fitted.draws.order[chains]
    n = orders.shape[2]
    names = [str(label) for label in fitted.classes]

    def judged(order: NDArray[np.int64], draws: NDArray[np.bool_]) -> list[str]:
        splits = stick_divisions(
            fitted, order, direction, chains, draws, inner, categories, available
        )
        sides = "its own rows", "the others"
        if n == 2:
            sides = f"the rows of {names[order[0]]}", f"those of {names[order[1]]}"
        return [_how(split, sides if k == 0 else None) for k, split in enumerate(splits)]

    order = fitted.top_order(direction)
    share = (orders[:, :, : n - 2] == order[: n - 2]).all(axis=2).mean()
    fixed = fitted.order_is_fixed
    if n == 2 or fixed or share >= SURE:
        how = judged(order, (orders == order).all(axis=2))
        opening = "" if n == 2 or fixed else f"With probability {share:.2f}, "
        phrases = [
            f"{names[c]} is split off first{how[0]}" if k == 0 else f"then {names[c]}{how[k]}"
            for k, c in enumerate(order[: min(n - 2, MOST_NAMED)])
        ]
        if n - 2 > MOST_NAMED:
            phrases.append(f"then {n - 2 - MOST_NAMED} more")
        last = f"{names[order[-2]]} and {names[order[-1]]} are told apart"
        phrases.append(f"{'and ' if n > 2 else ''}{last}{' last' if n > 2 else ''}{how[-1]}")
        tie = " The order of the last two makes no difference to the model."
        return f"{opening}{', '.join(phrases)}.{tie if n > 2 and fitted.last_two_tie else ''}"
    first = np.bincount(orders[:, :, 0].ravel(), minlength=n) / orders[:, :, 0].size
    likely = [int(k) for k in np.argsort(-first, kind="stable") if first[k] >= 0.01]
    told = []
    for c in likely[:MOST_NAMED]:
        draws = orders[:, :, 0] == c
        told.append(f"{names[c]} ({first[c]:.0%}){judged(orders[draws][0], draws)[0]}")
    if len(likely) > MOST_NAMED:
        told.append(f"one of {len(likely) - MOST_NAMED} more")
    never = [name for k, name in enumerate(names) if k not in likely]
    hardly = f", hardly ever {' or '.join(never)}" if 0 < len(never) <= MOST_NAMED else ""
    return f"The class to split off first is {' or '.join(told)}{hardly}."


def stick_divisions(
    fitted: Fitted,
    order: NDArray[np.int64],
    direction: Direction,
    chains: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    inner: NDArray[np.float64],
    categories: NDArray[np.int64],
    available: NDArray[np.bool_] | None = None,
) -> list[Division | None]:
    """How each stick of an order divides the rows that are on it.

    Parameters
    ----------
    fitted : Fitted
    order : array of shape (n_classes,)
    direction : {"forward", "reverse"}
    chains : array
        The chains of that direction.
    chosen : boolean array of shape (len(chains), n_draws)
        Draws to average over; at most `MOST_DRAWS` of them are used.
    inner, categories : array
        Rows in the binary model's columns, and their categories.
    available : boolean array of shape (n_rows, n_classes), optional
        What each row could choose.

    Returns
    -------
    list of Division
        None for a stick that too few of the rows are on.
    """
    binary, blocks, n_rows = fitted.binary, blocked(inner), len(inner)
    draws = np.argwhere(chosen)
    draws = draws[np.unique(np.linspace(0, len(draws) - 1, MOST_DRAWS).astype(np.int64))]
    stop = np.zeros((len(fitted.classes), n_rows))
    for chain, draw in draws:  # one at a time: many classes and rows need memory
        only = slice(draw, draw + 1)
        own = {name: v[chains[chain], only] for name, v in fitted.draws.parameters.items()}
        success, failure = binary.log_probabilities(own, blocks)
        accept, _ = accept_reject(success, failure, direction)
        stop += np.exp(accept[0, :, :n_rows])
    stop /= len(draws)
    splits: list[Division | None] = []
    for on, category in zip(rows_on_sticks(order, categories, available), order[:-1], strict=True):
        mine = on & (categories == category)
        behind = on & ~mine
        enough = min(mine.sum(), behind.sum()) >= FEWEST_ROWS
        shares = (stop[category, mine], stop[category, behind])
        splits.append(Division(*(float(s.mean()) for s in shares)) if enough else None)
    return splits


def rows_on_sticks(
    order: NDArray[np.int64],
    categories: NDArray[np.int64],
    available: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Which rows each stick of an order divides, (sticks, rows).

    Those of its category and of the ones behind it, where the row has its category and another
    one behind it.
    """
    place = np.argsort(order)[categories]
    on = place >= np.arange(len(order) - 1)[:, None]
    if available is not None:
        has = available[:, order].T
        on &= has[:-1] & np.logical_or.accumulate(has[::-1])[::-1][1:]
    return on


def _how(split: Division | None, sides: tuple[str, str] | None) -> str:
    """The quality of a split, and its shares; what they are of is said where `sides` are given."""
    if split is None:
        return ""
    quality = 0.5 * (split.own + 1 - split.others)
    how = next(word for least, word in HOW if quality >= least)
    if sides is None:
        return f", {how} ({split.own:.0%} and {split.others:.0%})"
    own, others = sides
    shares = f"{split.own:.0%} of {own} and {split.others:.0%} of {others}"
    return f", {how} (its stick stops {shares})"
