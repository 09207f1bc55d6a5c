"""Shares of alternatives, what changes them, and where choices go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pasb.choice.columns import AlternativeColumns
from pasb.choice.market import Market, probabilities


def shares(
    model: Any,
    data: Any,
    *,
    availability: Any = None,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """Predicted shares of the alternatives.

    Parameters
    ----------
    model : fitted `StickChoiceClassifier`, or another fitted classifier
    data : ChoiceData
        For other classifiers a table of covariates.
    availability : array or data frame, optional
        What is available, where `data` is a table.
    by : str, array, Series, or list of these, optional
        Groups: covariates of choosers by name (columns, where `data` is a table), or a label for
        each choice.
    weights : array, optional
        How much each choice counts.
    interval : float, default=0.9
        Probability of the credible interval.
    n_draws : int, optional
        Use so many draws instead of all.

    Returns
    -------
    data frame
        Columns ``alternative, estimate, lower, upper``, those of groups before them. A group whose
        name is that of another column has ``by_`` before it.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import StickLogisticClassifier
    >>> from pasb.choice import shares
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    >>> model = StickLogisticClassifier(n_warmup=100, n_draws=100, random_state=1).fit(X, y)
    >>> float(shares(model, X)["estimate"].sum().round(6))
    1.0
    """
    market = Market(model, data, availability, by, weights, interval, n_draws)
    values = market.means([market.now], probabilities)[:, :, 0]
    return market.report(values, [{"alternative": label} for label in market.labels])


def share_changes(
    model: Any,
    data: Any,
    other: Any,
    *,
    availability: Any = None,
    other_availability: Any = None,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """How shares change from one version of the choices to another.

    Parameters
    ----------
    model, data, availability, by, weights, interval, n_draws
        As in `shares`.
    other : ChoiceData
        The same choices under other circumstances, such as ``data.changed("price", "car",
        factor=1.1)`` or ``data.without("car")``. For other classifiers a table of covariates.
    other_availability : array or data frame, optional
        What is available under the other circumstances, where `data` is a table; by default what
        `availability` says.

    Returns
    -------
    data frame
        Columns ``alternative, share, counterfactual`` (posterior means), and the change:
        ``estimate, lower, upper``.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import StickLogisticClassifier
    >>> from pasb.choice import share_changes
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    >>> model = StickLogisticClassifier(n_warmup=100, n_draws=100, random_state=1).fit(X, y)
    >>> abs(float(share_changes(model, X, X + 1.0)["estimate"].sum())) < 1e-9
    True
    """
    market = Market(model, data, availability, by, weights, interval, n_draws)
    then = market.version(other, availability if other_availability is None else other_availability)
    if len(then.inner) != len(market.now.inner):
        raise ValueError(
            f"other must be the same {len(market.now.inner)} choices; it has {len(then.inner)}"
        )
    values = market.means([market.now, then], probabilities)
    before, after = values[:, :, 0], values[:, :, 1]
    more = {"share": before.mean(axis=1), "counterfactual": after.mean(axis=1)}
    keys = [{"alternative": label} for label in market.labels]
    return market.report(after - before, keys, **more)


def diversion(
    model: Any,
    data: Any,
    alternative: Any,
    *,
    covariate: str | None = None,
    columns: Mapping | None = None,
    factor: float | None = None,
    availability: Any = None,
    by: Any = None,
    weights: ArrayLike | None = None,
    interval: float = 0.9,
    n_draws: int | None = None,
) -> Any:
    """Where choices go when an alternative is withdrawn, or when a covariate of it changes.

    The diversion ratio to j is the share that j gains over the share that the alternative loses.
    Only choices that have the alternative and another one count.

    Parameters
    ----------
    model, data, availability, by, weights, interval, n_draws
        As in `shares`.
    alternative : label
    covariate : str, optional
        A covariate of alternatives, such as a price, that is multiplied by `factor`; by default
        the alternative is withdrawn.
    columns : dict, optional
        For other classifiers than `StickChoiceClassifier`, in place of `covariate`: the column of
        the alternative in the table, as in ``{"car": "price_car"}``. See `elasticities`.
    factor : float, optional
        By default 1.01, where there is a covariate.

    Returns
    -------
    data frame
        Columns ``from, to, estimate, lower, upper``; diversion ratios add up to 1. They are NaN in
        draws where the covariate does not change the share, as where the alternative is the last
        one.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import StickLogisticClassifier
    >>> from pasb.choice import diversion
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    >>> model = StickLogisticClassifier(n_warmup=100, n_draws=100, random_state=1).fit(X, y)
    >>> float(diversion(model, X, 0)["estimate"].sum().round(6))
    1.0
    """
    market = Market(model, data, availability, by, weights, interval, n_draws)
    k, n = market.number_of(alternative), market.n_categories
    has = market.available[:, k] & (market.available.sum(axis=1) > 1)
    groups = market.among(has)
    if covariate is None and columns is None:
        if factor is not None:
            raise ValueError(
                f"factor={factor!r} multiplies a covariate of {alternative!s}: name it by "
                "covariate= (columns= where data is a table), or leave factor out to withdraw "
                f"{alternative!s}"
            )
        then = market.now.without(k, market.available)
    else:
        market.check_named(covariate, columns)
        factor = 1.01 if factor is None else float(factor)
        if factor == 1 or not np.isfinite(factor):
            raise ValueError(f"factor must be a number other than 1, such as 1.05; got {factor!r}")
        if market.data is None:
            then = AlternativeColumns(market, columns).scaled(k, factor)
        else:
            then = market.version(market.data.changed(str(covariate), alternative, factor=factor))
    values = market.means([market.now, then], probabilities, groups)
    change = values[:, :, 1] - values[:, :, 0]
    others = [j for j in range(n) if j != k]
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(np.abs(change[:, :, k]) > 1e-12, -change[:, :, k], np.nan)
        ratios = change[:, :, others] / lost[:, :, None]
    keys = [{"from": alternative, "to": market.labels[j]} for j in others]
    return market.report(ratios, keys)
