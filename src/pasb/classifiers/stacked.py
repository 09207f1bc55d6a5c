"""Softplus regression on the hyperplanes of another one: DT-MSR."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from pasb.binary.softplus import Softplus
from pasb.classifiers.general import with_parameters
from pasb.classifiers.softplus import SoftplusClassifier
from pasb.covariates.checking import checked_table
from pasb.covariates.hyperplanes import Hyperplanes
from pasb.covariates.scaling import Scaling
from pasb.engines import EngineName
from pasb.sampling.problem import Scheme
from pasb.sticks import Direction

_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


@with_parameters
class StackedSoftplusClassifier(SoftplusClassifier):
    """Softplus regressions on top of one another (DT-MSR): each bends what the last one found.

    The first model is fitted to the covariates. The softplus responses of its active
    hyperplanes are put behind the covariates, the next model is fitted to both, and so on;
    `SoftplusFeatures` is this step on its own. The order of the classes is that of the first
    model, for each direction, and all but the last model contribute one draw, the one with
    the highest training likelihood; the draws of the fit are those of the last model.

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
    stack_sweeps : int, default=3000
        Sweeps of all models but the last; the best draw is taken from the second half.
    direction : {"both", "forward", "reverse"}, default="both"
        As in `SoftplusClassifier`; with "both", the hyperplanes of both directions become
        covariates of both.
    precision, precision_shape, precision_rate, prune, engine
        As in `SoftplusClassifier`.
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    order_ : dict of arrays of shape (n_classes,)
        The order of the classes in each direction; an array with one direction only.
    draws_ : Draws
        The draws of the last model as plain arrays.
    diagnostics_ : Diagnostics
        R-hat and effective sample size of probabilities and log-likelihood.
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

    _parameter_constraints: ClassVar[dict] = {
        **SoftplusClassifier._parameter_constraints,
        "n_stacks": [_AT_LEAST_ONE],
        "last_layers": [_AT_LEAST_ONE],
        "stack_sweeps": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_stacks: int = 2,
        n_experts: int = 5,
        n_layers: int = 3,
        last_layers: int = 1,
        stack_sweeps: int = 3000,
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
        super().__init__(
            n_experts=n_experts,
            n_layers=n_layers,
            direction=direction,
            precision=precision,
            precision_shape=precision_shape,
            precision_rate=precision_rate,
            prune=prune,
            engine=engine,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            thin=thin,
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
                model.fit(self._stacked(table), self.classes_[categories], sample_weight=weights)
                self._take_level(model)
        self._n_ready = -1
        columns = self._stacked(table)
        self._scaling = Scaling.of(columns, weights, self.scale)
        return self._scaling.with_constant(columns)

    _n_ready = -1  # levels that were fitted for the next call of `fit`

    def _forget(self) -> None:
        self._levels: list[Hyperplanes] = []
        self._first_orders: dict[Direction, NDArray[np.int64] | None] | None = None
        self._stopped = False

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
            self._first_orders = {name: model._top_order(name) for name in self._directions}
        self._levels.append(Hyperplanes.of(model))
        self._stopped |= model.draws_.interrupted
        self._n_ready += 1

    def _callbacks(self) -> list[Callable]:
        # a run that was stopped on one level does not start anew on the next
        return [lambda info: True] if self._stopped else super()._callbacks()

    def _checkpoint(self) -> str | os.PathLike | None:
        # what stands on a level that is not finished will be another one in the end
        return self._folder(self.n_stacks)

    def _folder(self, level: int) -> Path | None:
        if self.checkpoint is None or self._stopped:
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

    def _level_model(self, number: int) -> SoftplusClassifier:
        """The model of a level below the last, counted from 1, not fitted yet."""
        n_warmup = int(self.stack_sweeps) // 2
        shared = SoftplusClassifier().get_params()
        model = SoftplusClassifier(**{name: getattr(self, name) for name in shared})
        seed = self.random_state
        if isinstance(seed, int | np.integer):
            seed = int(np.random.SeedSequence([int(seed), number]).generate_state(1)[0])
        model.set_params(
            n_chains=1,
            n_warmup=n_warmup,
            n_draws=int(self.stack_sweeps) - n_warmup,
            thin=1,
            order=self._given_order(),
            random_state=seed,
            callbacks=[lambda info: True] if self._stopped else self.callbacks,
            checkpoint=self._folder(number),
        )
        model._warns = False  # of convergence: the best draw is enough
        return model

    def _given_order(self) -> Any:
        """The order of the user, or that of the first model once it is there."""
        if self._first_orders is None:
            return self.order
        orders = {name: self.classes_[order] for name, order in self._first_orders.items()}
        return orders if len(orders) > 1 else orders[self._directions[0]]

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

    @property
    def _n_scaled(self) -> int:
        return self.n_features_in_ + (len(self._levels[-1].vectors) if self._levels else 0)

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{v}" for v in range(self.n_features_in_)]
        responses = self._levels[-1].names(self.classes_) if self._levels else []
        return [*map(str, names), *responses]

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
