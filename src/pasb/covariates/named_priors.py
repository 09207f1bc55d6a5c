"""Priors of coefficients by the names of covariates, in the user's units.

A coefficient says by how much the linear predictor of a stick (log-odds, for a logistic one)
changes with one unit of its covariate. Inside, covariates are scaled, and so are these priors. The
intercept is the linear predictor where all covariates are at their centre, as in brms: at their
means with ``scale="standard"``.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

from pasb.covariates.scaling import Scaling

INTERCEPT = ("intercept", "Intercept", "(intercept)")
Plain = tuple[Any, ...]  # as `pasb.binary.column_priors` takes a prior


def _check(name: str, value: Any, positive: bool) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not number or (positive and not value > 0):
        what = "a positive number" if positive else "a finite number"
        raise ValueError(f"prior: {name} must be {what}; got {value!r}")


@dataclass(frozen=True)
class Normal:
    """A normal prior of coefficients.

    Parameters
    ----------
    location : float, default=0.0
    scale : float, default=1.0
        Standard deviation; both per unit of the covariate.

    Examples
    --------
    >>> import pasb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> prior = {"petal*": pasb.Normal(0, 2), "intercept": pasb.Normal(0, 5)}
    >>> model = pasb.StickLogisticClassifier(prior=prior, random_state=1).fit(X, y)
    >>> table = model.summary()
    >>> table.loc[table.feature == "petal length (cm)", "prior"].iloc[0]
    'normal(0, 2)'
    """

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check("location", self.location, False)
        _check("scale", self.scale, True)

    def plain(self, spread: float) -> Plain:
        """On the inner scale, where a unit is `spread` of the user's units."""
        return "normal", float(self.location * spread), float(self.scale * spread)


@dataclass(frozen=True)
class StudentT:
    """A t prior of coefficients.

    Parameters
    ----------
    df : float, default=4.0
        Degrees of freedom.
    location : float, default=0.0
    scale : float, default=1.0
        Both per unit of the covariate.

    Examples
    --------
    >>> import pasb
    >>> pasb.StudentT(3, 0, 2.5)
    StudentT(df=3, location=0, scale=2.5)
    """

    df: float = 4.0
    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check("df", self.df, True)
        _check("location", self.location, False)
        _check("scale", self.scale, True)

    def plain(self, spread: float) -> Plain:
        """On the inner scale, where a unit is `spread` of the user's units."""
        return "t", float(self.df), float(self.location * spread), float(self.scale * spread)


