"""Multinomial support vector machine by stick breaking."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pasb.binary.base import BinaryModel
from pasb.binary.support_vector import SupportVector
from pasb.classifiers.general import StickBreakingClassifier, cores, with_parameters
from pasb.covariates.checking import checked_table
from pasb.covariates.kernel_columns import choose_landmarks, kernel_columns
from pasb.covariates.kernel_width import GRID, MOST_BASES, SWEEPS, Score, cross_validate
from pasb.covariates.scaling import Scaling
from pasb.numerics.rows import BLOCK
from pasb.numerics.threads import one_blas_thread
from pasb.posterior.frames import native_frame
from pasb.sampling.problem import Scheme

_POSITIVE = Interval(Real, 0, None, closed="neither")
_NUMBERS_AT_ONCE = 2**24  # of kernel columns in prediction, 128 MB


@with_parameters
class StickSVMClassifier(StickBreakingClassifier):
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
    precision_shape, precision_rate : float, default=0.5, 0.5
        The gamma prior of the precisions.
    cv_widths : sequence of float or None, default=None
        Widths to choose from; None means the paper's, 2^-10, 2^-9, ..., 2^10.
    cv_folds : int, default=3
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    width_ : float
        The width of the kernel; only with "rbf".
    cv_results_ : data frame
        Width, error rate and log loss of the widths that were tried; none if it was given.
    bases_ : array of int
        The rows of `X` that have a landmark; only with "rbf".
    support_ : array of int
        The rows of `X` (with "linear" the columns) that at least half of the draws use.
    n_support_vectors_ : float
        Bases in use by at least one class, averaged over the draws.
    order_ : array of shape (n_classes,)
        The classes in their most probable order, first stick to last.
    draws_ : Draws
        The draws as plain arrays; coefficients of bases that are out are zero.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood.
    posterior_ : xarray.DataTree
        The draws with names; ArviZ reads it as it is.

    Notes
    -----
    As in the paper, coefficients are drawn given the hinge loss, a pseudo-likelihood, while
    the order and the predictions use its normalised form. These are two models, so the
    probabilities are not those of one joint posterior and need not be calibrated.

    Cross validation and the choice of landmarks follow from `random_state` if it is an int,
    else from a fixed seed. With too few rows for the folds the width is one over the number of
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

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in StickBreakingClassifier._parameter_constraints.items()
            if name not in ("binary", "direction")
        },
        "kernel": [StrOptions({"rbf", "linear"})],
        "width": [StrOptions({"cv"}), _POSITIVE],
        "n_bases": [Interval(Integral, 1, None, closed="left"), None],
        "inclusion": [Interval(Real, 0, 1, closed="neither"), None],
        "precision": [StrOptions({"ard", "shared"}), _POSITIVE],
        "precision_shape": [_POSITIVE],
        "precision_rate": [_POSITIVE],
        "cv_widths": ["array-like", None],
        "cv_folds": [Interval(Integral, 2, None, closed="left")],
    }

    # a stick's machine is its own mirror image: reverse adds nothing
    direction: str = "forward"

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
        n_chains: int = 2,
        n_warmup: int = 500,
        n_draws: int = 500,
        thin: int = 1,
        order: str | Sequence = "infer",
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
        self.kernel = kernel
        self.width = width
        self.n_bases = n_bases
        self.inclusion = inclusion
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.cv_widths = cv_widths
        self.cv_folds = cv_folds
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
        self._scaling = Scaling.of(table, weights, self.scale)
        self._scores: list[Score] = []
        if self.kernel == "rbf":
            self.width_ = self._chosen_width(table, categories, weights)
            used = np.flatnonzero(weights > 0)
            inner = self._scaling.with_constant(table[used])[:, 1:]
            chosen = choose_landmarks(inner, categories[used], self.n_bases, self._seed)
            self.bases_, self._landmarks = used[chosen], inner[chosen]
        return self._columns(table)

    @property
    def _seed(self) -> int:
        given = self.random_state
        return int(given) if isinstance(given, Integral) else 0

    def _chosen_width(self, table, categories, weights) -> float:
        if self.width != "cv":
            return float(self.width)
        widths = GRID if self.cv_widths is None else [float(width) for width in self.cv_widths]
        if not widths or not all(0 < width < np.inf for width in widths):
            raise ValueError(f"cv_widths must hold positive numbers, not {self.cv_widths!r}")
        bases = MOST_BASES if self.n_bases is None else min(self.n_bases, MOST_BASES)
        settings = {
            **self.get_params(deep=False),
            **{"n_bases": bases, "n_chains": 1, "n_warmup": SWEEPS, "n_draws": SWEEPS, "thin": 1},
            **{"order": "infer", "n_jobs": 1, "random_state": self._seed, "progress": False},
            **{"checkpoint": None, "callbacks": None},
        }

        def fit(width, train, test):
            model = type(self)(**{**settings, "width": width})
            model.fit(table[train], categories[train], weights[train])
            out = np.zeros((len(test), len(self.classes_)))
            out[:, model.classes_] = model.predict_proba(table[test])
            return out

        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of chains that are short on purpose
            self._scores = cross_validate(
                fit, categories, weights, widths, self.cv_folds, self._seed, cores(self.n_jobs)
            )
        return min(self._scores).width if self._scores else 1 / table.shape[1]

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

    def _parts(self, X: ArrayLike) -> Iterable[NDArray[np.float64]]:
        """Columns of some rows after others: those of all may be too many to hold."""
        check_is_fitted(self)
        table = checked_table(self, X, reset=False)
        step = max(1, _NUMBERS_AT_ONCE // self._n_columns // BLOCK) * BLOCK
        for start in range(0, len(table), step):
            yield self._columns(table[start : start + step])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:  # noqa: D102
        check_is_fitted(self)
        predictor, n_jobs = self._predictor(), cores(self.n_jobs)
        return np.concatenate([predictor.mean(part, n_jobs) for part in self._parts(X)])

    def sample_proba(self, X: ArrayLike, n_draws: int | None = None) -> NDArray[np.float64]:  # noqa: D102
        check_is_fitted(self)
        predictor, n_jobs = self._predictor(n_draws), cores(self.n_jobs)
        parts = [predictor.samples(part, n_jobs) for part in self._parts(X)]
        return np.concatenate(parts, axis=1)

    predict_proba.__doc__ = StickBreakingClassifier.predict_proba.__doc__
    sample_proba.__doc__ = StickBreakingClassifier.sample_proba.__doc__

    @property
    def cv_results_(self):
        """Width, error rate and log loss of the widths that were tried."""
        check_is_fitted(self)
        error, log_loss, width = np.array(self._scores).reshape(-1, 3).T
        columns = {"width": width, "error": error, "log_loss": log_loss}
        return native_frame(columns, self._frame_library)

    def _in_use(self) -> NDArray[np.bool_]:
        """Which columns but the constant at least one class uses, (draws, columns).

        The reference, last in the order, has no coefficients of its own.
        """
        check_is_fitted(self)
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

    @property
    def n_support_vectors_(self) -> float:
        """Bases in use by at least one class, averaged over the draws."""
        return float(self._in_use().sum(axis=1).mean())

    def n_hyperplanes(self) -> float:
        """How many hyperplanes, or support vectors of a kernel, a draw uses on average.

        Returns
        -------
        float
        """
        return super().n_hyperplanes() if self.kernel == "linear" else self.n_support_vectors_

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


# a sweep of a kernel machine is dear, and the paper's runs are this long
StickSVMClassifier.__doc__ = str(StickSVMClassifier.__doc__).replace(
    "default=1000, 1000, 1", "default=500, 500, 1"
)
