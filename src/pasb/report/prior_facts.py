"""The priors of a model, so that many covariates take few lines."""

from __future__ import annotations

from typing import Any

from pasb.posterior.fitted import Fitted
from pasb.posterior.prior_words import prior_column, softplus_priors

MOST_LINES = 12
MOST_NAMES = 8  # of covariates that share a prior
INSIDE = {
    "standard": "per standard deviation of a covariate",
    "range": "per half of a covariate's range",
}
PER_UNIT = "per unit of the covariate"


def prior_facts(model: Any) -> list[dict[str, Any]]:
    """Priors and what has them: names, and what they are per.

    Covariates that share a prior as scaled inside have one line, however different their units.
    """
    fitted: Fitted = model.fitted_
    inside = INSIDE.get(model.get_params(deep=False).get("scale"), "per unit as scaled inside")
    if softplus_priors(fitted):
        return [_of_softplus(one, inside) for one in softplus_priors(fitted)]
    per_unit, scaled = prior_column(fitted), prior_column(fitted, scaled=True)
    if not per_unit:
        return []
    found: dict[tuple[str, str], list[str]] = {}
    for k, name in enumerate(["the intercept", *fitted.feature_names]):
        if k == 0:
            key = (per_unit[k], "")
        elif scaled[1:].count(scaled[k]) > per_unit[1:].count(per_unit[k]):
            key = (scaled[k], inside)
        else:
            key = (per_unit[k], PER_UNIT)
        found.setdefault(key, []).append(name)
    return [
        {
            "of": names[:MOST_NAMES],
            "more": max(0, len(names) - MOST_NAMES),
            "prior": words,
            "per": per,
        }
        for (words, per), names in list(found.items())[:MOST_LINES]
    ]


def _of_softplus(one: dict[str, Any], inside: str) -> dict[str, Any]:
    words = one["prior"]
    if "posterior" in one:
        seen = one["posterior"]
        words += (
            f"; the data say {seen['median']:.3g} ({seen['lower']:.3g} to {seen['upper']:.3g}, "
            "90 % interval)"
        )
    per = inside if one["parameter"] == "coefficient" else ""
    return {"of": [f"each {one['parameter']}"], "more": 0, "prior": words, "per": per}


def prior_lines(facts: list[dict[str, Any]]) -> list[str]:
    """A line for each prior, such as ``18 covariates: t(4, 0, 4) per standard deviation``."""
    lines = []
    for one in facts:
        more = f" and {one['more']:,} more" if one["more"] else ""
        lines.append(f"{', '.join(one['of'])}{more}: {one['prior']} {one['per']}".rstrip())
    return lines
