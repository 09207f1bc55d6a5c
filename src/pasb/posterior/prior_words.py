"""The prior that was used, in the user's units."""

from __future__ import annotations

from typing import Any

import numpy as np

from pasb.binary.linear import LinearModel
from pasb.covariates.named_priors import in_units, in_words
from pasb.posterior.fitted import Fitted


def priors_in_use(fitted: Fitted) -> list[dict[str, Any]]:
    """The prior of the intercept and of each covariate, as plain data; of linear models only."""
    model = fitted.binary
    if not isinstance(model, LinearModel):
        return []
    names = ["(intercept)", *fitted.feature_names]
    spreads = np.concatenate([[1.0], fitted.scaling.spread]).tolist()
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


def prior_column(fitted: Fitted) -> list[str]:
    """The same, a few letters each, such as ``normal(0, 0.5)``."""
    return [
        in_words({key: value for key, value in own.items() if key != "feature"})
        for own in priors_in_use(fitted)
    ]
