"""Independence of irrelevant alternatives: does a third alternative change the ratio of two?

Under a multinomial logit it never does. With sticks, the ratio of two alternatives changes where
the third one sits between them in the order, or where one of the two becomes the last one that is
left (the paper's lemma on relaxed independence). So data can tell.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.choice.market import Market


def probability_ratio(
    model: Any,
    data: Any,
    first: Any,
    second: Any,
    third: Any,
    *,
    availability: Any = None,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """The ratio of two alternatives' probabilities with and without a third one.

    Parameters
    ----------
    model, data, availability, by, weights, interval, n_draws
        As in `pasb.choice.shares`. Only choices that have all three count.
    first, second, third : labels

    Returns
    -------
    data frame
        Columns ``quantity`` ("with", "without", "change"), ``estimate, lower, upper``: the mean
        over choices of log(p_first / p_second) with the third, without it, and the difference.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import StickLogisticClassifier
    >>> from pasb.choice import probability_ratio
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    >>> model = StickLogisticClassifier(
    ...     order=[0, 1, 2], n_warmup=100, n_draws=100, random_state=1).fit(X, y)
    >>> found = probability_ratio(model, X, 0, 2, third=1)
    >>> found["quantity"].tolist()
    ['with', 'without', 'change']
    """
    market = Market(model, data, availability, by, weights, interval, n_draws)
    a, b, c = (market.number_of(label) for label in (first, second, third))
    if len({a, b, c}) < 3:
        raise ValueError("first, second and third must be three different alternatives")
    has, then = market.have(a, b, c), market.now.without(c, market.available)

    def measure(draws: slice, each: list[NDArray[np.float64]], rows: slice) -> NDArray[np.float64]:
        own = np.zeros((len(each[0]), 2, 1, each[0].shape[2]))
        counted = np.flatnonzero(has[rows])
        for k, p in enumerate(each):
            own[:, k, 0, counted] = np.log(p[:, a, counted]) - np.log(p[:, b, counted])
        return own

    values = market.means([market.now, then], measure, market.among(has))[:, :, :, 0]
    values = np.concatenate([values, values[:, :, 1:] - values[:, :, :1]], axis=2)
    return market.report(values, [{"quantity": name} for name in ("with", "without", "change")])


def iia_test(
    model: Any,
    data: Any,
    *,
    margin: float = math.log(1.1),
    availability: Any = None,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """How far each third alternative changes the ratio of two others.

    Parameters
    ----------
    model, data, availability, by, weights, interval, n_draws
        As in `pasb.choice.shares`.
    margin : float, default=log(1.1)
        A change in log(p_first / p_second) that matters.

    Returns
    -------
    data frame
        A row for each pair and third one that some choice has together: ``first, second, third``;
        the mean over choices of the absolute change of the log-ratio when the third one is
        withdrawn, ``estimate, lower, upper``; and ``violated``, the posterior probability that it
        is above `margin`. Under independence of irrelevant alternatives all changes are zero.
        NaN where a group has no choice with all three.

    Notes
    -----
    Probabilities under the model: where a softmax is right, sticks can only come near it, so small
    changes do not speak against independence. That is what `margin` is for.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import StickLogisticClassifier
    >>> from pasb.choice import iia_test
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    >>> model = StickLogisticClassifier(n_warmup=100, n_draws=100, random_state=1).fit(X, y)
    >>> len(iia_test(model, X))
    3
    """
    if not margin >= 0:
        raise ValueError(f"margin must not be negative, not {margin!r}")
    market = Market(model, data, availability, by, weights, interval, n_draws)
    n, labels, groups = market.n_categories, market.labels, market.groups
    if n < 3:
        raise ValueError("independence of irrelevant alternatives is about three or more")
    keys, found = [], []
    for c in range(n):
        pairs = [pair for pair in combinations(range(n), 2) if c not in pair]
        together = [market.have(a, b, c) for a, b in pairs]
        counts = [groups._replace(weights=groups.weights * has).totals for has in together]
        some = [k for k, count in enumerate(counts) if count.any()]
        if not some:
            continue
        then = market.now.without(c, market.available)
        measure = _changes([pairs[k] for k in some], [together[k] for k in some])
        values = market.means([market.now, then], measure)[:, :, :, 0]
        for place, k in enumerate(some):
            keys.append(dict(zip(("first", "second"), (labels[a] for a in pairs[k]), strict=True)))
            keys[-1]["third"] = labels[c]
            with np.errstate(divide="ignore", invalid="ignore"):
                found.append(values[:, :, place] * (groups.totals / counts[k])[:, None])
    if not keys:
        raise ValueError("no choice has three alternatives")
    table = np.stack(found, axis=2)
    known = np.isfinite(table[:, 0])
    violated = np.where(known, (table > margin).mean(axis=1), np.nan)
    return market.report(np.where(known[:, None], table, np.nan), keys, violated=violated)


def _changes(pairs: list[tuple[int, int]], together: list[NDArray[np.bool_]]) -> Any:
    """Absolute changes of log-ratios, zero for choices that lack one of the three."""

    def measure(draws: slice, each: list[NDArray[np.float64]], rows: slice) -> NDArray[np.float64]:
        out = np.zeros((len(each[0]), len(pairs), 1, each[0].shape[2]))
        for k, (a, b) in enumerate(pairs):
            some = np.flatnonzero(together[k][rows])
            ratios = [np.log(p[:, a, some]) - np.log(p[:, b, some]) for p in each]
            out[:, k, 0, some] = np.abs(ratios[1] - ratios[0])
        return out

    return measure
