"""Odds ratios of logistic sticks, with what they are conditional on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.logistic import Logistic
from pasb.effects.altered_rows import check_known, unwrapped
from pasb.posterior.frames import by_direction, native_frame
from pasb.posterior.tails import tails_of

MOST_NAMED = 6  # classes in a sentence


def odds_ratios(
    model: Any,
    variables: str | Sequence[str] | Mapping[str, float | Mapping[str, float]] | None = None,
    *,
    interval: float = 0.9,
) -> Any:
    """By what the odds of a class are multiplied, given that it is none of the classes before it.

    A logistic stick is about a class against those behind it. Its odds ratios therefore hold
    among the rows that no earlier stick took. They are those of the most probable order;
    `order_posterior` tells how probable it is. For a statement that does not depend on the order,
    use `comparisons`.

    Behind a pipeline or a formula, covariates are the columns that these make: 0/1 columns of
    levels, products, splines. A change of one of them alone may be no change that a row can have.
    Several that belong together are named as one (see the examples).

    Parameters
    ----------
    model : fitted classifier with logistic sticks
    variables : str, list of str or dict, optional
        Covariates, all by default; as a dictionary, by how much each changes (1 by default), or
        a name of your own for several that change together, as a dictionary of their changes.
    interval : float, default=0.9
        Probability of the credible interval from ``lower`` to ``upper``.

    Returns
    -------
    pandas or polars DataFrame, as `X` was in `fit`
        ``stick``, ``class``, ``feature``, ``change`` (NaN for several), ``odds_ratio`` (the
        posterior median), ``lower``, ``upper`` and ``meaning``, a sentence.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier, datasets, effects
    >>> data = datasets.load("vehicle")
    >>> model = StickLogisticClassifier(
    ...     order=["bus", "van", "opel", "saab"], n_warmup=200, n_draws=200, random_state=1
    ... ).fit(data.X, data.y)
    >>> effects.odds_ratios(model, "x0")["meaning"][2]
    'odds of opel against saab, given that it is neither bus nor van, for x0 +1'

    A man instead of a woman, where a `TableEncoder` made a column of each; and a millimetre more on
    one island, in a formula with an interaction:

    >>> of_sex = {"male instead of female": {"sex=male": 1, "sex=female": -1}}
    >>> of_bill = {"bill +1 on Dream": {"bill": 1, "bill:island[T.Dream]": 1}}
    """
    fitted, _, plain = unwrapped(model)
    tails = tails_of(interval)
    if not isinstance(fitted.binary, Logistic):
        raise ValueError(
            f"odds ratios are for logistic sticks; those of {type(fitted.binary).__name__} are not "
            "linear in log-odds. effects.comparisons(..., comparison='ratio') works for every model"
        )
    fitted.check_has_coefficients("odds_ratios()")
    if isinstance(variables, str):
        variables = [variables]
    if not isinstance(variables, Mapping):
        variables = dict.fromkeys(fitted.feature_names if variables is None else variables, 1.0)
    changes = _changes(fitted.feature_names, variables)
    single = [
        np.nan if isinstance(change, Mapping) else float(change) for change in variables.values()
    ]
    words = [
        name if isinstance(change, Mapping) else f"{name} {change:+g}"
        for name, change in variables.items()
    ]
    beside = "" if plain else ", all other columns unchanged"
    frames = []
    for direction in fitted.directions:
        order = fitted.top_order(direction)
        coef = fitted.draws.parameters["coef"][fitted.in_order(order, direction)]
        logs = fitted.scaling.intercept_and_slopes(coef)[1][:, order[:-1]] @ changes.T
        if direction == "reverse":
            logs = -logs  # these sticks stop on failure
        low, middle, high = np.quantile(logs, (tails[0], 0.5, tails[1]), axis=0)
        n_sticks, n = len(order) - 1, len(changes)
        frames.append(
            {
                "stick": np.repeat(np.arange(1, n_sticks + 1), n),
                "class": np.repeat(fitted.classes[order[:-1]], n),
                "feature": list(variables) * n_sticks,
                "change": np.tile(single, n_sticks),
                "odds_ratio": np.exp(middle).ravel(),
                "lower": np.exp(low).ravel(),
                "upper": np.exp(high).ravel(),
                "meaning": [
                    f"{stick_in_words(fitted.classes, order, stick)}, for {change}{beside}"
                    for stick in range(n_sticks)
                    for change in words
                ],
            }
        )
    return native_frame(by_direction(frames, fitted.directions), fitted.frame_library)


def _changes(known: Sequence[str], variables: Mapping[str, Any]) -> NDArray[np.float64]:
    """By how much each covariate changes, (variables, covariates)."""
    out = np.zeros((len(variables), len(known)))
    for own, (name, change) in zip(out, variables.items(), strict=True):
        if isinstance(change, Mapping) and name in known:
            raise ValueError(
                f"variables: {name!r} is a covariate; give several that change together another "
                "name"
            )
        for one, by in change.items() if isinstance(change, Mapping) else [(name, change)]:
            check_known(one, known, "variables", "a covariate of the model")
            if not isinstance(by, Real) or not np.isfinite(float(by)):
                raise ValueError(f"variables: {one!r} must change by a finite number, not {by!r}")
            own[known.index(one)] = float(by)
    return out


def stick_in_words(classes: NDArray, order: NDArray[np.int64], stick: int) -> str:
    """What the odds of a stick are, as in "odds of a against b or c, given that it is not d"."""
    names = [str(label) for label in classes[order]]
    behind = names[stick + 1 :]
    rest = " or ".join(behind) if len(behind) <= MOST_NAMED else f"{len(behind)} other classes"
    text = f"odds of {names[stick]} against {rest}"
    before = names[:stick]
    if not before:
        return text
    if len(before) == 1:
        return f"{text}, given that it is not {before[0]}"
    if len(before) > MOST_NAMED:
        return f"{text}, given that it is none of the {len(before)} classes before"
    return f"{text}, given that it is neither {' nor '.join(before)}"
