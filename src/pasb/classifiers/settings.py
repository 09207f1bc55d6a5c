"""The settings that classifiers share: default, constraint and description in one place.

scikit-learn reads the signature and docstring of every class, so each class writes both out;
``tests/classifiers/test_settings.py`` holds them together with what is here. This is also the
only module that imports from private modules of scikit-learn. `pyproject.toml` bounds its version.
"""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_method_params as method_params

__all__ = [
    "AT_LEAST_ONE",
    "A_FEW",
    "MOST_SWEEPS",
    "NAMED_PRIORS",
    "OTHER_DEFAULTS",
    "PARTED",
    "POSITIVE",
    "PRIOR",
    "RUN",
    "WEIGHTS",
    "HasMethods",
    "Interval",
    "Setting",
    "StrOptions",
    "constraints",
    "fit_context",
    "method_params",
    "rows_of",
]

MOST_CHAINS, MOST_SWEEPS = 10_000, 10**9  # beyond, a number is a slip of the finger
MOST_SWAPS = 100  # for each class
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
A_FEW = Interval(Integral, 1, 1000, closed="both")  # experts, layers, levels
SWEEPS = Interval(Integral, 1, MOST_SWEEPS, closed="both")
POSITIVE = Interval(Real, 0, None, closed="neither")


class Setting(NamedTuple):
    """A parameter of several classifiers."""

    default: Any
    constraint: list | str
    kind: str  # as in the docstring, before the default
    description: str

    def entry(self, name: str, default: Any) -> str:
        """Its lines in a docstring."""
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        lines = "\n".join(f"    {line}" for line in self.description.splitlines())
        return f"{name} : {self.kind}, default={shown}\n{lines}"


RUN = {
    "n_chains": Setting(
        4,
        [Interval(Integral, 1, MOST_CHAINS, closed="both")],
        "int",
        "Chains, each started from random coefficients (with two directions, this many of each).",
    ),
    "n_warmup": Setting(
        "auto",
        [StrOptions({"auto"}), Interval(Integral, 0, MOST_SWEEPS, closed="both")],
        '"auto" or int',
        """\
Sweeps of warm-up, which are not kept. "auto" is what the model's moves need: 1000, or 500
for support vector machines, or 100 for softplus models with trajectories.""",
    ),
    "n_draws": Setting(
        "auto",
        [StrOptions({"auto"}), SWEEPS],
        '"auto" or int',
        """\
Draws kept of each chain. "auto" is 1000, or 500 for support vector machines, or 100 for
softplus models with trajectories. Logistic and robit chains with "auto" continue while
R-hat is above 1.02 or the effective sample size below 400, up to 16 times as long, and keep
as many draws, `draws_.thin` sweeps apart; softplus ones at 1.05 and 100, up to 32 times.""",
    ),
    "thin": Setting(1, [SWEEPS], "int", "Sweeps from one draw to the next."),
    "until": Setting(
        None,
        "no_validation",  # `pasb.posterior.limits.Limits` says what to write
        "dict or None",
        """\
Stop as soon as the draws are good enough, as in ``{"rhat": 1.01, "ess": 400}``: all that
`diagnostics_` looks at has an R-hat of at most the first and an effective sample size of
at least the second. One key is enough. `n_draws` is then the most that are drawn; how
many it takes depends on the seed, not on `n_jobs` or the machine.""",
    ),
    "max_seconds": Setting(
        None,
        [POSITIVE, None],
        "float or None",
        """\
Stop once `fit` has taken so many seconds, and keep the draws made so far; an error if
there are fewer than 10 of each chain by then. A run that is resumed gets them again.""",
    ),
    "order": Setting(
        "infer",
        [StrOptions({"infer", "swap"}), "array-like", dict],
        '"infer", "swap", sequence of class labels or dict',
        """\
Which class sits on which stick. "infer" starts from the evidences of the orders (of all
of them up to 8 classes, of the best ones found by a search beyond) and moves order and
coefficients together; "swap" is the plain swap chain from a random order. A sequence
fixes the order, from the first stick to the last class (the reference); a dictionary such
as `orders_` of a fitted model fixes it by direction.""",
    ),
    "scheme": Setting(
        "exact",
        [StrOptions({"exact", "paper"})],
        '{"exact", "paper"}',
        """\
"exact" samples the posterior of order and coefficients. "paper" is the printed
algorithm, whose orders do not follow their posterior distribution.""",
    ),
    "sticks": Setting(
        "marginal",
        [StrOptions({"marginal", "augmented"})],
        '{"marginal", "augmented"}',
        """\
Leave rows out of the sticks behind their own, or impute their labels there as in the
paper. The posterior is the same.""",
    ),
    "n_swaps": Setting(
        "auto",
        [StrOptions({"auto"}), SWEEPS],
        '"auto" or int',
        'Swaps of two classes proposed in a sweep; "auto" is 1 under "paper", else 100 or more.',
    ),
    "scale": Setting(
        "standard",
        [StrOptions({"standard", "range"}), None],
        '{"standard", "range", None}',
        """\
How covariates are scaled inside the model: to mean 0 and variance 1, to [-1, 1] as in
the paper, or not at all. Coefficients are reported on the scale of `X`.""",
    ),
    "random_state": Setting(
        None,
        ["random_state", np.random.Generator],
        "int, RandomState, Generator or None",
        """\
Steers everything that is random. The same int gives the same draws, whatever `n_jobs`
is; a RandomState or Generator is advanced by every fit.""",
    ),
    "n_jobs": Setting(
        -1,
        [Integral, None],
        "int or None",
        """\
Threads: as many chains run at the same time, and threads beyond their number help
within the sweeps. -1 means one for every core; None means 1, unless a
`joblib.parallel_config` context says otherwise.""",
    ),
    "progress": Setting(
        "auto",
        ["boolean", StrOptions({"auto"})],
        'bool or "auto"',
        """\
Show progress: bars in a terminal, elsewhere lines on standard error. "auto" does so where a
fit takes long, True tells every phase (as ``verbose=1`` elsewhere), False none. The lines
are records of the logger "pasb" too.""",
    ),
    "checkpoint": Setting(
        None,
        [str, os.PathLike, None],
        "path or None",
        """\
Folder to save to while sampling. A run that finds its own checkpoint there resumes,
with the draws it would have made without the stop; with a larger `n_draws` it continues
beyond its end.""",
    ),
    "callbacks": Setting(
        None,
        [list, tuple, None],
        "list of callables or None",
        """\
Called with a `pasb.sampling.chain.SweepInfo` after each sweep; a true return value stops
the run, keeping the draws made so far.""",
    ),
}

