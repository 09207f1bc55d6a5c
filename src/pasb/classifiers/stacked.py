"""Softplus regression on the hyperplanes of another one: DT-MSR."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.binary.softplus import Softplus
from pasb.classifiers.settings import A_FEW, MOST_SWEEPS, Interval, StrOptions
from pasb.classifiers.softplus_classifier import SoftplusClassifier
from pasb.covariates.checking import checked_table
from pasb.covariates.hyperplanes import Hyperplanes
from pasb.covariates.scaling import Scaling
from pasb.engines import EngineName
from pasb.sampling.problem import Scheme
from pasb.sticks import Direction


class StackedSoftplusClassifier(SoftplusClassifier):
    """Softplus regressions on top of one another (DT-MSR): each bends what the last one found.

    The first model is fitted to the covariates. The softplus responses of its active
    hyperplanes are put behind the covariates, the next model is fitted to both, and so on;
    `SoftplusFeatures` is this step on its own. Each chain has the hyperplanes of the last draw of
    one chain below, of each direction, and predictions average over chains. So R-hat stays above
    1: see `diagnostics_.se_probability`, and take more chains where it is too large. The order is
    that of the first model. `draws_` and `until` are of the last; `max_seconds` is shared equally.

    Parameters
    ----------
    n_stacks : int, default=2
        Models on top of one another, the last one included; 1 is `SoftplusClassifier`.
    n_experts : int, default=5
        K, the experts of each class in every model.
    n_layers : int, default=3
        T, the layers of each expert, in all models but the last.
    last_layers : int, default=1
        T in the last model.
    stack_sweeps : "auto" or int, default="auto"
        Sweeps of each chain of all models but the last. "auto" is 3000, or 100 with trajectories.
    direction : {"both", "forward", "reverse"}, default="both"
        As in `SoftplusClassifier`; with "both", the hyperplanes of both directions become
        covariates of both.
    precision, precision_shape, precision_rate, moves, prune, engine
        As in `SoftplusClassifier`.
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
        It also has the printed update of softplus regression, and needs ``engine="cpu"``.
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
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only when `X` had column names that are all strings.
    order_ : array of shape (n_classes,)
        The order of the classes, first stick to last; that of the forward sticks where there
        are two directions.
    orders_ : dict of arrays of shape (n_classes,)
        The order of each direction.
    draws_ : Draws
        The draws of the last model as plain arrays.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood, and the standard
        error of averaged probabilities.
    posterior_ : xarray.DataTree
        The draws of the last model with names.

    Examples
    --------
    >>> from pasb import StackedSoftplusClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StackedSoftplusClassifier(
    ...     n_experts=2, n_layers=2, stack_sweeps=200, n_chains=1, n_warmup=100, n_draws=100,
    ...     random_state=1,
    ... ).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _saw_all_rows, _leaves_rows = True, False  # the levels below see all rows
    _parameter_constraints: ClassVar[dict] = {
        **SoftplusClassifier._parameter_constraints,
        "engine": [StrOptions({"cpu", "cuda"})],
        "n_stacks": [A_FEW],
        "last_layers": [A_FEW],
        "stack_sweeps": [StrOptions({"auto"}), Interval(Integral, 2, MOST_SWEEPS, closed="both")],
    }

    def __init__(
        self,
        *,
        n_stacks: int = 2,
        n_experts: int = 5,
        n_layers: int = 3,
        last_layers: int = 1,
        stack_sweeps: int | str = "auto",
        direction: str = "both",
        precision: float | str = "ard",
        precision_shape: float = 2.0,
        precision_rate: float | str | tuple[float, float] = "auto",
        moves: str = "auto",
        prune: bool = False,
        engine: EngineName = "cpu",
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
        super().__init__(
            n_experts=n_experts,
            n_layers=n_layers,
            direction=direction,
            precision=precision,
            precision_shape=precision_shape,
            precision_rate=precision_rate,
            moves=moves,
            prune=prune,
            engine=engine,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            thin=thin,
            until=until,
            max_seconds=max_seconds,
            order=order,
            scheme=scheme,
            sticks=sticks,
            n_swaps=n_swaps,
            scale=scale,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
            checkpoint=checkpoint,
            callbacks=callbacks,
        )
        self.n_stacks = n_stacks
        self.last_layers = last_layers
        self.stack_sweeps = stack_sweeps

    def _binary_model(self) -> Softplus:
        model = super()._binary_model()
        last = self.n_layers if self.n_stacks == 1 else self.last_layers
        return model.set_params(n_layers=last)

    def _fit_columns(
        self,
        table: NDArray[np.float64],
        categories: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        if self._n_ready != self.n_stacks - 1:  # unless `fit_together` fitted them
            self._forget()
            for number in range(1, self.n_stacks):
                model = self._level_model(number)
                if self._budget is not None:
                    level, left = f"level {number} of {self.n_stacks}", self.n_stacks - number + 1
                    model._lent = self._budget.share(left, level, "stack_sweeps")
                labels, available = self.classes_[categories], self._available
                model.fit(self._stacked(table), labels, weights, available)
                self._take_level(model)
        self._n_ready = -1
        columns = self._stacked(table)
        self._scaling = Scaling.of(columns, weights, self.scale)
        return self._scaling.with_constant(columns)

    _n_ready = -1  # levels that were fitted for the next call of `fit`

    def _forget(self) -> None:
        self._levels: list[Hyperplanes] = []
        self._first_orders: dict[Direction, NDArray[np.int64] | None] | None = None
        self._stopped = self._cut = False

    def _begin(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray]:
        """The checked table and labels, before levels are fitted one by one."""
        self._forget()
        self._n_ready = 0
        table, labels = checked_table(self, X, y=y, reset=True)
        self.classes_ = np.unique(labels)
        return table, labels

    def _take_level(self, model: SoftplusClassifier) -> None:
        """Put a fitted model below the next one."""
        if self._first_orders is None:
            fitted = model.fitted_
            self._first_orders = {name: fitted.top_order(name) for name in fitted.directions}
        self._levels.append(model._last_hyperplanes())
        self._stopped |= model.draws_.ended in ("interrupted", "warm-up")
        self._cut |= model.draws_.ended == "time"
        self._n_ready += 1

    def _callbacks(self) -> list[Callable]:
        # a run that was stopped on one level does not start on the next
        return [lambda info: True] if self._stopped else super()._callbacks()

    def _checkpoint(self) -> str | os.PathLike | None:
        # a level above one that was not finished is not the final one: do not save it
        return self._folder(self.n_stacks)

    def _folder(self, level: int) -> Path | None:
        if self.checkpoint is None or self._stopped or self._cut:
            return None
        return Path(self.checkpoint) / f"level-{level}"

    def _columns(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._scaling.with_constant(self._stacked(table))

    def _stacked(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The covariates, and behind them what the model below sees in them."""
        columns = table
        for level in self._levels:
            columns = level.behind(table, columns)
        return columns

    def _usual_goal(self) -> None:
        return None  # R-hat stays above 1

    def _level_model(self, number: int) -> SoftplusClassifier:
        """The model of a level below the last, counted from 1, not fitted yet."""
        usual = 100 if self._moves() == "mixed" else 3000
        n_sweeps = usual if isinstance(self.stack_sweeps, str) else int(self.stack_sweeps)
        shared = SoftplusClassifier().get_params()
        model = SoftplusClassifier(**{name: getattr(self, name) for name in shared})
        seed = self.random_state
        if isinstance(seed, int | np.integer):
            seed = int(np.random.SeedSequence([int(seed), number]).generate_state(1)[0])
        model.set_params(
            n_warmup=n_sweeps // 2,
            n_draws=n_sweeps - n_sweeps // 2,
            thin=1,
            until=None,
            max_seconds=None,
            order=self._given_order(),
            random_state=seed,
            callbacks=[lambda info: True] if self._stopped else self.callbacks,
            checkpoint=self._folder(number),
        )
        model._warns = False  # of convergence: chains of the next level differ as these do
        model._seen = self._seen_above(number - 1)
        return model

    def _seen_by_chains(self) -> list[NDArray[np.bool_]] | None:
        return self._seen_above(self.n_stacks - 1)

    def _seen_above(self, number: int) -> list[NDArray[np.bool_]] | None:
        """What each chain sees above a level, counted from 1: the hyperplanes of one chain."""
        if number == 0 or self.n_chains == 1:
            return None
        below, n_features = self._levels[number - 1], self.n_features_in_
        return [below.seen_by(chain, n_features) for chain in range(self.n_chains)]

    def _given_order(self) -> Any:
        """The order of the user, or that of the first model once it is there."""
        if self._first_orders is None:
            return self.order
        return {name: self.classes_[order] for name, order in self._first_orders.items()}

    def _fixed_orders(self) -> dict[Direction, NDArray[np.int64] | None]:
        first = getattr(self, "_first_orders", None)
        return super()._fixed_orders() if first is None else first

    def n_hyperplanes(self) -> float:
        """How many hyperplanes a prediction needs: those of all levels.

        Returns
        -------
        float
            For the last level the average over draws.
        """
        return super().n_hyperplanes() + sum(len(level.vectors) for level in self._levels)

    def best_draw(self) -> Any:
        """The draw with the highest training likelihood, as a classifier of its own.

        As for `SoftplusClassifier`, with the hyperplanes of the levels below that it uses.

        Returns
        -------
        StackedSoftplusClassifier
            Fitted, with one draw for each direction.
        """
        model = super().best_draw()
        if not model._levels:
            return model
        coef, n_shared = model.draws_.parameters["coef"], 1 + self.n_features_in_
        used = (coef[..., n_shared:] != 0).any(axis=tuple(range(coef.ndim - 1)))
        chains = np.unique(model._levels[-1].tags[used, 4])
        columns, levels = np.ones(n_shared, dtype=np.bool_), []
        for level in model._levels:
            own = np.isin(level.tags[:, 4], chains)
            levels.append(level.only(own, columns))
            columns = np.concatenate([np.ones(n_shared, dtype=np.bool_), own])
        model._levels = levels
        model._scaling = Scaling(*(values[columns[1:]] for values in model._scaling))
        model._watched = model._watched._replace(inner=model._watched.inner[:, columns])
        kept = {**model.draws_.parameters, "coef": np.ascontiguousarray(coef[..., columns])}
        model.draws_ = replace(model.draws_, parameters=kept)
        return model

    @property
    def _n_scaled(self) -> int:
        return self.n_features_in_ + (len(self._levels[-1].vectors) if self._levels else 0)

    def _feature_names(self) -> list[str]:
        responses = self._levels[-1].names(self.classes_) if self._levels else []
        return [*super()._feature_names(), *responses]

    def _learned(self) -> dict[str, NDArray]:
        arrays = super()._learned()
        for number, level in enumerate(self._levels, start=1):
            arrays[f"level_{number}_centre"] = level.scaling.centre
            arrays[f"level_{number}_spread"] = level.scaling.spread
            arrays[f"level_{number}_vectors"] = level.vectors
            arrays[f"level_{number}_tags"] = level.tags
        return arrays

    def _relearn(self, arrays: dict[str, NDArray]) -> None:
        self._levels = []
        n_columns = self.n_features_in_
        for number in range(1, self.n_stacks):
            own = [arrays[f"level_{number}_{name}"] for name in ("centre", "spread")]
            rest = [arrays[f"level_{number}_{name}"] for name in ("vectors", "tags")]
            level = Hyperplanes(Scaling(*own), *rest)
            level.check(n_columns, len(self.classes_))
            self._levels.append(level)
            n_columns = self._n_scaled
        super()._relearn(arrays)
