"""Own and cross elasticities of shares, exactly, from the sticks.

With pi the probability of stopping at the stick of alternative k, a change of what that stick sees
moves p_k by p_k (1 - pi) and each p_j behind it by -p_j pi, per unit of the stick's predictor;
alternatives before it do not move. Where a stick is certain or skipped, nothing moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.choice.market import Market


def elasticities(
    model: Any,
    data: Any,
    covariate: str,
    *,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """By how many percent shares change when a covariate of an alternative grows by one percent.

    Parameters
    ----------
    model : fitted StickChoiceClassifier
    data : ChoiceData
    covariate : str
        A covariate of alternatives, such as a price.
    by, weights, interval, n_draws
        As in `pasb.choice.shares`.

    Returns
    -------
    data frame
        Columns ``changed`` (the alternative whose covariate grows), ``alternative`` (whose share
        is looked at), ``kind`` ("own" or "cross"), ``estimate, lower, upper``. Elasticities of
        the total share, not means of those of single choices.

    Notes
    -----
    The stick of an alternative sees its own covariates, and the last one has no stick: in draws in
    which an alternative is the last one, its elasticities are zero.

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
    market = Market(model, data, None, by, weights, interval, n_draws)
    if market.data is None:
        raise TypeError("elasticities need a StickChoiceClassifier and ChoiceData")
    z = market.data.values[:, :, market.data.covariate_number(covariate)]
    z = np.where(market.available, z, 0.0)
    coef = model.coefficients_of(market.predictor.parameters["coef"], covariate)
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
        found = values[:, :, :n] / values[:, :, n:]
    labels = market.labels
    keys = [
        {"changed": k, "alternative": j, "kind": "own" if j == k else "cross"}
        for k in labels
        for j in labels
    ]
    return market.report(found.reshape(*found.shape[:2], -1), keys)
