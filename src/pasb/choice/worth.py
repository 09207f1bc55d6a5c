"""What a unit of a covariate is worth in units of a price."""

from __future__ import annotations

from typing import Any

import numpy as np

from pasb.posterior.frames import native_frame
from pasb.posterior.tails import tails_of


def willingness_to_pay(model: Any, covariate: str, price: str, *, interval: float = 0.9) -> Any:
    """What one more unit of a covariate is worth: minus its coefficient over that of the price.

    That price difference keeps the probability of taking an alternative, once it is looked at, as
    it is. It is negative for what people pay to avoid, such as time.

    Parameters
    ----------
    model : fitted StickChoiceClassifier
    covariate, price : str
        Covariates of alternatives.
    interval : float, default=0.9
        Probability of the credible interval.

    Returns
    -------
    data frame
        Columns ``alternative`` ("all" where both coefficients are generic), ``median``, ``lower``,
        ``upper``, and ``price_below_zero``, the posterior probability that the coefficient of the
        price is negative. A ratio has no mean where that is not certain, so the median is given.
        Of specific coefficients, over the draws in which the alternative has a stick; one that is
        the last in all draws is left out.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from pasb.choice import ChoiceData, StickChoiceClassifier, willingness_to_pay
    >>> rng = np.random.default_rng(1)
    >>> price, time = rng.uniform(1, 5, (2, 600, 2))
    >>> cost = price + 2 * time + rng.gumbel(size=(600, 2))
    >>> columns = {"mode": np.array(["bus", "car"])[np.argmin(cost, axis=1)]}
    >>> for k, mode in enumerate(["bus", "car"]):
    ...     columns[f"price_{mode}"], columns[f"time_{mode}"] = price[:, k], time[:, k]
    >>> data = ChoiceData.from_wide(
    ...     pd.DataFrame(columns), choice="mode", alternatives=["bus", "car"],
    ...     covariates=["price", "time"])
    >>> model = StickChoiceClassifier(n_warmup=200, n_draws=200, random_state=1).fit(data)
    >>> worth = willingness_to_pay(model, "time", "price")
    >>> worth["alternative"].tolist(), bool(worth["median"][0] < -1)
    (['all'], True)
    """
    if not hasattr(model, "coefficient_draws"):
        raise TypeError(
            f"{type(model).__name__} has no covariates of alternatives: willingness to pay needs a "
            "StickChoiceClassifier"
        )
    for name, what in ((price, "price"), (covariate, "covariate")):
        if name not in model.covariates_:
            raise ValueError(
                f"{what}: {name!r} is no covariate of alternatives; those of the model: "
                f"{', '.join(model.covariates_) or 'none'}"
            )
    tails = tails_of(interval)
    own, cost = model.coefficient_draws(covariate), model.coefficient_draws(price)
    generic = model.is_generic(covariate) and model.is_generic(price)
    labels: list[Any] = ["all"] if generic else model.classes_.tolist()
    rows: dict[str, list] = {
        name: [] for name in ("alternative", "median", "lower", "upper", "price_below_zero")
    }
    for j, label in enumerate(labels):
        known = ~(np.isnan(own[:, j]) | np.isnan(cost[:, j]))
        if not known.any():  # always the last one
            continue
        ratio = -own[known, j] / cost[known, j]
        lower, median, upper = np.quantile(ratio, (tails[0], 0.5, tails[1]))
        below = float((cost[known, j] < 0).mean())
        for name, value in zip(rows, (label, median, lower, upper, below), strict=True):
            rows[name].append(value)
    return native_frame(rows, model.fitted_.frame_library)
