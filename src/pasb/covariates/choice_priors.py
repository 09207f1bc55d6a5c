"""Priors of the coefficients of choice sticks by the names of covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from pasb.covariates.named_priors import Horseshoe, Prior, named_priors


def choice_priors(
    prior: Any, chooser: Sequence[str], covariates: Mapping[str, bool], labels: NDArray
) -> list[Prior | None]:
    """The prior of the intercept and of each column of a table of choices; None without one.

    Parameters
    ----------
    prior : distribution or mapping
        As `pasb.covariates.named_priors.named_priors` takes it. A specific covariate goes by its
        name, for all alternatives, or for one of them as ``price[car]``, which goes before it.
    chooser : list of str
        Covariates of choosers.
    covariates : dict of bool
        Whether each covariate of alternatives is generic.
    labels : array
        The alternatives.
    """
    columns = {name: [f"{name}[{label!s}]" for label in labels] for name in covariates}
    names = list(chooser)
    for name, generic in covariates.items():
        names += [name] if generic else columns[name]
    shared = {own: name for name in columns if covariates[name] for own in columns[name]}
    if isinstance(prior, Mapping):
        whole, rest = {}, {}
        for key, value in prior.items():
            for part in key if isinstance(key, tuple) else (key,):
                if part in shared and part not in names:
                    raise ValueError(
                        f"prior: {part!r} has no coefficient of its own, since {shared[part]!r} is "
                        f"generic; name {shared[part]!r}, or leave it out of generic="
                    )
                if part in columns and not covariates[part]:
                    whole[tuple(columns[part])] = value
                else:
                    rest[part] = value
        prior = whole | rest
    found = named_priors(prior, names)
    if any(isinstance(own, Horseshoe) for own in found):
        raise ValueError(
            "prior: choice sticks have no horseshoe; give a pasb.Normal or a pasb.StudentT"
        )
    out, own = found[: 1 + len(chooser)], iter(found[1 + len(chooser) :])
    for generic in covariates.values():
        out += [next(own)] * len(labels) if generic else [next(own) for _ in labels]
    return out