@dataclass(frozen=True)
class Horseshoe:
    """A horseshoe prior: most of many coefficients are next to zero, a few are not.

    A coefficient of a scaled covariate is normal with the standard deviation lambda tau. Each has a
    lambda of its own, half-Cauchy; tau is half-Cauchy too, one for each stick (Carvalho, Polson and
    Scott 2010).

    Parameters
    ----------
    scale : float, default=1.0
        The scale of tau. Where about p0 of p columns matter, p0 / (p - p0) * 2 / sqrt(n_rows) is
        the choice of Piironen and Vehtari (2017) for logistic regression.

    Notes
    -----
    It refers to covariates as they are scaled inside, by default to a standard deviation of 1: only
    then can coefficients share a scale. Sampling is by Gibbs steps; the order moves by
    swaps from where its evidences under a Cauchy prior start it, which is slower
    than with other priors.

    Examples
    --------
    >>> import pasb
    >>> pasb.Horseshoe(0.1)
    Horseshoe(scale=0.1)
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        _check("scale", self.scale, True)

    def plain(self, spread: float) -> Plain:
        """On the inner scale, to which it refers anyway."""
        return "horseshoe", float(self.scale)


Prior = Normal | StudentT | Horseshoe
DISTRIBUTIONS = {"normal": Normal, "t": StudentT, "horseshoe": Horseshoe}


def named_priors(prior: Any, names: Sequence[str]) -> list[Prior | None]:
    """The prior of the intercept and of each covariate; None where the user named none.

    Parameters
    ----------
    prior : distribution or mapping
        A distribution is for all covariates but not for the intercept. The keys of a mapping are
        names, patterns with ``*`` and ``?``, tuples of them, or "intercept". A name goes before
        a pattern, and of two patterns that fit the later one counts.
    names : list of str
        Of the covariates.
    """
    if isinstance(prior, Prior):
        return [None, *([prior] * len(names))]
    if not isinstance(prior, Mapping):
        raise TypeError(
            "prior must be a pasb.Normal, pasb.StudentT or pasb.Horseshoe, or a dictionary of them "
            f"by names of covariates; got {prior!r}"
        )
    known = ["intercept", *names]
    patterns: dict[int, Prior] = {}
    exact: dict[int, Prior] = {}
    for key, value in prior.items():
        if not isinstance(value, Prior):
            raise TypeError(
                f"prior[{key!r}] must be a pasb.Normal, pasb.StudentT or pasb.Horseshoe; got "
                f"{value!r}"
            )
        for part in key if isinstance(key, tuple) else (key,):
            if part in names or part in INTERCEPT:
                exact[names.index(part) + 1 if part in names else 0] = value
                continue
            fitting = _fitting(part, names)
            if not fitting:
                raise ValueError(_unknown(part, known))
            patterns |= dict.fromkeys((v + 1 for v in fitting), value)
    if isinstance((patterns | exact).get(0), Horseshoe):
        raise ValueError("prior: an intercept is not shrunk; give it a pasb.Normal or StudentT")
    return [(patterns | exact).get(v) for v in range(len(known))]


def _fitting(pattern: Any, names: Sequence[str]) -> list[int]:
    """Covariates whose name fits a pattern of ``*`` and ``?``; brackets are letters."""
    if not isinstance(pattern, str) or not ("*" in pattern or "?" in pattern):
        return []
    regex = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    return [v for v, name in enumerate(names) if regex.fullmatch(name)]


def _unknown(key: Any, known: list[str]) -> str:
    text = str(key)
    near = difflib.get_close_matches(text, known, n=5, cutoff=0.5)
    near += [name for name in known if text.lower() in name.lower() and name not in near][:5]
    shown = ", ".join(map(repr, near or known[:12]))
    nameless = ""
    if known[1:] == [f"x{v}" for v in range(len(known) - 1)]:
        nameless = (
            ". The table of the fit had no names: pass a data frame; in a pipeline, "
            "set_output(transform='pandas') of the step before keeps them"
        )
    more = "" if near or len(known) <= 12 else f" and {len(known) - 12} more"
    return (
        f"prior: there is no covariate {key!r}; did you mean {shown}{more}?"
        if near
        else f"prior: there is no covariate {key!r}; there are {shown}{more}{nameless}"
    )


def plain_priors(
    own: Sequence[Prior | None], scaling: Scaling, other: Callable[[], Plain]
) -> list[Plain]:
    """Priors of the columns on the inner scale, the constant's first.

    `other` gives the prior of columns that have none of their own.
    """
    spreads = [1.0, *scaling.spread.tolist()]
    return [
        other() if prior is None else prior.plain(spread)
        for prior, spread in zip(own, spreads, strict=True)
    ]


def in_units(plain: Plain, spread: float) -> dict[str, Any]:
    """A prior of the inner scale in the user's units, as plain data."""
    name, *numbers = plain
    if name == "horseshoe":
        return {"prior": name, "scale": numbers[0]}
    *df, location, scale = numbers
    more = {"df": df[0]} if df else {}
    return {"prior": name, **more, "location": location / spread, "scale": scale / spread}


def in_words(plain: Mapping[str, Any]) -> str:
    """A prior in a few letters, such as ``t(4, 0, 2.5)``."""
    numbers = ", ".join(f"{value:.4g}" for key, value in plain.items() if key != "prior")
    return f"{plain['prior']}({numbers})"


def to_json(prior: Any) -> Any:
    """What a classifier takes as `prior`, as JSON."""
    if isinstance(prior, Mapping):
        pairs = [[list(k) if isinstance(k, tuple) else k, to_json(v)] for k, v in prior.items()]
        return {"by_name": pairs}
    if prior is None:
        return None
    name = next(name for name, kind in DISTRIBUTIONS.items() if type(prior) is kind)
    return {"distribution": name, **{key: float(value) for key, value in asdict(prior).items()}}


def from_json(stored: Any) -> Any:
    """The same back, from a file of unknown origin."""
    if stored is None:
        return None
    if "by_name" in stored:
        pairs = stored["by_name"]
        return {tuple(k) if isinstance(k, list) else k: from_json(v) for k, v in pairs}
    own = {key: value for key, value in stored.items() if key != "distribution"}
    return DISTRIBUTIONS[stored["distribution"]](**own)
