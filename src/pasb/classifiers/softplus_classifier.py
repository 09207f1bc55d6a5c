"""Multinomial softplus regression by stick breaking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.binary.softplus import Softplus, active_experts
from pasb.classifiers.parted_softplus_fit import PartedSoftplusFit
from pasb.classifiers.run_length import Goal
from pasb.classifiers.settings import A_FEW, PARTED, PRIOR, RUN, StrOptions, constraints
from pasb.covariates.hyperplanes import Hyperplanes
from pasb.engines import EngineName
from pasb.engines.device import available
from pasb.numerics.rows import Rows
from pasb.posterior.frames import by_direction, native_frame
from pasb.posterior.limits import Limits
from pasb.posterior.predict import Predictor
from pasb.posterior.prior_words import softplus_priors
from pasb.posterior.tails import tails_of
from pasb.sampling.problem import Problem, Schedule, Scheme

# Rows times columns times sticks, with which a sweep's time grows: from there on a run becomes at
# most twice as long as usual, so that some thousand rows take a few minutes.
LARGE = 400_000
# Up to here chains mostly move between orders, a few times in a hundred sweeps: they need more of
# them, and take a minute at most.
SMALL = LARGE // 64


class SoftplusClassifier(PartedSoftplusFit):
    """Bayesian multinomial softplus regression (MSR) by stick breaking: nonlinear.

    Every stick is a softplus regression: K experts, each of which encloses a region by up
    to T hyperplanes, and a row succeeds in the union of the regions. Experts that the data
    do not need get weights near zero.

    Parameters
    ----------
    n_experts : int, default=5
        K, the experts of each class; a class uses as many of them as it needs.
    n_layers : int, default=3
        T, the layers of each expert.
    direction : {"both", "forward", "reverse"}, default="both"
        Stop at a stick on success (paSB) or on failure (parSB). They are different models;
        "both" runs `n_chains` chains of each and averages their probabilities.
    precision : "ard" or float, default="ard"
        Prior precision of the coefficients, on the inner scale: one number for all, or "ard" for
        a gamma prior on each.
    precision_shape : float, default=2.0
        Shape of the gamma prior under "ard"; 2 makes the prior of a coefficient a t distribution
        with 4 degrees of freedom.
    precision_rate : "auto", float or pair of float, default="auto"
        Rate of the gamma prior under "ard"; the scale of the t distribution is
        ``sqrt(precision_rate / precision_shape)``. A pair gives every layer's rate a gamma
        prior of its own, with this shape and rate; the paper's choice is ``(1, 1)`` with
        ``precision_shape=1e-6``. "auto" is such an exponential prior, and its mean is a
        parameter with a wide prior, shared by all sticks and sampled with the rest.
    moves : {"auto", "gibbs", "mixed"}, default="auto"
        "mixed" adds trajectories on the posterior with all latents integrated out. A sweep then
        takes five to ten times as long, and goes much further: a hundred of them reach
        likelihoods that thousands of Gibbs updates do not. Needs the exact scheme and all
        experts; "auto" is "mixed" where these are given, else "gibbs", which needs some thousand
        sweeps of warm-up and as many draws.
    prune : bool, default=False
        Turn an expert off when no row needed it in 100 sweeps in a row: faster, and no longer
        exact.
    engine : {"cpu", "cuda", "blocks", "dask"}, Client or RowBlocks, default="cpu"
        Where chains run, and where the rows are. "cpu" runs them in threads, "cuda" all as one
        batch on an NVIDIA GPU, which needs the extra ``pasb[cuda]``; from the same seed the draws
        agree until rounding separates the chains, and predictions use the GPU too where there is
        one. Both hold the rows in memory; with "cpu", a path of Parquet files and a collection of
        Dask are read block by block as with "blocks". "blocks" goes through blocks of rows with the
        threads of this process, in memory or, where they do not fit, in files; "dask" through
        blocks on the workers of the present Dask client, or pass the client itself. A
        `pasb.RowBlocks` says more. Chains of blocks move by trajectories alone.
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
        It also has the printed update of softplus regression, which takes smaller steps than ours,
        needs ``engine="cpu"``, and leaves `moves` out of account.
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
    precision_rate_ : float or pair of float
        The rate of the prior of the precisions as it was given; where it was sampled, the
        posterior median of its mean, whose draws are ``mean_rate`` in ``posterior_``.
    draws_ : Draws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood, and the standard
        error of averaged probabilities; for each direction in ``diagnostics_.by_direction``.
    posterior_ : xarray.DataTree
        The draws with names, on the scale of `X`; ArviZ reads it as it is. The coordinate
        ``direction`` of the chains tells the two models apart.

    Notes
    -----
    `fit` takes no `sample_weight` other than 0 and 1. The posterior has many modes, because
    the experts of a class can divide the work in many ways; chains do not move between all
    of them. R-hat shows it, and averaging over several chains predicts better than one.
    ``diagnostics_.usual_error`` tells how well the average is known.

    Examples
    --------
    >>> from pasb import SoftplusClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SoftplusClassifier(
    ...     n_experts=2, n_layers=2, n_chains=1, n_warmup=150, n_draws=150, random_state=1
    ... ).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    >>> list(model.active_experts().columns)
    ['direction', 'class', 'reference', 'experts', 'lower', 'upper', 'hyperplanes']
    """

    _parameter_constraints: ClassVar[dict] = constraints(
        PRIOR,
        RUN,
        PARTED,
        n_experts=[A_FEW],
        n_layers=[A_FEW],
        direction=[StrOptions({"forward", "reverse", "both"})],
        precision_rate=[*PRIOR["precision_rate"].constraint, tuple, list],
        moves=[StrOptions({"auto", "gibbs", "mixed"})],
        prune=["boolean"],
    )

    def __init__(
        self,
        *,
        n_experts: int = 5,
        n_layers: int = 3,
        direction: str = "both",
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float | str | tuple[float, float] = "auto",
        moves: str = "auto",
        prune: bool = False,
        engine: Any = "cpu",
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
        self.n_experts = n_experts
        self.n_layers = n_layers
        self.direction = direction
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.moves = moves
        self.prune = prune
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

    @property
    def precision_rate_(self) -> Any:
        """The rate of the prior of the precisions: as given, or the median of what was sampled."""
        sampled = self.fitted_.draws.parameters.get("mean_rate")
        return self.precision_rate if sampled is None else float(np.median(sampled))

    @property
    def priors_(self) -> list[dict[str, Any]]:
        """The prior of each kind of parameter, and the posterior of the mean rate, as plain data.

        That of a coefficient is per unit of the covariate as scaled inside.
        """
        return softplus_priors(self.fitted_)

    def _rate(self) -> Any:
        return "shared" if isinstance(self.precision_rate, str) else self.precision_rate

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.engine == "cuda" and self.prune:
            raise ValueError("prune=True needs engine='cpu'")
        if self.engine == "cuda" and self.scheme == "paper":
            raise ValueError(
                "scheme='paper' needs engine='cpu': engine='cuda' has no printed update"
            )
        if self.moves == "mixed" and self.prune:
            raise ValueError("moves='mixed' needs prune=False")
        try:
            Softplus(rate=self._rate()).check()
        except ValueError as error:  # of a pair; it calls the argument by its name in Softplus
            raise ValueError(f"precision_{error}") from None

    def _prepare(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        availability: Any = None,
    ) -> tuple[list[Problem], Schedule]:
        problems, schedule = super()._prepare(X, y, sample_weight, availability)
        seen = self._seen_by_chains()
        if seen is None:
            return problems, schedule
        tables = [(problems[0].rows.of_columns(own), own) for own in seen]
        by_chain = zip(problems, tables * len(self._directions), strict=True)
        own = [replace(problem, rows=rows, seen=seen) for problem, (rows, seen) in by_chain]
        return own, schedule

    _seen: list[NDArray[np.bool_]] | None = None  # set by a model that this one is a part of

    def _seen_by_chains(self) -> list[NDArray[np.bool_]] | None:
        """The columns that each chain of a direction sees; None where all see all."""
        return self._seen

    @property
    def _engine(self) -> EngineName:  # type: ignore[override]
        return self.engine

    def _predictor_type(self) -> type[Predictor]:
        # a model that was fitted on a GPU predicts without one as well
        if self.engine == "cuda" and available():
            from pasb.posterior.device_predict import DevicePredictor

            return DevicePredictor
        return Predictor

    def _moves(self) -> str:
        if self.scheme == "paper":
            return "gibbs"
        if self.moves == "auto":
            return "gibbs" if self.prune else "mixed"
        return self.moves

    def _usual_lengths(self) -> tuple[int, int]:
        return (100, 100) if self._moves() == "mixed" else super()._usual_lengths()

    def _usual_goal(self) -> Goal | None:
        if self._moves() != "mixed":
            return None
        lengths = (LARGE, 2), (LARGE // 8, 4), (SMALL, 8)
        longest = next((times for n_cells, times in lengths if self._n_cells > n_cells), 32)
        return Goal(Limits(rhat=1.05, ess=100), longest)

    def _fit_prior(self, rows: Rows) -> None:
        super()._fit_prior(rows)
        self._n_cells = rows.n_rows * rows.n_columns * (rows.n_categories - 1)

    def _binary_model(self) -> Softplus:
        return Softplus(
            n_experts=self.n_experts,
            n_layers=self.n_layers,
            precision=self.precision,
            shape=self.precision_shape,
            rate=self._rate(),
            moves=self._moves(),
            prune=self.prune,
        )

    def active_experts(self, interval: float = 0.9) -> Any:
        """How many experts and hyperplanes each class uses, as a data frame.

        An expert is active in a draw when at least one row needs it; T times the number of
        active experts is the number of active hyperplanes. Draws in which the class is the
        reference are left out.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the interval from ``lower`` to ``upper``.

        Returns
        -------
        pandas or polars DataFrame, as `X` was in `fit`
            Columns ``class``, ``reference`` (share of draws in which the class is the
            reference, which has no experts), ``experts`` (posterior mean), ``lower``,
            ``upper`` and ``hyperplanes``; NaN for a class that is always the reference. With
            ``direction`` before them where there are two.
        """
        fitted, tails = self.fitted_, tails_of(interval)
        draws, n_layers = fitted.draws, fitted.binary.n_layers
        counts = active_experts(draws.parameters)
        frames = []
        for direction in fitted.directions:
            chains = draws.of_direction(direction)
            last = draws.order[chains, :, -1]
            rows = []
            for category in range(len(self.classes_)):
                used = counts[chains, :, category][last != category]
                quantiles = np.quantile(used, tails) if used.size else (np.nan, np.nan)
                mean = used.mean() if used.size else np.nan
                share = np.mean(last == category)
                rows.append((share, mean, *quantiles, mean * n_layers))
            names = ("reference", "experts", "lower", "upper", "hyperplanes")
            columns = dict(zip(names, np.array(rows).T, strict=True))
            frames.append({"class": self.classes_, **columns})
        return native_frame(by_direction(frames, fitted.directions), fitted.frame_library)

    def _last_hyperplanes(self) -> Hyperplanes:
        """Those of the last draw of every chain."""
        draws = self.draws_
        coef, active = (draws.parameters[name][:, -1] for name in ("coef", "active"))
        numbers = [draws.directions[:c].count(name) for c, name in enumerate(draws.directions)]
        return Hyperplanes.of(
            self._scaling, draws.directions, draws.order[:, -1], coef, active, numbers
        )
