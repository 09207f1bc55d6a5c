"""Multinomial regression from any binary regression."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pasb.binary import BinaryModel, Logistic
from pasb.classifiers.settings import RUN, WEIGHTS, HasMethods, StrOptions, constraints
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.sampling.problem import Scheme


class StickBreakingClassifier(StickClassifier):
    """Bayesian multinomial regression from any binary regression.

    Classes are put on sticks in an order inferred from the data; a row walks along the
    sticks and takes the class of the first one where the binary model succeeds.

    Parameters
    ----------
    binary : BinaryModel or None, default=None
        The binary model of each stick; None means `Logistic()`.
    direction : {"forward", "reverse", "both"}, default="forward"
        Stop at a stick on success (paSB) or on failure (parSB). "both" runs `n_chains` chains
        of each and averages their probabilities, with equal weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply `sample_weight`; classes that a dictionary does
        not name have weight 1. "balanced" gives all classes the same total weight.
    n_chains : int, default=4
        Chains, each started from random coefficients (with two directions, this many of each).
    n_warmup : "auto" or int, default="auto"
        Sweeps of warm-up, which are not kept. "auto" is what the model's moves need: 1000, or 500
        for support vector machines, or 100 for softplus models with trajectories.
    n_draws : "auto" or int, default="auto"
        Draws kept of each chain. "auto" is 1000, or 500 for support vector machines, or 100 for
        softplus models with trajectories. Logistic and robit chains with "auto" continue while
        R-hat is above 1.02 or the effective sample size below 400, up to 16 times as long, and keep
        as many draws, `draws_.thin` sweeps apart; softplus ones at 1.05 and 100, up to 32 times.
    thin : int, default=1
        Sweeps from one draw to the next.
    until : dict or None, default=None
        Stop as soon as the draws are good enough, as in ``{"rhat": 1.01, "ess": 400}``: all that
        `diagnostics_` looks at has an R-hat of at most the first and an effective sample size of
        at least the second. One key is enough. `n_draws` is then the most that are drawn; how
        many it takes depends on the seed, not on `n_jobs` or the machine.
    max_seconds : float or None, default=None
        Stop once `fit` has taken so many seconds, and keep the draws made so far; an error if
        there are fewer than 10 of each chain by then. A run that is resumed gets them again.
    order : "infer", "swap", sequence of class labels or dict, default="infer"
        Which class sits on which stick. "infer" starts from the evidences of the orders (of all
        of them up to 8 classes, of the best ones found by a search beyond) and moves order and
        coefficients together; "swap" is the plain swap chain from a random order. A sequence
        fixes the order, from the first stick to the last class (the reference); a dictionary such
        as `orders_` of a fitted model fixes it by direction.
    scheme : {"exact", "paper"}, default="exact"
        "exact" samples the posterior of order and coefficients. "paper" is the printed
        algorithm, whose orders do not follow their posterior distribution.
    sticks : {"marginal", "augmented"}, default="marginal"
        Leave rows out of the sticks behind their own, or impute their labels there as in the
        paper. The posterior is the same.
    n_swaps : "auto" or int, default="auto"
        Swaps of two classes proposed in a sweep; "auto" is 1 under "paper", else 100 or more.
    scale : {"standard", "range", None}, default="standard"
        How covariates are scaled inside the model: to mean 0 and variance 1, to [-1, 1] as in
        the paper, or not at all. Coefficients are reported on the scale of `X`.
    random_state : int, RandomState, Generator or None, default=None
        Steers everything that is random. The same int gives the same draws, whatever `n_jobs`
        is; a RandomState or Generator is advanced by every fit.
    n_jobs : int or None, default=-1
        Threads: as many chains run at the same time, and threads beyond their number help
        within the sweeps. -1 means one for every core; None means 1, unless a
        `joblib.parallel_config` context says otherwise.
    progress : bool or "auto", default="auto"
        Show progress: bars in a terminal, elsewhere lines on standard error. "auto" does so where a
        fit takes long, True tells every phase (as ``verbose=1`` elsewhere), False none. The lines
        are records of the logger "pasb" too.
    checkpoint : path or None, default=None
        Folder to save to while sampling. A run that finds its own checkpoint there resumes,
        with the draws it would have made without the stop; with a larger `n_draws` it continues
        beyond its end.
    callbacks : list of callables or None, default=None
        Called with a `pasb.sampling.chain.SweepInfo` after each sweep; a true return value stops
        the run, keeping the draws made so far.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_counts_ : array of shape (n_classes,)
        Rows of each class that the model was fitted to.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only when `X` had column names that are all strings.
    order_ : array of shape (n_classes,)
        The classes in their most probable order, first stick to last; that of the forward
        sticks where there are two directions.
    orders_ : dict of arrays of shape (n_classes,)
        The most probable order of each direction.
    draws_ : Draws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood, and the standard
        error of averaged probabilities.
    posterior_ : xarray.DataTree
        The draws with names, on the scale of `X`; ArviZ reads it as it is.

    Examples
    --------
    >>> from pasb import Logistic, StickBreakingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickBreakingClassifier(
    ...     binary=Logistic(precision=0.1), n_warmup=200, n_draws=200, random_state=1
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = constraints(
        WEIGHTS,
        RUN,
        binary=[HasMethods(["sampler", "log_probabilities"]), None],
        direction=[StrOptions({"forward", "reverse", "both"})],
    )

    def __init__(
        self,
        *,
        binary: BinaryModel | None = None,
        direction: str = "forward",
        class_weight: Mapping | str | None = None,
        n_chains: int = 4,
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        thin: int = 1,
        until: Mapping[str, float] | None = None,
        max_seconds: float | None = None,
        order: str | Sequence | Mapping = "infer",
        scheme: Scheme = "exact",
        sticks: str = "marginal",
        n_swaps: str | int = "auto",
        scale: str | None = "standard",
        random_state: Any = None,
        n_jobs: int | None = -1,
        progress: bool | str = "auto",
        checkpoint: str | os.PathLike | None = None,
        callbacks: Iterable[Callable] | None = None,
    ):
        self.binary = binary
        self.direction = direction
        self.class_weight = class_weight
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.until = until
        self.max_seconds = max_seconds
        self.order = order
        self.scheme = scheme
        self.sticks = sticks
        self.n_swaps = n_swaps
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.callbacks = callbacks

    def _binary_model(self) -> BinaryModel:
        return Logistic() if self.binary is None else self.binary
