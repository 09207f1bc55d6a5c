"""What all classifiers have in common: check a table, sample, and offer what was fitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pasb.binary.binary_model import BinaryModel
from pasb.classifiers.notebooks import NotebookEstimator
from pasb.classifiers.prior_sampling import PriorSampling
from pasb.classifiers.refitting import undone_by_errors
from pasb.classifiers.run_length import RunLength
from pasb.classifiers.settings import fit_context, usual_swaps
from pasb.covariates import checking
from pasb.covariates.availability import checked_availability
from pasb.covariates.scaling import Scaling, ranges_of
from pasb.engines import EngineName, engine_of
from pasb.engines.cost import tell_in_memory
from pasb.errors import ConvergenceWarning, warn_user
from pasb.numerics.helpers import cores
from pasb.numerics.lazy_rows import LazyRows, Table
from pasb.numerics.rows import Rows
from pasb.posterior.advice import advice_on
from pasb.posterior.diagnostics import Diagnostics
from pasb.posterior.fitted import Fitted, WatchedRows
from pasb.posterior.limits import Limits
from pasb.posterior.mixin import PosteriorMixin
from pasb.posterior.predict import Predictor
from pasb.sampling.budget import Budget
from pasb.sampling.draws import Draws, check_room
from pasb.sampling.engine import Engine
from pasb.sampling.fingerprint import run_fingerprint, seed_of
from pasb.sampling.problem import Problem, Schedule
from pasb.sampling.progress import Progress, phase
from pasb.sampling.run import sample
from pasb.sticks import Direction


class StickClassifier(RunLength, PriorSampling, PosteriorMixin, ClassifierMixin, NotebookEstimator):
    """What all stick-breaking classifiers have in common: from a table to draws.

    A classifier of its own adds `__init__` with the settings of a run
    (`pasb.classifiers.settings.RUN`), its own parameters, and `_binary_model`. It may also
    override what turns covariates into columns (`_fit_columns`, `_columns`) and what the prior
    leaves open (`_fit_prior`).
    """

    class_weight: Any = None  # where the binary model takes weights
    direction: Any = "forward"  # one for a binary model that is its own mirror image
    n_chains: Any
    max_seconds: Any
    order: Any
    scheme: Any
    sticks: Any
    n_swaps: Any
    scale: Any
    random_state: Any
    n_jobs: Any
    progress: Any
    checkpoint: Any
    callbacks: Any

    _ranges: Any = ()  # of covariates in the rows of the fit, (columns, 2)
    _warns = True  # of draws that cannot be trusted
    _engine: EngineName = "cpu"
    _seed: int | None = None  # of the present fit, once something random needs it
    _clock: Callable[[], float] = staticmethod(monotonic)  # what `max_seconds` is measured by
    _budget: Budget | None = None  # of the present fit
    _available: NDArray[np.bool_] | None = None  # what rows could choose, while columns are made
    _lent: Budget | None = None  # by a model that this one is a part of

    def _binary_model(self) -> BinaryModel:
        """The binary model of each stick."""
        raise NotImplementedError

    @property
    def _directions(self) -> tuple[Direction, ...]:
        """The directions of the chains."""
        return ("forward", "reverse") if self.direction == "both" else (self.direction,)

    def check_settings(self) -> None:
        """Raise a ValueError that names the first setting that no fit could use."""
        cores(self.n_jobs)
        self._validate_params()

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        availability: Any = None,
    ):
        """Draw from the posterior; a fit that fails leaves the model as it was.

        Ctrl-C ends the sampling early and returns the model with the draws made so far (in the
        warm-up none, and `converged_` is False). So do `max_seconds` and `until`.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Logistic, robit, softplus: also Dask collections and paths of Parquet files.
        y : array of shape (n_rows,)
            Class labels, numbers or strings; of Dask and Parquet, the name of their column.
        sample_weight : array of shape (n_rows,), optional
            The power to which each row's likelihood is raised; 2 counts a row twice.
        availability : array or data frame of shape (n_rows, n_classes), optional
            Which classes a row could choose; sticks of others are skipped. Columns as `classes_`.
            Of Parquet and Dask: a dictionary from classes to columns; of Dask also a collection.

        Returns
        -------
        self

        Raises
        ------
        pasb.errors.TimeBudgetError
            If `max_seconds` is too short.
        """
        with undone_by_errors(self), Progress(self.progress):
            self._take(self._sample(*self._prepare(X, y, sample_weight, availability)))
        return self

    def _prepare(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        availability: Any = None,
    ) -> tuple[list[Problem], Schedule]:
        """Check and scale the data; the problem of every chain, and how long they run."""
        self._start_fit()
        table, labels = checking.checked_table(self, X, y=y, reset=True)
        self.classes_ = checking.checked_classes(labels)
        weights = checking.checked_weights(sample_weight, table, self.class_weight, labels)
        model = self._binary_model()
        if isinstance(model, type):
            raise TypeError(f"binary must be an object, not a class: write {model.__name__}()")
        model.check()
        if self.sticks == "augmented":
            checking.refuse_fractions(weights, "with sticks='augmented'")
        self._frame_library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        self._fixed_orders()  # complains before anything takes time
        categories = np.searchsorted(self.classes_, labels)
        known = self.classes_, len(categories), categories
        available = None if availability is None else checked_availability(availability, *known)
        self._available = available
        self._ranges = ranges_of(table, weights)
        inner = self._fit_columns(table, categories, weights)
        fixed = self._fixed_orders()
        used = weights > 0
        self.class_counts_ = np.bincount(categories[used], minlength=len(self.classes_))
        chosen: tuple[Any, ...] = (inner, categories, weights, available)
        if not used.all():  # an index would make a copy of `inner`
            chosen = tuple(None if one is None else one[used] for one in chosen)
        rows = Rows.of(chosen[0], chosen[1], len(self.classes_), chosen[2], chosen[3])
        n_chains = self.n_chains * len(self._directions)
        check_room(model, rows.n_columns, rows.n_categories, n_chains, self._lengths()[1])
        phase("choosing the prior")
        self._fit_prior(rows)
        problem = Problem(
            rows=rows,
            model=self._binary_model(),
            scheme=self.scheme,
            augmented=self.sticks == "augmented",
            n_swaps=self._number_of_swaps(),
            swaps_only=isinstance(self.order, str) and self.order == "swap",
        )
        self._watched = WatchedRows.of(inner, categories, used, self._available)
        self._available = None
        del inner, chosen, table, labels, categories, weights, used  # chains need none
        each = [  # chains that share a problem share what they start from
            replace(problem, direction=direction, fixed_order=fixed[direction])
            for direction in self._directions
        ]
        return [one for one in each for _ in range(self.n_chains)], self._schedule(self._run_seed())

    def _start_fit(self) -> None:
        """Forget the last fit, start the clock, and complain before anything takes time."""
        cores(self.n_jobs), Limits.of(self.until)
        self.__dict__.pop("compactness_", None)
        self._seed, self._budget, self._judged = None, self._lent, None
        if self._lent is None and self.max_seconds is not None:
            self._budget = Budget.of(float(self.max_seconds), self._clock)

    def _make_engine(self) -> Engine:
        """Who advances the chains."""
        return engine_of(self._engine, cores(self.n_jobs))

    def _sample(self, chains: list[Problem], schedule: Schedule) -> Draws:
        checkpoint, engine = self._checkpoint(), self._make_engine()
        run = chains, schedule, engine
        tell_in_memory(*run)
        return sample(
            *run,
            callbacks=self._callbacks(),
            checkpoint=checkpoint,
            fingerprint=None if checkpoint is None else run_fingerprint(chains, schedule),
            budget=self._budget,
            **self._stopping(schedule),
        )

    def _take(self, draws: Draws) -> None:
        """Take over the draws of a run."""
        self.draws_ = draws
        if self.fitted_.last_two_tie:
            draws.sort_last_two()
        known, self._judged = self._judged, None
        self._after_sampling(warn=self._warns, known=known)

    def _after_sampling(self, warn: bool = True, known: Diagnostics | None = None) -> None:
        """Set what follows from the draws, and warn where they cannot be trusted."""
        fitted = self.fitted_
        self.orders_, self.order_ = fitted.orders_of_classes()
        self.diagnostics_ = known or fitted.diagnostics()
        advice = advice_on(self.draws_, self.diagnostics_, fitted.limits, self.checkpoint)
        if advice and warn:
            warn_user(advice, ConvergenceWarning)

    def _run_seed(self) -> int:
        """The seed from which everything random of this fit follows."""
        if self._seed is None:
            self._seed = seed_of(self.random_state, self._checkpoint())
        return self._seed

    def _callbacks(self) -> list[Callable]:
        """The functions to call after each sweep."""
        for callback in self.callbacks or ():
            if not callable(callback):
                raise TypeError(f"callbacks must be callables; got {callback!r}")
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
            return dict.fromkeys(self._directions, checking.checked_order(order, self.classes_))
        if set(order) != set(self._directions):
            raise ValueError(
                "order as a dictionary must have one order for each direction, with the keys "
                f"{' and '.join(map(repr, self._directions))}; got {list(order)!r}"
            )
        return {
            name: checking.checked_order(order[name], self.classes_) for name in self._directions
        }

    def _number_of_swaps(self) -> int:
        if self.n_swaps != "auto":
            return int(self.n_swaps)
        return 1 if self.scheme == "paper" else usual_swaps(len(self.classes_))

    @property
    def fitted_(self) -> Fitted:
        """What reports, plots and files need of the fitted model; see `Fitted`."""
        check_is_fitted(self, "draws_")
        return self._fitted(self.draws_)

    def _fitted(self, draws: Draws) -> Fitted:
        return Fitted(
            classes=self.classes_,
            directions=self._directions,
            draws=draws,
            binary=self._binary_model(),
            feature_names=self._feature_names(),
            scaling=self._scaling,
            columns=self._columns,
            inner_rows=self._inner_rows,
            columns_are_features=self._columns_are_features,
            watched=self._watched,
            order_is_fixed=not isinstance(self.order, str),
            frame_library=self._frame_library,
            n_threads=cores(self.n_jobs),
            predictor_type=self._predictor_type(),
            limits=Limits.of(self.until),
            checkpoint=self.checkpoint,
            ranges=dict(zip(self._feature_names(), self._ranges, strict=False)),
            seed=self._seed,
        )

    def _predictor_type(self) -> type[Predictor]:
        return Predictor

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return (
            [f"x{v}" for v in range(self.n_features_in_)] if names is None else [*map(str, names)]
        )

    def _inner_rows(self, X: ArrayLike) -> Table:
        return LazyRows(
            checking.checked_table(self, X, reset=False, keep_sparse=True), self._columns
        )

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

    def best_draw(self) -> Any:
        """The draw with the highest training likelihood, as a classifier of its own.

        Where there are two directions, one draw of each. It predicts as fast as a model that
        was never Bayesian, without the parts that the draw does not use, but knows nothing
        of its uncertainty. It can be saved like any other model; `n_hyperplanes` tells its
        size.

        Returns
        -------
        classifier
            Of the same type, fitted, with one draw for each direction.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(n_warmup=200, n_draws=200, random_state=1).fit(X, y)
        >>> best = model.best_draw()
        >>> best.n_hyperplanes(), best.score(X, y) > 0.95
        (2.0, True)
        """
        fitted, model = self.fitted_, copy(self)
        draws = fitted.draws.best()
        parameters = fitted.binary.without_inactive(draws.parameters)
        model.draws_ = replace(draws, parameters=parameters)
        model._after_sampling(warn=False)
        return model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file: numbers and JSON, no pickle.

        Parameters
        ----------
        path : path
            Read it back with `pasb.load`.
        """
        from pasb.classifiers.model_file import save

        check_is_fitted(self, "draws_")
        save(self, Path(path))
