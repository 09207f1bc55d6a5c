"""The classifier that all others are made from: any binary regression on permuted sticks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pasb.binary import BinaryModel, Logistic
from pasb.covariates.checking import checked_order, checked_table, checked_weights
from pasb.covariates.monitored import choose_monitored_rows
from pasb.covariates.scaling import Scaling
from pasb.engines import EngineName, engine_of
from pasb.numerics.lazy_rows import LazyRows, Table
from pasb.numerics.rows import Rows
from pasb.posterior.mixin import PosteriorMixin
from pasb.precompile import announce
from pasb.sampling.draws import Draws
from pasb.sampling.fingerprint import run_fingerprint, seed_of
from pasb.sampling.problem import Problem, Schedule, Scheme
from pasb.sampling.progress import wanted
from pasb.sampling.run import sample
from pasb.sticks import Direction

_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

COMMON_PARAMETERS = """n_chains : int, default={n_chains}
        Chains (of each direction), each from random coefficients.
    n_warmup, n_draws, thin : int, default=1000, 1000, 1
        Sweeps of warm-up, draws kept of each chain, and sweeps from one draw to the next.
    order : "infer", "swap", sequence of class labels or dict, default="infer"
        Infer which class sits on which stick: "infer" starts from the evidences of the
        orders (all of them up to 8 classes, the best ones found by a search beyond) and moves
        order and coefficients together, "swap" is the
        plain swap chain from a random order. Or fix the classes, from the first stick to
        the last (the reference); where there are two directions, for both of them or by a
        dictionary with the keys "forward" and "reverse".
    scheme : {"exact", "paper"}, default="exact"
        "exact" samples the posterior of order and coefficients; "paper" is the printed
        algorithm, whose orders do not have the posterior law.
    sticks : {"marginal", "augmented"}, default="marginal"
        Leave rows out of the sticks behind their own, or impute their labels there as in
        the paper. The posterior is the same.
    n_swaps : "auto" or int, default="auto"
        Swaps of two classes proposed in a sweep: 1 under "paper", else 100 or more.
    scale : {"standard", "range", None}, default="standard"
        Scale covariates inside to mean 0 and variance 1, or to [-1, 1] as in the paper,
        or not at all. Coefficients are reported on the scale of `X`.
    random_state : int, RandomState or None, default=None
        The same int gives the same draws, whatever `n_jobs` is.
    n_jobs : int or None, default=None
        Threads: as many chains run at the same time, and threads beyond their number help
        within the sweeps. None or -1 means one on every core.
    progress : bool or "auto", default="auto"
        Show progress; "auto" does in a terminal.
    checkpoint : path or None, default=None
        Folder to save to while sampling. A run that finds its own checkpoint there
        resumes, with the draws it would have made without the stop; with a larger
        `n_draws` it goes on beyond its end.
    callbacks : list of callables or None, default=None
        Called with a `pasb.sampling.chain.SweepInfo` after each sweep; a true return value stops
        the run, keeping the draws made so far."""


PRECISION = """precision : "ard" or float, default="ard"
        Prior precision of the coefficients, on the inner scale: one number for all, or
        "ard" for a gamma prior on each.
    precision_shape : float, default=2.0
        Shape of the gamma prior under "ard"; 2 makes the prior of a coefficient a t
        distribution with 4 degrees of freedom.
    precision_rate : "auto" or float, default="auto"
        Rate of the gamma prior under "ard"; the scale of the t distribution is
        ``sqrt(precision_rate / precision_shape)``. "auto" chooses it by empirical Bayes."""


def with_parameters(cls):
    """Put the description of the common parameters into a docstring."""
    n_chains = signature(cls).parameters["n_chains"].default
    common = COMMON_PARAMETERS.replace("{n_chains}", str(n_chains))
    cls.__doc__ = cls.__doc__.replace("{precision}", PRECISION).replace("{parameters}", common)
    return cls


@with_parameters
class StickBreakingClassifier(PosteriorMixin, ClassifierMixin, BaseEstimator):
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
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    order_ : array of shape (n_classes,)
        The classes in their most probable order, first stick to last; with two directions a
        dictionary of such arrays.
    draws_ : Draws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood.
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

    _parameter_constraints: ClassVar[dict] = {
        "binary": [HasMethods(["sampler", "log_probabilities"]), None],
        "direction": [StrOptions({"forward", "reverse", "both"})],
        "n_chains": [_AT_LEAST_ONE],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [_AT_LEAST_ONE],
        "thin": [_AT_LEAST_ONE],
        "order": [StrOptions({"infer", "swap"}), "array-like", dict],
        "scheme": [StrOptions({"exact", "paper"})],
        "sticks": [StrOptions({"marginal", "augmented"})],
        "n_swaps": [StrOptions({"auto"}), _AT_LEAST_ONE],
        "scale": [StrOptions({"standard", "range"}), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "progress": ["boolean", StrOptions({"auto"})],
        "checkpoint": [str, os.PathLike, None],
        "callbacks": [list, tuple, None],
    }

    _warns = True  # of draws that cannot be trusted
    _engine: EngineName = "cpu"

    def __init__(
        self,
        *,
        binary: BinaryModel | None = None,
        direction: str = "forward",
        n_chains: int = 4,
        n_warmup: int = 1000,
        n_draws: int = 1000,
        thin: int = 1,
        order: str | Sequence | Mapping = "infer",
        scheme: Scheme = "exact",
        sticks: str = "marginal",
        n_swaps: str | int = "auto",
        scale: str | None = "standard",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | str = "auto",
        checkpoint: str | os.PathLike | None = None,
        callbacks: Iterable[Callable] | None = None,
    ):
        self.binary = binary
        self.direction = direction
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None):
        """Draw from the posterior.

        Ctrl-C ends the sampling early and returns the model with the draws made so far.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Class labels, numbers or strings.
        sample_weight : array of shape (n_rows,), optional
            The power to which each row's likelihood is raised; 2 counts a row twice.

        Returns
        -------
        self
        """
        self._take(self._sample(*self._prepare(X, y, sample_weight)))
        return self

    def _prepare(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[list[Problem], Schedule]:
        """Check and scale the data; the problem of every chain, and how long they run."""
        table, labels = checked_table(self, X, y=y, reset=True)
        check_classification_targets(labels)
        weights = checked_weights(sample_weight, table)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only ({self.classes_.tolist()[0]!r}); a classifier needs rows "
                "of at least two classes"
            )
        model = self._binary_model()
        if isinstance(model, type):
            raise TypeError(f"binary must be an object, not a class: write {model.__name__}()")
        model.check()
        if self.sticks == "augmented" and np.any(weights[weights > 0] != 1):
            raise ValueError("sample_weight must be 0 or 1 with sticks='augmented'")
        self._frame_library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        self._fixed_orders()  # complains before anything takes time
        categories = np.searchsorted(self.classes_, labels)
        inner = self._fit_columns(table, categories, weights)
        fixed = self._fixed_orders()
        used = weights > 0
        chosen = (inner, categories, weights)
        if not used.all():
            chosen = inner[used], categories[used], weights[used]
        rows = Rows.of(chosen[0], chosen[1], len(self.classes_), chosen[2])
        self._fit_prior(rows)
        problem = Problem(
            rows=rows,
            model=self._binary_model(),
            scheme=self.scheme,
            augmented=self.sticks == "augmented",
            n_swaps=self._number_of_swaps(),
            swaps_only=isinstance(self.order, str) and self.order == "swap",
        )
        self._monitored = choose_monitored_rows(inner, categories, used)
        del inner, chosen, table, labels, categories, weights, used  # the chains need none
        seed = seed_of(self.random_state, self._checkpoint())
        schedule = Schedule(int(self.n_warmup), int(self.n_draws), int(self.thin), seed)
        problems = [
            replace(problem, direction=direction, fixed_order=fixed[direction])
            for direction in self._directions
        ]
        return [problem for problem in problems for _ in range(self.n_chains)], schedule

    def _sample(self, chains: list[Problem], schedule: Schedule) -> Draws:
        callbacks, checkpoint = self._callbacks(), self._checkpoint()
        if wanted(self.progress):
            announce()
        fingerprint = None
        if checkpoint is not None:
            fingerprint = run_fingerprint(chains, schedule)
        return sample(
            chains,
            schedule,
            engine_of(self._engine, cores(self.n_jobs)),
            callbacks=callbacks,
            show_progress=wanted(self.progress),
            checkpoint=checkpoint,
            fingerprint=fingerprint,
        )

    def _take(self, draws: Draws) -> None:
        """What follows from the draws."""
        self.draws_ = draws
        if self._last_two_tie():
            draws.sort_last_two()
        self._after_sampling(warn=self._warns)

    def _callbacks(self) -> list[Callable]:
        """The functions to call after each sweep."""
        for callback in self.callbacks or ():
            if not callable(callback):
                raise TypeError(f"callbacks must hold functions; {callback!r} is none")
        return list(self.callbacks or ())

    def _checkpoint(self) -> str | os.PathLike | None:
        """The folder to save to."""
        return self.checkpoint

    def _fixed_orders(self) -> dict[Direction, NDArray[np.int64] | None]:
        """The order that the user fixed for each direction, if any."""
        order = self.order
        if isinstance(order, str):
            return dict.fromkeys(self._directions)
        if not isinstance(order, Mapping):
            return dict.fromkeys(self._directions, checked_order(order, self.classes_))
        if set(order) != set(self._directions):
            raise ValueError(
                "order as a dictionary must have one order for each direction, with the keys "
                f"{' and '.join(map(repr, self._directions))}; got {list(order)!r}"
            )
        return {name: checked_order(order[name], self.classes_) for name in self._directions}

    def _number_of_swaps(self) -> int:
        if self.n_swaps != "auto":
            return int(self.n_swaps)
        return 1 if self.scheme == "paper" else max(100, 2 * len(self.classes_) ** 2)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Posterior-mean class probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`. A row's result does not depend on the
            other rows.
        """
        inner = self._inner_rows(X)
        return self._predictor().mean(inner, cores(self.n_jobs))

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """The class with the largest posterior-mean probability."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def sample_proba(self, X: ArrayLike, n_draws: int | None = None) -> NDArray[np.float64]:
        """Class probabilities under each draw: their posterior.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        n_draws : int, optional
            Use this many draws, evenly spaced over all chains, instead of all.

        Returns
        -------
        array of shape (draws, n_rows, n_classes)
            Draws of the first chain, then of the second, and so on.
        """
        inner = self._inner_rows(X)
        return self._predictor(n_draws).samples(inner, cores(self.n_jobs))

    def _inner_rows(self, X: ArrayLike) -> LazyRows:
        check_is_fitted(self)
        return LazyRows(checked_table(self, X, reset=False), self._columns)

    def _fit_columns(
        self,
        table: NDArray[np.float64],
        categories: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> Table:
        """Learn what turns covariates into the binary model's columns, and turn these rows."""
        self._scaling = Scaling.of(table, weights, self.scale)
        return LazyRows(table, self._columns)

    def _fit_prior(self, rows: Rows) -> None:
        """Choose what the prior leaves open."""

    def _columns(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The binary model's columns, the constant first."""
        return self._scaling.with_constant(table)

    @property
    def _columns_are_features(self) -> bool:
        """Whether each column but the constant is one of the covariates, scaled."""
        return True

    @property
    def _n_scaled(self) -> int:
        """Columns that the scaling is for."""
        return self.n_features_in_

    @property
    def _n_columns(self) -> int:
        """Columns of the binary model, the constant included."""
        return len(self._scaling.centre) + 1

    def _learned(self) -> dict[str, NDArray]:
        """What `_fit_columns` learned, as arrays for a file."""
        return {"centre": self._scaling.centre, "spread": self._scaling.spread}

    def _relearn(self, arrays: dict[str, NDArray]) -> None:
        """Take over what a file holds of `_learned`; ValueError where it makes no sense."""
        self._scaling = Scaling(arrays["centre"], arrays["spread"])
        self._scaling.check()
        if len(self._scaling.centre) != self._n_scaled:
            raise ValueError("the scaling does not fit the covariates")


def cores(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    available = available or 1
    if n_jobs is None:
        return available
    if n_jobs == 0:
        raise ValueError("n_jobs=0 would run nothing: give 1 or more, or None for every core")
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)
