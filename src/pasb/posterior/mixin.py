"""What a fitted model knows: probabilities, order, coefficients, diagnostics."""

from __future__ import annotations

import os
import warnings
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pasb.errors import ConvergenceWarning
from pasb.posterior.advice import advice_on
from pasb.posterior.diagnostics import Diagnostics
from pasb.posterior.frames import by_direction, native_frame
from pasb.posterior.predict import Predictor
from pasb.sticks import Direction

if TYPE_CHECKING:
    import xarray

    from pasb.covariates.scaling import Scaling
    from pasb.sampling.draws import Draws


class PosteriorMixin:
    """Everything that a fitted stick-breaking classifier can tell of its draws."""

    classes_: NDArray
    draws_: Draws
    direction: Any
    feature_names_in_: NDArray
    _scaling: Scaling
    _monitored: dict[str, NDArray]
    _frame_library: str

    @property
    def _directions(self) -> tuple[Direction, ...]:
        """The directions of the chains."""
        return ("forward", "reverse") if self.direction == "both" else (self.direction,)

    def _after_sampling(self, warn: bool = True) -> None:
        """Set what follows from the draws, and warn where they cannot be trusted."""
        orders = {name: self.classes_[self._top_order(name)] for name in self._directions}
        self.order_ = orders if len(orders) > 1 else orders[self._directions[0]]
        self._posterior_tree: xarray.DataTree | None = None
        watched, log_likelihood = self._monitored_probabilities(), self.draws_.log_likelihood
        if len(self._directions) == 1:
            self.diagnostics_ = Diagnostics.of(watched, log_likelihood)
        else:
            chains = {name: self.draws_.of_direction(name) for name in self._directions}
            self.diagnostics_ = Diagnostics.worst_of(
                {name: Diagnostics.of(watched[k], log_likelihood[k]) for name, k in chains.items()}
            )
        advice = advice_on(self.draws_, self.diagnostics_)
        if advice and warn:
            warnings.warn(advice, ConvergenceWarning, stacklevel=5)

    def _last_two_tie(self) -> bool:
        """Whether the last two classes are interchangeable: they share the last stick.

        True of a symmetric binary model, unless the user fixed the order.
        """
        model = self._binary_model()  # type: ignore[attr-defined]
        return model.symmetric and isinstance(self.order, str)  # type: ignore[attr-defined]

    def _order_label(self, order: NDArray[np.int64]) -> str:
        """Classes from the first stick to the last, as in ``a > b > c / d``."""
        labels = [str(label) for label in self.classes_[order]]
        if self._last_two_tie():
            labels[-2:] = [" / ".join(labels[-2:])]
        return " > ".join(labels)

    def _orders_by_frequency(
        self, direction: Direction
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Distinct orders of the draws of a direction, the most frequent first, and counts."""
        chains = self.draws_.of_direction(direction)
        flat = self.draws_.order[chains].reshape(-1, len(self.classes_))
        orders, counts = np.unique(flat, axis=0, return_counts=True)
        ranking = np.argsort(-counts, kind="stable")
        return orders[ranking], counts[ranking]

    def _top_order(self, direction: Direction) -> NDArray[np.int64]:
        return self._orders_by_frequency(direction)[0][0]

    def _in_order(self, order: NDArray[np.int64], direction: Direction) -> NDArray[np.bool_]:
        """Which draws are of a direction and have this order, (chain, draw)."""
        chosen = (self.draws_.order == order).all(axis=2)
        return chosen & (np.array(self.draws_.directions) == direction)[:, None]

    def _predictor(self, n_draws: int | None = None) -> Predictor:
        draws = self.draws_
        total = draws.n_chains * draws.n_draws
        chosen: Any = slice(None)
        if n_draws is not None:
            if not isinstance(n_draws, Integral) or not 1 <= n_draws <= total:
                raise ValueError(f"n_draws must be from 1 to {total}, not {n_draws!r}")
            chosen = np.linspace(0, total - 1, n_draws).astype(np.int64)
        return self._predictor_type()(
            model=self._binary_model(),  # type: ignore[attr-defined]
            reverse=np.repeat(np.array(draws.directions) == "reverse", draws.n_draws)[chosen],
            parameters={
                name: values.reshape(total, *values.shape[2:])[chosen]
                for name, values in draws.parameters.items()
            },
            orders=draws.order.reshape(total, -1)[chosen],
        )

    def _predictor_type(self) -> type[Predictor]:
        return Predictor

    def _monitored_probabilities(self) -> NDArray[np.float64]:
        """Probabilities of the watched rows, (chain, draw, row, category)."""
        draws = self.draws_
        flat = self._predictor().samples(self._monitored["inner"])
        return flat.reshape(draws.n_chains, draws.n_draws, *flat.shape[1:])

    @property
    def _has_coefficients(self) -> bool:
        """Whether each stick has one coefficient for each covariate."""
        model = self._binary_model()  # type: ignore[attr-defined]
        return model.axes.get("coef") == ("column",) and self._columns_are_features  # type: ignore[attr-defined]

    def _check_has_coefficients(self, what: str) -> None:
        """Refuse what needs one coefficient vector for each stick."""
        model = self._binary_model()  # type: ignore[attr-defined]
        if not self._has_coefficients:
            raise NotImplementedError(
                f"{what} needs a binary model with one coefficient vector for each stick; the "
                f"parameters of {type(model).__name__} are in posterior_"
            )

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        n = len(self._scaling.centre)
        return [str(name) for name in names] if names is not None else [f"x{v}" for v in range(n)]

    @property
    def posterior_(self) -> xarray.DataTree:
        """The draws as an `xarray.DataTree`, with groups as ArviZ expects them.

        ``posterior`` holds ``intercept`` and ``coef`` on the scale of `X` (NaN where a class
        is the reference), ``order`` (the number of the class on each stick) and
        ``probability`` of some training rows; ``sample_stats`` holds the log-likelihood
        and the accepted swaps. Judge convergence by ``probability`` and the
        log-likelihood: the meaning of a coefficient changes with the order.
        """
        from pasb.posterior.tree import posterior_tree

        check_is_fitted(self)
        if self._posterior_tree is None:
            self._posterior_tree = posterior_tree(self)
        return self._posterior_tree

    def summary(self, interval: float = 0.9) -> Any:
        """Coefficients under the most probable order, as a data frame.

        The meaning of a coefficient changes with the order, so only draws in `order_`
        are used; the reference class has none.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the credible interval from ``lower`` to ``upper``.

        Returns
        -------
        pandas or polars DataFrame, as `X` was in `fit`
            Columns ``stick, class, feature, mean, sd, lower, upper``, with ``direction``
            before them where there are two.
        """
        check_is_fitted(self)
        tails = tails_of(interval)
        self._check_has_coefficients("summary()")
        names = ["(intercept)", *self._feature_names()]
        n_sticks = len(self.classes_) - 1
        parts = []
        for direction in self._directions:
            top = self._top_order(direction)
            coef = self.draws_.parameters["coef"][self._in_order(top, direction)]
            intercept, slopes = self._scaling.intercept_and_slopes(coef)
            values = np.concatenate([intercept[..., None], slopes], axis=2)[:, top[:-1]]
            lower, upper = np.quantile(values, tails, axis=0)
            parts.append(
                {
                    "stick": np.repeat(np.arange(1, n_sticks + 1), len(names)),
                    "class": np.repeat(self.classes_[top[:-1]], len(names)),
                    "feature": names * n_sticks,
                    "mean": values.mean(axis=0).ravel(),
                    "sd": values.std(axis=0).ravel(),
                    "lower": lower.ravel(),
                    "upper": upper.ravel(),
                }
            )
        return native_frame(by_direction(parts, self._directions), self._frame_library)

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
        check_is_fitted(self)
        model = copy(self)
        draws = self.draws_.best()
        parameters = self._binary_model().without_inactive(draws.parameters)  # type: ignore[attr-defined]
        model.draws_ = replace(draws, parameters=parameters)
        model._after_sampling(warn=False)
        return model

    def n_hyperplanes(self) -> float:
        """How many hyperplanes (or support vectors) a draw uses, on average.

        Those of the two directions are added up where there are two. Only what is active
        counts, and the reference class has none.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        draws, model = self.draws_, self._binary_model()  # type: ignore[attr-defined]
        counts = np.empty(draws.order.shape[:2])
        for chain, draw in np.ndindex(counts.shape):
            sticks = draws.order[chain, draw, :-1]
            own = {name: values[chain, draw, sticks] for name, values in draws.parameters.items()}
            counts[chain, draw] = model.n_hyperplanes(own)
        return float(sum(counts[draws.of_direction(name)].mean() for name in self._directions))

    def order_posterior(self, top: int | None = None) -> Any:
        """Posterior probabilities of the orders, as a data frame.

        Parameters
        ----------
        top : int, optional
            Only the most probable ones.

        Returns
        -------
        pandas or polars DataFrame, as `X` was in `fit`
            Columns ``order`` (classes from the first stick to the last, as in
            ``a > b > c / d``, where / stands between two classes that share the last stick),
            ``probability``, and ``chains``, the number of chains that visited it; with
            ``direction`` before them where there are two, each with its own posterior.
        """
        check_is_fitted(self)
        if top is not None and not (isinstance(top, Integral) and top >= 1):
            raise ValueError(f"top must be a whole number from 1, not {top!r}")
        parts = []
        for direction in self._directions:
            orders, counts = self._orders_by_frequency(direction)
            parts.append(
                {
                    "order": [self._order_label(order) for order in orders[:top]],
                    "probability": counts[:top] / counts.sum(),
                    "chains": [self._n_visits(order, direction) for order in orders[:top]],
                }
            )
        return native_frame(by_direction(parts, self._directions), self._frame_library)

    def order_in_words(self, X=None, y=None) -> str:
        """What the order says about the data: who is split off first, and how cleanly.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
        y : array of shape (n_rows,), optional
            Rows by which the splits are judged, such as the training rows; by default the few
            that the model keeps to watch its chains.

        Returns
        -------
        str

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(
        ...     order=[0, 1, 2], n_warmup=200, n_draws=200, random_state=1
        ... ).fit(X, y)
        >>> print(model.order_in_words(X, y))
        0 is split off first, cleanly (its stick stops ...% of its own rows and ...% of the
        others), and 1 and 2 are told apart last, ... (...% and ...%).
        """
        from pasb.posterior.words import order_in_words

        check_is_fitted(self)
        return order_in_words(self, X, y)

    def _n_visits(self, order: NDArray[np.int64], direction: Direction) -> int:
        """How many chains of a direction visited an order."""
        return int(self._in_order(order, direction).any(axis=1).sum())

    def predict_frame(self, X, interval: float = 0.9) -> Any:
        """Predictions with credible intervals, as a data frame of the kind of `X`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        interval : float, default=0.9
            Probability of the interval of each class probability.

        Returns
        -------
        pandas or polars DataFrame
            ``prediction``, and for each class ``p_<class>``, ``p_<class>_lower``,
            ``p_<class>_upper``; in pandas with the index of `X`.
        """
        tails = tails_of(interval)
        inner = self._inner_rows(X)  # type: ignore[attr-defined]
        predictor = self._predictor()
        mean = predictor.mean(inner)
        lower, upper = np.empty_like(mean), np.empty_like(mean)
        for k in range(0, len(inner), 64):  # all draws of a few rows at a time
            part = predictor.samples(inner[k : k + 64])
            lower[k : k + 64], upper[k : k + 64] = np.quantile(part, tails, axis=0)
        names = [f"p_{label}{end}" for label in self.classes_ for end in ("", "_lower", "_upper")]
        if len(set(names)) < len(names):
            raise ValueError(
                "two columns would have the same name, because one class is called like another "
                "with _lower or _upper at its end: rename it, or use sample_proba"
            )
        columns: dict[str, Any] = {"prediction": self.classes_[np.argmax(mean, axis=1)]}
        for s, label in enumerate(self.classes_):
            columns[f"p_{label}"] = mean[:, s]
            columns[f"p_{label}_lower"] = lower[:, s]
            columns[f"p_{label}_upper"] = upper[:, s]
        library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        frame = native_frame(columns, library)
        if type(X).__module__.startswith("pandas"):
            frame.index = X.index
        return frame

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file: numbers and JSON, no pickle.

        Parameters
        ----------
        path : path
            Read it back with `pasb.load`.
        """
        from pasb.classifiers.model_file import save

        check_is_fitted(self)
        save(self, Path(path))  # type: ignore[arg-type]

    def export(self, path: str | os.PathLike) -> None:
        """Write `posterior_` to NetCDF (``.nc``) or Zarr (``.zarr``).

        Parameters
        ----------
        path : path
            The ending decides the format.
        """
        from pasb.posterior.tree import write_tree

        check_is_fitted(self)
        write_tree(self, Path(path))


def tails_of(interval: float) -> tuple[float, float]:
    """Where a credible interval begins and ends, as quantiles."""
    if not isinstance(interval, Real) or not 0 < interval < 1:
        raise ValueError(f"interval must lie between 0 and 1, not {interval!r}")
    return 0.5 - float(interval) / 2, 0.5 + float(interval) / 2
