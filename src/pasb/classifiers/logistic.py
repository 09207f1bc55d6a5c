"""Multinomial logistic regression by stick breaking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from pasb.binary import BinaryModel, Logistic
from pasb.classifiers.automatic_rate import AutomaticRate
from pasb.classifiers.general import StickBreakingClassifier, with_parameters
from pasb.sampling.problem import Scheme
from pasb.sticks import Direction


@with_parameters
class StickLogisticClassifier(AutomaticRate):
    """Bayesian multinomial logistic regression by stick breaking.

    Every stick is a logistic regression with normal coefficients. Unlike softmax
    regression it has no arbitrary reference category: the order of the classes is
    inferred, and the ratio of two probabilities may depend on the other classes.

    Parameters
    ----------
    {precision}
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    order_ : array of shape (n_classes,)
        The classes in their most probable order, first stick to last.
    precision_rate_ : float
        The rate of the prior of the precisions that was used.
    draws_ : Draws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood.
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

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in StickBreakingClassifier._parameter_constraints.items()
            if name not in ("binary", "direction")
        },
        "precision": [StrOptions({"ard"}), Interval(Real, 0, None, closed="neither")],
        "precision_shape": [Interval(Real, 0, None, closed="neither")],
        "precision_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    # a stick's logistic regression is its own mirror image: reverse adds nothing
    direction: Direction = "forward"

    def __init__(
        self,
        *,
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float | str = "auto",
        n_chains: int = 4,
        n_warmup: int = 1000,
        n_draws: int = 1000,
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
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
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
        model = Logistic(precision=self.precision, shape=self.precision_shape, rate=self._rate())
        # the printed algorithm is plain Gibbs sampling
        return model.set_params(moves="gibbs") if self.scheme == "paper" else model
