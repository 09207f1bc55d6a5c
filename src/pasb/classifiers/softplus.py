"""Multinomial softplus regression by stick breaking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from pasb.binary.softplus import Softplus, active_experts
from pasb.classifiers.automatic_rate import AutomaticRate
from pasb.classifiers.general import StickBreakingClassifier, with_parameters
from pasb.covariates.prior_scale import nonlinear_rate
from pasb.engines import EngineName
from pasb.engines.device import array_module, available
from pasb.numerics.rows import Rows
from pasb.posterior.frames import by_direction, native_frame
from pasb.posterior.mixin import tails_of
from pasb.posterior.predict import Predictor
from pasb.sampling.problem import Scheme

_POSITIVE = Interval(Real, 0, None, closed="neither")


@with_parameters
class SoftplusClassifier(AutomaticRate):
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
    {precision} A pair gives
        every layer's rate a gamma prior of its own, with this shape and rate; "auto" is
        ``(1, 1 / precision_rate_)``, the paper's choice is ``(1, 1)`` with
        ``precision_shape=1e-6``.
    prune : bool, default=False
        Turn an expert off when no row needed it in 100 sweeps in a row: faster, and no longer
        exact.
    engine : {"cpu", "cuda"}, default="cpu"
        Where chains run: in threads, or all as one batch on an NVIDIA GPU, which needs the
        extra ``pasb[cuda]``. From the same seed the draws agree until rounding parts the
        chains. Predictions use the GPU too where there is one.
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    order_ : dict of arrays of shape (n_classes,)
        The classes in their most probable order, first stick to last, for each direction; an
        array with one direction only.
    precision_rate_ : float
        The rate of the prior of the precisions that suits the table, the mean of the rates.
    draws_ : Draws
        The draws as plain arrays, on the inner scale of the covariates.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood; for each
        direction in ``diagnostics_.by_direction``.
    posterior_ : xarray.DataTree
        The draws with names, on the scale of `X`; ArviZ reads it as it is. The coordinate
        ``direction`` of the chains tells the two models apart.

    Notes
    -----
    `fit` takes no `sample_weight` other than 0 and 1. The posterior has many modes, because
    the experts of a class can divide the work in many ways; chains do not move between all
    of them. R-hat shows it, and averaging over several chains predicts better than one.

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

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in StickBreakingClassifier._parameter_constraints.items()
            if name != "binary"
        },
        "n_experts": [Interval(Integral, 1, None, closed="left")],
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "precision": [StrOptions({"ard"}), _POSITIVE],
        "precision_shape": [_POSITIVE],
        "precision_rate": [StrOptions({"auto"}), _POSITIVE, tuple, list],
        "prune": ["boolean"],
        "engine": [StrOptions({"cpu", "cuda"})],
    }

    def __init__(
        self,
        *,
        n_experts: int = 5,
        n_layers: int = 3,
        direction: str = "both",
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float | str | tuple[float, float] = "auto",
        prune: bool = False,
        engine: EngineName = "cpu",
        n_chains: int = 2,
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
        self.n_experts = n_experts
        self.n_layers = n_layers
        self.direction = direction
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.prune = prune
        self.engine = engine
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

    def _suitable_rate(self, rows: Rows, shape: float) -> float:
        return nonlinear_rate(rows, shape)

    def _rate(self) -> Any:
        # around the rate that suits the table, every layer of every expert finds its own
        rate = super()._rate()
        return (1.0, 1.0 / rate) if isinstance(self.precision_rate, str) else rate

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.engine == "cuda":
            if self.prune:
                raise ValueError("prune=True needs engine='cpu'")
            array_module()  # complains if there is no GPU
        try:
            Softplus(rate=self._rate()).check()
        except ValueError as error:  # of a pair; it calls the argument by its name in Softplus
            raise ValueError(f"precision_{error}") from None

    @property
    def _engine(self) -> EngineName:  # type: ignore[override]
        return self.engine

    def _predictor_type(self) -> type[Predictor]:
        # a model that was fitted on a GPU predicts without one as well
        if self.engine == "cuda" and available():
            from pasb.engines.device_predict import DevicePredictor

            return DevicePredictor
        return Predictor

    def _binary_model(self) -> Softplus:
        return Softplus(
            n_experts=self.n_experts,
            n_layers=self.n_layers,
            precision=self.precision,
            shape=self.precision_shape,
            rate=self._rate(),
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
        check_is_fitted(self)
        tails = tails_of(interval)
        counts = active_experts(self.draws_.parameters)
        parts = []
        for direction in self._directions:
            chains = self.draws_.of_direction(direction)
            last = self.draws_.order[chains, :, -1]
            rows = []
            for category in range(len(self.classes_)):
                used = counts[chains, :, category][last != category]
                quantiles = np.quantile(used, tails) if used.size else (np.nan, np.nan)
                mean = used.mean() if used.size else np.nan
                share = np.mean(last == category)
                rows.append((share, mean, *quantiles, mean * self._binary_model().n_layers))
            names = ("reference", "experts", "lower", "upper", "hyperplanes")
            columns = dict(zip(names, np.array(rows).T, strict=True))
            parts.append({"class": self.classes_, **columns})
        return native_frame(by_direction(parts, self._directions), self._frame_library)
