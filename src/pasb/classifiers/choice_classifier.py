"""Choices among alternatives that have covariates of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.binary.choice_logistic import ChoiceLogistic
from pasb.binary.panel_logistic import PanelLogistic
from pasb.classifiers.choice_coefficients import ChoiceCoefficients
from pasb.classifiers.logistic_classifier import AutomaticRate
from pasb.classifiers.of_choices import OfChoices
from pasb.classifiers.panels import Panels
from pasb.classifiers.refitting import undone_by_errors
from pasb.classifiers.settings import NAMED_PRIORS, POSITIVE, PRIOR, RUN, constraints
from pasb.covariates.choice_data import ChoiceData
from pasb.covariates.scaling import Scaling
from pasb.numerics.lazy_rows import LazyRows, Table

CHOICE_RUN = {name: setting for name, setting in RUN.items() if name not in ("scheme", "sticks")}


class StickChoiceClassifier(OfChoices, Panels, ChoiceCoefficients, AutomaticRate):
    """Logistic stick breaking for choices among alternatives with covariates of their own.

    A chooser walks along the alternatives, in an order that is inferred, and takes each with a
    probability that depends on covariates of the chooser and on those of that alternative alone;
    alternatives that are not available are passed by, and the last one takes the rest. So a
    positive coefficient of ``comfort`` makes an alternative more likely once it is looked at.
    Which alternatives come first is part of the model: there is no independence of irrelevant
    alternatives.

    Parameters
    ----------
    generic : "all", "none" or sequence of str, default="all"
        Covariates of alternatives with one coefficient for all alternatives, so that a price has
        one meaning. The others have a coefficient for each.
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
        ``{"price": pasb.Normal(-0.1, 0.05), "age": pasb.StudentT(3, 0, 1)}``. The name of a
        specific covariate is for all alternatives, ``"price[car]"`` for one of them; "intercept" is
        the linear predictor at the centre of the covariates. One `pasb.Normal` or `pasb.StudentT`
        is for all covariates. What is not named has the prior above.
    person_scale : float, default=2.0
        Where the choices have persons: scale of the half-t prior, with 4 degrees of freedom, of
        the standard deviation between persons, which every alternative has for itself.
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
    classes_ : array of shape (n_alternatives,)
    covariates_ : list of str
        Covariates of alternatives.
    chooser_ : list of str
        Covariates of choosers.
    persons_ : array of str, or None
        The persons of the fit, sorted.
    order_, orders_, draws_, diagnostics_, posterior_, precision_rate_, priors_
        As in `StickLogisticClassifier`. Columns are those of `ChoiceData.table`.

    Notes
    -----
    `fit` takes a `ChoiceData`, as do all predictions, `score`, `loo`, `posterior_with`, `report`
    and `pasb.effects`, which then heed its availability. `pasb.choice` has shares, elasticities,
    diversion and willingness to pay.

    A covariate of alternatives has one scale for all of them.

    Where the choices have persons (``person=`` of `ChoiceData.from_wide`), each has a normal
    intercept for every alternative. The order must then be fixed. Predictions for other persons
    draw theirs.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from pasb.choice import ChoiceData, StickChoiceClassifier
    >>> rng = np.random.default_rng(1)
    >>> price = rng.uniform(1, 5, (300, 3))
    >>> mode = np.array(["bus", "car", "train"])[np.argmin(price + rng.gumbel(size=(300, 3)), 1)]
    >>> frame = pd.DataFrame(price, columns=["price_bus", "price_car", "price_train"])
    >>> data = ChoiceData.from_wide(
    ...     frame.assign(mode=mode), choice="mode", alternatives=["bus", "car", "train"],
    ...     covariates=["price"])
    >>> model = StickChoiceClassifier(n_warmup=200, n_draws=200, random_state=1).fit(data)
    >>> bool(model.generic_coefficients()["upper"][0] < 0)
    True
    """

    _parameter_constraints: ClassVar[dict] = constraints(
        PRIOR, NAMED_PRIORS, CHOICE_RUN, generic=[str, list, tuple], person_scale=[POSITIVE]
    )

    scheme = "exact"
    sticks = "marginal"

    def __init__(
        self,
        *,
        generic: str | Sequence[str] = "all",
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float | str = "auto",
        prior: Any = None,
        person_scale: float = 2.0,
        n_chains: int = 4,
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        thin: int = 1,
        until: Mapping[str, float] | None = None,
        max_seconds: float | None = None,
        order: str | Sequence = "infer",
        n_swaps: str | int = "auto",
        scale: str | None = "standard",
        random_state: Any = None,
        n_jobs: int | None = -1,
        progress: bool | str = "auto",
        checkpoint: str | os.PathLike | None = None,
        callbacks: Iterable[Callable] | None = None,
    ):
        self.generic = generic
        self.precision = precision
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.prior = prior
        self.person_scale = person_scale
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.until = until
        self.max_seconds = max_seconds
        self.order = order
        self.n_swaps = n_swaps
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.callbacks = callbacks

    def _binary_model(self) -> ChoiceLogistic:
        known = hasattr(self, "covariates_")
        settings: dict[str, Any] = {
            "n_alternatives": len(self.classes_) if known else 2,
            "generic": self._generic_flags() if known else (),
            "precision": self.precision,
            "shape": self.precision_shape,
            "rate": self._rate(),
            "priors": self._column_priors() if known else None,
        }
        if self._has_persons:
            return PanelLogistic(**settings, **self._person_settings())
        return ChoiceLogistic(**settings)

    def fit(
        self, X: ChoiceData, y: None = None, sample_weight: ArrayLike | None = None
    ) -> StickChoiceClassifier:
        """Draw from the posterior.

        Parameters
        ----------
        X : ChoiceData
            With what was chosen.
        y : None
            Not used: the choices are part of `X`.
        sample_weight : array of shape (n_choices,), optional
            The power to which each choice's likelihood is raised.

        Returns
        -------
        self
        """
        if not isinstance(X, ChoiceData):
            raise TypeError(
                f"X must be a pasb.choice.ChoiceData, not {type(X).__name__}: make one with "
                "ChoiceData.from_wide or ChoiceData.from_long"
            )
        if y is not None:
            raise ValueError("y must be None: ChoiceData holds what was chosen")
        if X.choice is None:
            raise ValueError("X does not hold what was chosen: give choice= when it is made")
        never = ~np.isin(X.alternatives, X.choice)
        if never.any():
            k = int(np.argmax(never))
            why = "nobody chose" if X.available[:, k].any() else "no choice has, so nobody chose,"
            raise ValueError(
                f"{why} {X.alternatives[k]!s}: its stick cannot be learned; leave that alternative "
                "out"
            )
        with undone_by_errors(self):
            self.covariates_, self.chooser_ = list(X.covariates), list(X.chooser_names)
            self.classes_ = X.alternatives
            self._generic_flags()
            self._learn_persons(X)
            super().fit(self.table_of(X), X.choice, sample_weight, X.available)
        return self

    def _fit_columns(
        self,
        table: NDArray[np.float64],
        categories: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> Table:
        n, s = len(self.chooser_), len(self.classes_)
        parts = [Scaling.of(table[:, :n], weights, self.scale)] if n else []
        available = np.ones((len(table), s), dtype=np.bool_)
        if self._available is not None:
            available = self._available
        for k in range(len(self.covariates_)):  # one scale for all alternatives
            own = table[:, n + k * s : n + (k + 1) * s]
            each = np.broadcast_to(weights[:, None], own.shape)[available]
            one = Scaling.of(own[available][:, None], each, self.scale)
            parts.append(Scaling(np.repeat(one.centre, s), np.repeat(one.spread, s)))
        if self._has_persons:
            parts.append(Scaling(np.zeros(1), np.ones(1)))
        self._scaling = Scaling(*(np.concatenate(values) for values in zip(*parts, strict=True)))
        return LazyRows(table, self._columns)

    def _learned(self) -> dict[str, NDArray]:
        return {**super()._learned(), "n_chooser": np.array([len(self.chooser_)])}

    def _relearn(self, arrays: dict[str, NDArray]) -> None:
        n, s = int(arrays["n_chooser"][0]), len(self.classes_)
        self._relearn_persons(arrays)
        names = [str(name) for name in self.feature_names_in_]
        names = names[: len(names) - self._has_persons]
        suffix = f"[{self.classes_[0]!s}]"
        if not 0 <= n <= len(names) or (len(names) - n) % s:
            raise ValueError("the columns are not those of a choice model")
        self.chooser_ = names[:n]
        self.covariates_ = [name.removesuffix(suffix) for name in names[n::s]]
        self._generic_flags()
        super()._relearn(arrays)
