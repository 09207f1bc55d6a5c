"""The prior that was used: of linear sticks in the user's units, of softplus sticks in words."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from pasb.binary.linear import LinearModel
from pasb.binary.softplus import Softplus
from pasb.binary.softplus_prior import MEAN_RATE_PRIOR, MOST_MEAN_RATE
from pasb.covariates.named_priors import in_units, in_words
from pasb.posterior.fitted import Fitted

TAILS = (0.05, 0.95)


def priors_in_use(fitted: Fitted, *, scaled: bool = False) -> list[dict[str, Any]]:
    """The prior of the intercept and of each covariate, as plain data; of linear models only.

    Per unit of the covariate or, with `scaled`, per unit as scaled inside.
    """
    model = fitted.binary
    if not isinstance(model, LinearModel):
        return []
    names = ["(intercept)", *fitted.feature_names]
    spreads = np.concatenate([[1.0], fitted.scaling.spread]).tolist()
    if scaled:
        spreads = [1.0] * len(names)
    plain = model.priors
    if plain is None:
        shape, rate = float(model.shape), float(model.rate)
        one = (
            ("t", 2 * shape, 0.0, (rate / shape) ** 0.5)
            if model.precision == "ard"
            else ("normal", 0.0, float(model.precision) ** -0.5)
        )
        plain = [one] * len(names)
    return [
        {"feature": name, **in_units(tuple(own), spread)}
        for name, own, spread in zip(names, plain, spreads, strict=True)
    ]


def prior_column(fitted: Fitted, *, scaled: bool = False) -> list[str]:
    """The same, a few letters each, such as ``normal(0, 0.5)``."""
    return [
        in_words({key: value for key, value in own.items() if key != "feature"})
        for own in priors_in_use(fitted, scaled=scaled)
    ]


def softplus_priors(fitted: Fitted) -> list[dict[str, Any]]:
    """The priors of a softplus model's parameters, as plain data; of softplus models only.

    Each has a ``parameter`` and its ``prior``. Where the mean rate is sampled, it also has the
    ``posterior``: median and 90 % interval.
    """
    model = fitted.binary
    if not isinstance(model, Softplus):
        return []
    experts: list[dict[str, Any]] = [
        {"parameter": "mass of the weights", "prior": _gamma(model.mass_shape, model.mass_rate)},
        {
            "parameter": "rate of a weight",
            "prior": _gamma(model.inverse_scale_shape, model.inverse_scale_rate),
        },
    ]
    shape = float(model.shape)
    if model.precision != "ard":
        coefficient = f"normal(0, {float(model.precision) ** -0.5:.4g})"
    elif isinstance(model.rate, Real):
        coefficient = f"t({2 * shape:g}, 0, {(float(model.rate) / shape) ** 0.5:.4g})"
    else:
        coefficient = f"t({2 * shape:g}, 0, sqrt(rate / {shape:g}))"
    found: list[dict[str, Any]] = [{"parameter": "coefficient", "prior": coefficient}]
    if not model.shares_rate:
        if model.precision == "ard" and not isinstance(model.rate, Real):
            found.append({"parameter": "rate of a layer", "prior": _gamma(*model.rate_prior)})
        return found + experts
    draws = fitted.draws.parameters["mean_rate"]
    lower, median, upper = np.quantile(draws, (TAILS[0], 0.5, TAILS[1])).tolist()
    a, b = MEAN_RATE_PRIOR
    found += [
        {"parameter": "rate of a layer", "prior": "exponential(1 / mean rate)"},
        {
            "parameter": "mean rate",
            "prior": f"1 / {_gamma(a, b)}, at most {MOST_MEAN_RATE:g}",
            "posterior": {"median": median, "lower": lower, "upper": upper},
        },
    ]
    return found + experts


def _gamma(shape: float, rate: float) -> str:
    return f"gamma({shape:g}, {rate:g})"