PRIOR = {
    "precision": Setting(
        "ard",
        [StrOptions({"ard"}), POSITIVE],
        '"ard" or float',
        """\
Prior precision of the coefficients, on the inner scale: one number for all, or "ard" for
a gamma prior on each.""",
    ),
    "precision_shape": Setting(
        2.0,
        [POSITIVE],
        "float",
        """\
Shape of the gamma prior under "ard"; 2 makes the prior of a coefficient a t distribution
with 4 degrees of freedom.""",
    ),
    "precision_rate": Setting(
        "auto",
        [StrOptions({"auto"}), POSITIVE],
        '"auto" or float',
        """\
Rate of the gamma prior under "ard"; the scale of the t distribution is
``sqrt(precision_rate / precision_shape)``. "auto" chooses it by empirical Bayes.""",
    ),
}

# of classifiers with one coefficient a covariate and stick
NAMED_PRIORS = {
    "prior": Setting(
        None,
        "no_validation",  # `pasb.covariates.named_priors` says what to write
        "distribution, dict or None",
        """\
Priors of coefficients by the names of covariates, per unit of the covariate:
``{"mass": pasb.Normal(0, 0.5), "bill*": pasb.StudentT(3, 0, 1)}``, with "intercept" for the
linear predictor at the centre of the covariates. One `pasb.Normal`, `pasb.StudentT` or
`pasb.Horseshoe` is for all covariates. What is not named has the prior above.""",
    ),
}

# of classifiers whose rows may stay where they are
PARTED = {
    "engine": Setting(
        "cpu",
        "no_validation",  # `pasb.engines.row_blocks.RowBlocks.of` says what to write
        '{"cpu", "blocks", "dask"}, Client or RowBlocks',
        """\
Where the rows are. "cpu" holds them in memory, unless `X` is a path of Parquet files or a
collection of Dask, which is read block by block as with "blocks". "blocks" goes through
blocks of rows with the threads of this process, in memory or, where they do not fit, in
files; "dask" through blocks on the workers of the present Dask client, or pass the client
itself. Their chains have moves that take few passes over the rows. A `pasb.RowBlocks` says
more.""",
    ),
}

# of classifiers whose update takes row weights
WEIGHTS = {
    "class_weight": Setting(
        None,
        [dict, StrOptions({"balanced"}), None],
        'dict, "balanced" or None',
        """\
Weights of the classes, which multiply `sample_weight`; classes that a dictionary does
not name have weight 1. "balanced" gives all classes the same total weight.""",
    ),
}

# a sweep of kernel models is expensive
OTHER_DEFAULTS: dict[str, dict[str, Any]] = {"StickSVMClassifier": {"n_chains": 2}}


def constraints(*groups: dict[str, Setting], **own: list) -> dict[str, list | str]:
    """The constraints of groups of settings, and those of a class's own parameters."""
    shared = {name: setting.constraint for group in groups for name, setting in group.items()}
    return {**shared, **own}


def usual_swaps(n_classes: int) -> int:
    """How many swaps a sweep tries where nothing else is asked for."""
    return max(100, min(2 * n_classes**2, MOST_SWAPS * n_classes))
