"""Multinomial logistic regression by stick breaking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary import BinaryModel, Logistic
from pasb.binary.column_priors import ColumnPriors
from pasb.classifiers.parted_fit import PartedFit
from pasb.classifiers.run_length import Goal
from pasb.classifiers.settings import NAMED_PRIORS, PARTED, PRIOR, RUN, WEIGHTS, constraints
from pasb.covariates.named_priors import Plain, Prior, named_priors, plain_priors
from pasb.covariates.prior_scale import FIRST_RATE, prior_rate
from pasb.numerics.rows import Rows
from pasb.posterior.limits import Limits
from pasb.posterior.prior_words import priors_in_use
from pasb.sampling.problem import Scheme

GOAL = Goal(Limits(rhat=1.02, ess=400), longest=16)


class AutomaticRate(PartedFit):
    """A classifier with linear sticks, whose prior of the coefficients finds its own scale.

    It has the parameters `pasb.classifiers.settings.PRIOR`. The rate is the one that suits
    logistic regressions of each class against the others, adapted to the binary model.
    """

    precision: Any
    precision_shape: Any
    precision_rate: Any
    prior: Any = None
    _named: list[Prior | None] | None = None  # of the present fit, the constant's first

    @property
    def _chooses(self) -> bool:
        """Whether the rate is left to the data; fixed precisions have none."""
        return isinstance(self.precision_rate, str) and self.precision == "ard"

    def _name_priors(self) -> None:
        """Find the covariates that `prior` names; errors where there are none."""
        names = self._feature_names()
        self._named = None if self.prior is None else named_priors(self.prior, names)

    def _column_priors(self, rate: float | None = None) -> list[Plain] | None:
        """The priors of all columns on the inner scale, if some have one of their own."""
        if self.prior is None or self._named is None:
            return None
        rate = float(self._rate()) if rate is None else rate

        def other() -> Plain:
            if self.precision != "ard":
                return "normal", 0.0, float(self.precision) ** -0.5
            shape = float(self.precision_shape)
            return "t", 2 * shape, 0.0, (rate / shape) ** 0.5

        return plain_priors(self._named, self._scaling, other)

    @property
    def priors_(self) -> list[dict[str, Any]]:
        """The prior of the intercept and of each covariate's coefficients, as plain data.

        Per unit of the covariate, that of a horseshoe per unit as scaled inside; the
        intercept is the linear predictor at the centre of the covariates.
        """
        return priors_in_use(self.fitted_)

    def _rate(self) -> Any:
        """The rate that was given or, once it is there, the one that was chosen."""
        if isinstance(self.precision_rate, str):
            return getattr(self, "precision_rate_", FIRST_RATE) if self._chooses else FIRST_RATE
        return self.precision_rate

    def _usual_goal(self) -> Goal | None:
        plain = self.scheme == "paper" or (isinstance(self.order, str) and self.order == "swap")
        return None if plain else GOAL

    def _fit_prior(self, rows: Rows) -> None:
        self._name_priors()
        if self._chooses and self._named is not None and None not in self._named:
            self.precision_rate_ = FIRST_RATE  # of nothing
        elif self._chooses:
            rate = self._suitable_rate(rows, float(self.precision_shape))
            self.precision_rate_ = rate / self._steepness() ** 2
        else:
            self.precision_rate_ = self._rate()

    def _suitable_rate(self, rows: Rows, shape: float) -> float:
        """The rate that suits a table."""
        if self._named is None:
            return prior_rate(rows, shape)
        return prior_rate(
            rows, shape, lambda rate: ColumnPriors.of(self._column_priors(rate) or [])
        )

    def _steepness(self) -> float:
        """Slope of the binary model's probability at 1/2, over that of a logistic one."""
        return 1.0

    def _learned(self) -> dict[str, NDArray]:
        learned = super()._learned()
        if self._chooses:
            learned["precision_rate"] = np.array([self.precision_rate_])
        return learned

    def _relearn(self, arrays: dict[str, NDArray]) -> None:
        super()._relearn(arrays)
        if not self._chooses:
            self.precision_rate_ = self._rate()
        else:
            rate = arrays["precision_rate"]
            if rate.shape != (1,) or rate.dtype != np.float64 or not 0 < rate[0] < np.inf:
                raise ValueError("the rate of the prior is impossible")
            self.precision_rate_ = float(rate[0])
        self._name_priors()


class StickLogisticClassifier(AutomaticRate):
    """Bayesian multinomial logistic regression by stick breaking.

    Every stick is a logistic regression with normal coefficients. Unlike softmax
    regression it has no arbitrary reference category: the order of the classes is
    inferred, and the ratio of two probabilities may depend on the other classes.

    Parameters
    ----------
    precision : "ard" or float, default="ard"
        Prior precision of the coefficients, on the inner scale: one number for all, or "ard" for
        a gamma prior on each.
    precision_shape : float, default=2.0
        Shape of the gamma prior under "ard"; 2 makes the prior of a coefficient a t distribution
        with 4 degrees of freedom.
    precision_rate : "auto" or float, default="auto"
        Rate of the gamma prior under "ard"; the scale of the t distribution is
        ``sqrt(precision_rate / precision_shape)``. "auto" chooses it by empirical Bayes.
    prior : distribution, dict or None, default=None
        Priors of coefficients by the names of covariates, per unit of the covariate:
        ``{"mass": pasb.Normal(0, 0.5), "bill*": pasb.StudentT(3, 0, 1)}``, with "intercept" for the
        linear predictor at the centre of the covariates. One `pasb.Normal`, `pasb.StudentT` or
        `pasb.Horseshoe` is for all covariates. What is not named has the prior above.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply `sample_weight`; classes that a dictionary does
        not name have weight 1. "balanced" gives all classes the same total weight.
    engine : {"cpu", "blocks", "dask"}, Client or RowBlocks, default="cpu"
        Where the rows are. "cpu" holds them in memory, unless `X` is a path of Parquet files or a
        collection of Dask, which is read block by block as with "blocks". "blocks" goes through
        blocks of rows with the threads of this process, in memory or, where they do not fit, in
        files; "dask" through blocks on the workers of the present Dask client, or pass the client
        itself. Their chains have moves that take few passes over the rows. A `pasb.RowBlocks` says
        more.
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
        The classes in their most probable order, first stick to last.
    orders_ : dict of array
        The same order, with the direction of the sticks as its key.
    precision_rate_ : float
        The rate of the prior of the precisions that was used.
    draws_ : Draws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood, and the standard
        error of averaged probabilities.
    posterior_ : xarray.DataTree
        The draws with names, on the scale of `X`; ArviZ reads it as it is.

    Examples
    --------
    >>> from pasb import StickLogisticClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    >>> model.sample_proba(X[:2]).shape
    (800, 2, 3)
    """

    _parameter_constraints: ClassVar[dict] = constraints(PRIOR, NAMED_PRIORS, WEIGHTS, PARTED, RUN)

    def __init__(
        self,
        *,
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float | str = "auto",
        prior: Any = None,
        class_weight: Mapping | str | None = None,
        engine: Any = "cpu",
        n_chains: int = 4,
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        thin: int = 1,
        until: Mapping[str, float] | None = None,
        max_seconds: float | None = None,
        order: str | Sequence = "infer",
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
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.prior = prior
        self.class_weight = class_weight
        self.engine = engine
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
        model = Logistic(precision=self.precision, shape=self.precision_shape, rate=self._rate())
        model.set_params(priors=self._column_priors())
        # the printed algorithm is plain Gibbs sampling
        return model.set_params(moves="gibbs") if self.scheme == "paper" else model
