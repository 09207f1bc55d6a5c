"""Bayesian softmax regression by Polya-Gamma augmentation."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from threading import Event
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.classifiers.stick_classifier import cores
from pasb.covariates.checking import checked_table, checked_weights
from pasb.covariates.scaling import Scaling
from pasb.errors import ConvergenceWarning
from pasb.numerics.helpers import one_blas_thread
from pasb.numerics.rows import Rows
from pasb.posterior.diagnostics import Diagnostics
from pasb.posterior.fitted import WatchedRows
from pasb.posterior.limits import Limits
from pasb.sampling.fingerprint import seed_of
from reproduction.peers.multinomial_logit_chain import SoftmaxDraws, sample_chain
from reproduction.peers.multinomial_logit_kernels import softmax_probabilities

CELLS = 2**22  # probabilities in memory at a time while they are averaged

_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
_POSITIVE = Interval(Real, 0, None, closed="neither")


class BayesianMultinomialLogit(ClassifierMixin, BaseEstimator):
    """Bayesian multinomial logistic (softmax) regression.

    The last class is the reference and has zero coefficients, the others have normal ones.
    Given the coefficients of the other classes, those of one class are a logistic
    regression, and are drawn with Polya-Gamma latent variables [1]_ [2]_.

    Parameters
    ----------
    precision : "ard" or float, default="ard"
        Prior precision of the coefficients, on the inner scale: one number for all, or
        "ard" for a gamma prior on each.
    precision_shape, precision_rate : float, default=2.0, 8.0
        The gamma prior under "ard".
    n_chains : int, default=4
        Chains, each from random coefficients.
    n_warmup, n_draws, thin : int, default=1000, 1000, 1
        Sweeps of warm-up, draws kept of each chain, and sweeps from one draw to the next.
    scale : {"standard", "range", None}, default="standard"
        Scale covariates inside to mean 0 and variance 1, or to [-1, 1], or not at all.
    random_state : int, RandomState or None, default=None
        The same int gives the same draws, whatever `n_jobs` is.
    n_jobs : int or None, default=None
        Chains that run at the same time; None or -1 means one on every core.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    draws_ : SoftmaxDraws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood.

    References
    ----------
    .. [1] Polson, Scott and Windle (2013). Bayesian inference for logistic models using
       Polya-Gamma latent variables. Journal of the American Statistical Association 108.
    .. [2] Holmes and Held (2006). Bayesian auxiliary variable models for binary and
       multinomial regression. Bayesian Analysis 1.

    Examples
    --------
    >>> from reproduction.peers import BayesianMultinomialLogit
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianMultinomialLogit(precision=1.0, n_draws=2000, random_state=1).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    >>> model.sample_proba(X[:2]).shape
    (8000, 2, 3)
    """

    _parameter_constraints: ClassVar[dict] = {
        "precision": [StrOptions({"ard"}), _POSITIVE],
        "precision_shape": [_POSITIVE],
        "precision_rate": [_POSITIVE],
        "n_chains": [_AT_LEAST_ONE],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "n_draws": [_AT_LEAST_ONE],
        "thin": [_AT_LEAST_ONE],
        "scale": [StrOptions({"standard", "range"}), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float = 8.0,
        n_chains: int = 4,
        n_warmup: int = 1000,
        n_draws: int = 1000,
        thin: int = 1,
        scale: str | None = "standard",
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None):
        """Draw from the posterior.

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
        table, labels = checked_table(self, X, y=y, reset=True)
        check_classification_targets(labels)
        weights = checked_weights(sample_weight, table)
        self.classes_, categories = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only ({self.classes_.tolist()[0]!r}); a classifier needs rows "
                "of at least two classes"
            )
        self._scaling = Scaling.of(table, weights, self.scale)
        inner = self._scaling.with_constant(table)
        used = weights > 0
        rows = Rows.of(inner[used], categories[used], len(self.classes_), weights[used])
        prior = CoefficientPrior.of(self.precision, self.precision_shape, self.precision_rate)
        seed = seed_of(self.random_state, None)
        self.draws_ = self._sample(rows, prior, seed)
        monitored = WatchedRows.of(inner, categories, used).inner
        shape = self.draws_.coef.shape
        watched = self._probabilities(monitored).reshape(*shape[:2], len(monitored), -1)
        self.diagnostics_ = Diagnostics.of(watched, self.draws_.log_likelihood)
        self._warn_if_poor()
        return self

    def _sample(self, rows: Rows, prior: CoefficientPrior, seed: int) -> SoftmaxDraws:
        n_jobs = min(cores(self.n_jobs), int(self.n_chains))
        stopped = Event()

        def run(chain: int):
            return sample_chain(
                rows,
                prior,
                (int(self.n_warmup), int(self.n_draws), int(self.thin)),
                (seed, chain),
                stopped,
            )

        with one_blas_thread(), ThreadPoolExecutor(n_jobs, thread_name_prefix="pasb") as pool:
            try:
                chains = list(pool.map(run, range(int(self.n_chains))))
            except BaseException:
                stopped.set()  # so that the other threads come to an end
                raise
        coef, precision, log_likelihood, fallbacks = zip(*chains, strict=True)
        return SoftmaxDraws(
            np.array(coef), np.array(precision), np.array(log_likelihood), sum(fallbacks)
        )

    def _warn_if_poor(self) -> None:
        seen, limits = self.diagnostics_, Limits()
        if self.n_draws < 4:
            message = f"{self.n_draws} draws a chain are too few to judge: increase n_draws."
        elif seen.worst_rhat > limits.rhat or seen.worst_ess < limits.ess:
            message = (
                f"The draws are not good enough yet: R-hat is up to {seen.worst_rhat:.2f} (should "
                f"be below {limits.rhat}), the effective sample size down to {seen.worst_ess:.0f} "
                f"(should be above {limits.ess}). Increase n_warmup, then n_draws."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Posterior-mean class probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        inner = self._inner_rows(X)
        n_draws = self.draws_.log_likelihood.size
        size = max(1, CELLS // (n_draws * len(self.classes_)))
        parts = [
            self._probabilities(inner[k : k + size]).mean(axis=0)
            for k in range(0, len(inner), size)
        ]
        return np.concatenate(parts)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """The class with the largest posterior-mean probability."""
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def sample_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities under each draw: their posterior.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (draws, n_rows, n_classes)
            Draws of the first chain, then of the second, and so on.
        """
        return self._probabilities(self._inner_rows(X))

    def _inner_rows(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._scaling.with_constant(checked_table(self, X, reset=False))

    def _probabilities(self, inner: NDArray[np.float64]) -> NDArray[np.float64]:
        coef = self.draws_.coef
        flat = coef.reshape(-1, *coef.shape[2:])
        out = np.empty((len(flat), len(inner), flat.shape[1] + 1))
        softmax_probabilities(inner, flat, out)
        return out
