"""Own and cross elasticities of shares.

They are exact where a stick sees the covariates of its own alternative alone. With pi the
probability of stopping at the stick of alternative k, a change of what that stick sees moves p_k by
p_k (1 - pi) and each p_j behind it by -p_j pi, per unit of the stick's predictor; alternatives
before it do not move. Where a stick is certain or skipped, nothing moves.

Where sticks see all columns of a table, a column may move every one of them, through whatever a
model makes of it. Then elasticities are central differences of probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.choice.columns import AlternativeColumns
from pasb.choice.market import Market, probabilities
from pasb.covariates.choice_data import ChoiceData

STEP = 1e-4  # of the logarithm of a covariate; the error of a difference is of the order of 1e-8


def elasticities(
    model: Any,
    data: Any,
    covariate: str | None = None,
    *,
    columns: Mapping | None = None,
    availability: Any = None,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """By how many percent shares change when a covariate of an alternative grows by one percent.

    Parameters
    ----------
    model : fitted StickChoiceClassifier, or another fitted classifier
    data : ChoiceData
        For other classifiers a table of covariates.
    covariate : str
        A covariate of alternatives, such as a price.
    columns : dict
        For other classifiers, in place of `covariate`: the columns of the table that hold it, as
        in ``{"bus": "price_bus", "car": "price_car"}``. Alternatives that are left out are not
        changed. A column changes in the rows that have its alternative.
    availability, by, weights, interval, n_draws
        As in `pasb.choice.shares`.

    Returns
    -------
    data frame
        Columns ``changed`` (the alternative whose covariate grows), ``alternative`` (whose share
        is looked at), ``kind`` ("own" or "cross"), ``estimate, lower, upper``. Elasticities of
        the total share, not means of those of single choices.

    Notes
    -----
    Under a `StickChoiceClassifier` the stick of an alternative sees its own covariates, and the
    last one has no stick: in draws in which an alternative is the last one, its elasticities are
    zero. The sticks of other classifiers see the columns of all alternatives.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from pasb.choice import ChoiceData, StickChoiceClassifier, elasticities
    >>> rng = np.random.default_rng(1)
    >>> price = rng.uniform(1, 5, (300, 2))
    >>> mode = np.array(["bus", "car"])[np.argmin(price + rng.gumbel(size=(300, 2)), axis=1)]
    >>> data = ChoiceData.from_wide(
    ...     pd.DataFrame({"mode": mode, "price_bus": price[:, 0], "price_car": price[:, 1]}),
    ...     choice="mode", alternatives=["bus", "car"], covariates=["price"])
    >>> model = StickChoiceClassifier(
    ...     order=["bus", "car"], n_warmup=200, n_draws=200, random_state=1).fit(data)
    >>> found = elasticities(model, data, "price")
    >>> found["kind"].tolist(), (found["estimate"].round(1) < 0).tolist()
    (['own', 'cross', 'cross', 'own'], [True, False, False, False])
    """
    market = Market(model, data, availability, by, weights, interval, n_draws)
    market.check_named(covariate, columns)
    if market.data is None:
        own = AlternativeColumns(market, columns)
        changed = sorted(own.column_of)
        found = _by_differences(market, own, changed)
    else:
        changed = list(range(market.n_categories))
        found = _of_sticks(market, market.data, str(covariate))
    labels = market.labels
    keys = [
        {"changed": labels[k], "alternative": label, "kind": "own" if j == k else "cross"}
        for k in changed
        for j, label in enumerate(labels)
    ]
    return market.report(found.reshape(*found.shape[:2], -1), keys)


def _by_differences(
    market: Market, columns: AlternativeColumns, changed: list[int]
) -> NDArray[np.float64]:
    """Of columns of a table, (groups, draws, changed, alternatives)."""
    now = market.means([market.now], probabilities)[:, :, 0]
    found = []
    for k in changed:
        ends = [columns.scaled(k, float(np.exp(step))) for step in (STEP, -STEP)]
        values = market.means(ends, probabilities)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append((values[:, :, 0] - values[:, :, 1]) / (2 * STEP) / now)
    return np.stack(found, axis=2)


def _of_sticks(market: Market, data: ChoiceData, covariate: str) -> NDArray[np.float64]:
    """Of a covariate of alternatives, (groups, draws, changed, alternatives)."""
    z = data.values[:, :, data.covariate_number(covariate)]
    z = np.where(market.available, z, 0.0)
    coef = market.model.coefficients_of(market.predictor.parameters["coef"], covariate)
    orders, n = market.predictor.orders, market.n_categories

    def measure(draws: slice, each: list[NDArray[np.float64]], rows: slice) -> NDArray[np.float64]:
        p = each[0]
        place = np.argsort(orders[draws], axis=1)
        out = np.zeros((len(p), n + 1, n, p.shape[2]))
        out[:, n] = p
        own = z[rows]
        for k in range(n):
            behind = place > place[:, k : k + 1]  # (draws, alternatives)
            tail = np.einsum("dj,dji->di", behind, p)
            with np.errstate(invalid="ignore", divide="ignore"):
                stop = np.where(tail > 0, p[:, k] / (p[:, k] + tail), 0.0)
            size = np.zeros_like(stop)
            size[:, : len(own)] = coef[draws, k, None] * own[:, k]
            out[:, k] = -p * stop[:, None] * behind[:, :, None] * size[:, None]
            out[:, k, k] = p[:, k] * np.where(tail > 0, 1 - stop, 0.0) * size
        return out

    values = market.means([market.now], measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        return values[:, :, :n] / values[:, :, n:]
