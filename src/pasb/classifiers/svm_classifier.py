"""Multinomial support vector machine by stick breaking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pasb.binary.binary_model import BinaryModel
from pasb.binary.support_vector import SupportVector
from pasb.classifiers.settings import (
    AT_LEAST_ONE,
    POSITIVE,
    RUN,
    WEIGHTS,
    Interval,
    StrOptions,
    constraints,
)
from pasb.classifiers.stick_classifier import StickClassifier
from pasb.classifiers.svm_width import chosen_width
from pasb.covariates.kernel_columns import check_kernel_room, choose_landmarks, kernel_columns
from pasb.covariates.kernel_width import Score
from pasb.covariates.scaling import Scaling
from pasb.engines import EngineName
from pasb.engines.device import array_module
from pasb.numerics.lazy_rows import Table
from pasb.sampling.problem import Scheme

_NUMBERS_AT_ONCE = 2**24  # of kernel columns in a prediction, 128 MB


class StickSVMClassifier(StickClassifier):
    """Bayesian multinomial support vector machine (MSVM) by stick breaking: nonlinear.

    Every stick is a Bayesian support vector machine, by default on a Gaussian radial basis
    function kernel with a spike-and-slab prior that chooses among its bases. It predicts
    probabilities.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        Columns exp(-width ||x - c||^2) with a landmark c on each training row, on the inner
        scale of the covariates; or the covariates themselves.
    width : "cv" or float, default="cv"
        What LIBSVM and scikit-learn call gamma: the larger, the narrower the kernel. "cv"
        chooses it from `cv_widths` by cross validation with short chains on at most 1500
        rows and 1000 landmarks: every third width first, then the neighbours of the best.
    n_bases : int or None, default=None
        Use this many landmarks, a random choice stratified by class, instead of all
        distinct training rows. A sweep takes time and memory in proportion.
    inclusion : float or None, default=0.5
        Prior probability that a basis is used by a class; None uses all of them and draws
        their coefficients at once, for few columns only.
    precision : "shared", "ard" or float, default="shared"
        Prior precision of the coefficients that are not zero: one for each class or one for
        each coefficient, with a gamma prior, or a number.
    precision_shape : float, default=0.5
        Shape of the gamma prior of the precisions.
    precision_rate : float, default=0.5
        Rate of the gamma prior of the precisions.
    cv_widths : sequence of float or None, default=None
        Widths to choose from; None means the paper's, 2^-10, 2^-9, ..., 2^10.
    cv_folds : int, default=3
        Folds of the cross validation.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply `sample_weight`; classes that a dictionary does
        not name have weight 1. "balanced" gives all classes the same total weight.
    engine : {"cpu", "cuda"}, default="cpu"
        Where chains run: in threads, or all as one batch on an NVIDIA GPU, which needs the extra
        ``pasb[cuda]``. From the same seed the draws agree until rounding separates the chains. The
        width is chosen by threads.
    n_chains : int, default=2
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
    width_ : float
        The width of the kernel; only with "rbf".
    cv_results_ : dict of arrays
        ``param_width``, ``mean_test_error``, ``mean_test_log_loss`` and ``rank_test_error`` of
        the widths that were tried; empty if the width was given.
    bases_ : array of int
        The rows of `X` that have a landmark; only with "rbf".
    support_ : array of int
        The rows of `X` (with "linear" the columns) that at least half of the draws use.
    order_ : array of shape (n_classes,)
        The classes in their most probable order, first stick to last.
    orders_ : dict of array
        The same order, with the direction of the sticks as its key.
    draws_ : Draws
        The draws as plain arrays; coefficients of bases that are out are zero.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood, and the standard
        error of averaged probabilities.
    posterior_ : xarray.DataTree
        The draws with names; ArviZ reads it as it is.

    Notes
    -----
    As in the paper, coefficients are drawn given the hinge loss, a pseudo-likelihood, while
    the order and the predictions use its normalised form. These are two models, so the
    probabilities are not those of one joint posterior and need not be calibrated.

    Folds, the chains of the cross validation and the choice of landmarks follow from
    `random_state`. With too few rows for the folds the width is one over the number of
    covariates.

    Examples
    --------
    >>> from pasb import StickSVMClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickSVMClassifier(width=0.25, n_warmup=50, n_draws=50, random_state=1).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = constraints(
        WEIGHTS,
        RUN,
        kernel=[StrOptions({"rbf", "linear"})],
        width=[StrOptions({"cv"}), POSITIVE],
        n_bases=[AT_LEAST_ONE, None],
        inclusion=[Interval(Real, 0, 1, closed="neither"), None],
        precision=[StrOptions({"ard", "shared"}), POSITIVE],
        precision_shape=[POSITIVE],
        precision_rate=[POSITIVE],
        cv_widths=["array-like", None],
        cv_folds=[Interval(Integral, 2, None, closed="left")],
        engine=[StrOptions({"cpu", "cuda"})],
    )

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        width: float | str = "cv",
        n_bases: int | None = None,
        inclusion: float | None = 0.5,
        precision: float | str = "shared",
        precision_shape: float = 0.5,
        precision_rate: float = 0.5,
        cv_widths: Sequence[float] | None = None,
        cv_folds: int = 3,
        class_weight: Mapping | str | None = None,
        engine: EngineName = "cpu",
        n_chains: int = 2,
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
        self.kernel = kernel
        self.width = width
        self.n_bases = n_bases
        self.inclusion = inclusion
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.cv_widths = cv_widths
        self.cv_folds = cv_folds
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

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.engine == "cuda" and self.scheme == "paper":
            raise ValueError("scheme='paper' needs engine='cpu'")

    @property
    def _engine(self) -> EngineName:  # type: ignore[override]
        return self.engine

    def _usual_lengths(self) -> tuple[int, int]:
        return 500, 500

    def _binary_model(self) -> BinaryModel:
        return SupportVector(
            precision=self.precision,
            shape=self.precision_shape,
            rate=self.precision_rate,
            inclusion=self.inclusion,
        )

    def _fit_columns(
        self,
        table: NDArray[np.float64],
        categories: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        if self.engine == "cuda":
            array_module()  # complains before anything takes time
        self._scaling = Scaling.of(table, weights, self.scale)
        self._scores: list[Score] = []
        if self.kernel == "rbf":
            self.width_, self._scores = chosen_width(self, table, categories, weights)
            used = np.flatnonzero(weights > 0)
            inner = self._scaling.with_constant(table[used])[:, 1:]
            chosen = choose_landmarks(inner, categories[used], self.n_bases, self._run_seed())
            self.bases_, self._landmarks = used[chosen], inner[chosen]
            check_kernel_room(len(table), len(chosen))
        return self._columns(table)

    def _columns(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = self._scaling.with_constant(table)
        if self.kernel == "linear":
            return scaled
        return kernel_columns(scaled[:, 1:], self._landmarks, self.width_)

    @property
    def _columns_are_features(self) -> bool:
        return self.kernel == "linear"

    @property
    def _n_columns(self) -> int:
        return super()._n_columns if self.kernel == "linear" else len(self._landmarks) + 1

    def _inner_rows(self, X: ArrayLike) -> Table:
        # all at once is faster, where memory allows
        rows = super()._inner_rows(X)
        return rows[:] if len(rows) * self._n_columns <= _NUMBERS_AT_ONCE else rows

    @property
    def cv_results_(self) -> dict[str, NDArray]:
        """Width, error rate, log loss and rank of the widths that were tried, as arrays."""
        check_is_fitted(self, "draws_")
        error, log_loss, width = np.array(self._scores).reshape(-1, 3).T
        ranking = np.lexsort((width, log_loss, error))
        return {
            "param_width": width,
            "mean_test_error": error,
            "mean_test_log_loss": log_loss,
            "rank_test_error": np.argsort(ranking) + 1,
        }

    def _in_use(self) -> NDArray[np.bool_]:
        """Which columns but the constant at least one class uses, (draws, columns).

        The reference, last in the order, has no coefficients of its own.
        """
        check_is_fitted(self, "draws_")
        coef, order = self.draws_.parameters["coef"], self.draws_.order
        out = np.zeros((*order.shape[:2], coef.shape[-1] - 1), dtype=np.bool_)
        for chain, draw in np.ndindex(order.shape[:2]):
            out[chain, draw] = (coef[chain, draw, order[chain, draw, :-1], 1:] != 0).any(axis=0)
        return out.reshape(-1, out.shape[-1])

    @property
    def support_(self) -> NDArray[np.int64]:
        """The bases that at least half of the draws use."""
        chosen = np.flatnonzero(self._in_use().mean(axis=0) >= 0.5)
        return chosen if self.kernel == "linear" else self.bases_[chosen]

    def n_hyperplanes(self) -> float:
        """How many hyperplanes, or support vectors of a kernel, a draw uses on average.

        A support vector counts once, however many classes use it.

        Returns
        -------
        float
        """
        if self.kernel == "linear":
            return super().n_hyperplanes()
        return float(self._in_use().sum(axis=1).mean())

    def _learned(self) -> dict[str, NDArray]:
        learned = super()._learned()
        if self.kernel == "rbf":
            learned["landmarks"] = self._landmarks
            learned["bases"] = self.bases_
            learned["width"] = np.array([self.width_])
            learned["scores"] = np.array(self._scores, dtype=np.float64).reshape(-1, 3)
        return learned

    def _relearn(self, arrays: dict[str, NDArray]) -> None:
        super()._relearn(arrays)
        self._scores = []
        if self.kernel == "linear":
            return
        landmarks, bases = arrays["landmarks"], arrays["bases"]
        width, scores = arrays["width"], arrays["scores"]
        for array, shape in ((landmarks, (len(bases), self.n_features_in_)), (width, (1,))):
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                raise ValueError("the kernel is incomplete")
        if bases.dtype != np.int64 or bases.ndim != 1 or len(bases) == 0 or not width[0] > 0:
            raise ValueError("the kernel is impossible")
        if scores.dtype != np.float64 or scores.ndim != 2 or scores.shape[1] != 3:
            raise ValueError("the cross validation is incomplete")
        self._landmarks, self.bases_, self.width_ = landmarks, bases, float(width[0])
        self._scores = [Score(*map(float, score)) for score in scores]
