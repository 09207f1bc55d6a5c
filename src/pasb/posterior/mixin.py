"""What a fitted model can tell: predictions, order, coefficients."""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.covariates.rows_elsewhere import is_elsewhere
from pasb.posterior.comparable import ComparableMixin
from pasb.posterior.frames import native_frame
from pasb.posterior.lazy_predict import lazy_labels, lazy_proba
from pasb.posterior.order_mixin import OrderMixin
from pasb.posterior.showing import ShowingMixin
from pasb.posterior.tails import tails_of

if TYPE_CHECKING:
    import xarray

    from pasb.posterior.compact import Compactness
    from pasb.posterior.diagnostics import Diagnostics
    from pasb.posterior.fitted import Fitted
    from pasb.sampling.draws import Draws
    from pasb.sticks import Direction


class PosteriorMixin(OrderMixin, ShowingMixin, ComparableMixin):
    """Predictions and reports of a fitted stick-breaking classifier, from its `fitted_`."""

    diagnostics_: Diagnostics
    draws_: Draws
    orders_: dict[Direction, NDArray]
    order_: NDArray
    compactness_: Compactness
    _tree: tuple[Draws, xarray.DataTree] | None = None  # of these draws

    @property
    def fitted_(self) -> Fitted:
        """What reports, plots and files need of the fitted model; see `Fitted`."""
        raise NotImplementedError

    def predict_proba(
        self, X: ArrayLike, n_draws: int | None = None, availability: Any = None
    ) -> NDArray[np.float64]:
        """Posterior-mean class probabilities.

        Threads may call it at the same time. The first call prepares the draws.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            For a Dask array or data frame, and for a path of Parquet files, the result is a Dask
            array, computed chunk by chunk where the rows are.
        n_draws : int, optional
            Average over so many draws, evenly spaced in every chain: quicker, less accurate.
        availability : array or data frame of shape (n_rows, n_classes), optional
            Which classes a row can choose: sticks of the others are skipped, and the last one
            that is left takes the rest. By default all, with a warning if the model was fitted
            with availability. For rows elsewhere as in `fit`.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`. A row's result depends on no other row.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(random_state=1).fit(X, y)
        >>> gap = model.predict_proba(X) - model.predict_proba(X, n_draws=400)
        >>> bool(abs(gap).max() < 0.1)
        True
        """
        fitted = self.fitted_
        if is_elsewhere(X):
            return lazy_proba(self, X, n_draws, availability)
        inner, available = fitted.opened(X, availability)
        return fitted.predictor(n_draws).mean(inner, fitted.n_threads, available)

    def predict_log_proba(
        self, X: ArrayLike, n_draws: int | None = None, availability: Any = None
    ) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`; minus infinity where a class is not available."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, n_draws, availability))

    def predict(
        self, X: ArrayLike, n_draws: int | None = None, availability: Any = None
    ) -> NDArray:
        """The class with the largest posterior-mean probability.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        n_draws : int, optional
            As in `predict_proba`.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `predict_proba`.

        Returns
        -------
        array of shape (n_rows,)
        """
        proba = self.predict_proba(X, n_draws, availability)
        if is_elsewhere(X):
            return lazy_labels(proba, self.fitted_.classes)
        return self.fitted_.classes[np.argmax(proba, axis=1)]

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        availability: Any = None,
    ) -> float:
        """The share of rows whose class is predicted.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `predict_proba`. A model that was fitted with availability asks for it.

        Returns
        -------
        float
        """
        if availability is None:
            self.fitted_.check_all_available("score(X, y)")
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, availability=availability)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def sample_proba(
        self, X: ArrayLike, n_draws: int | None = None, availability: Any = None
    ) -> NDArray[np.float64]:
        """Class probabilities under each draw: their posterior.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        n_draws : int, optional
            Use so many draws, evenly spaced in every chain, instead of all.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `predict_proba`.

        Returns
        -------
        array of shape (draws, n_rows, n_classes)
            Draws of the first chain, then of the second, and so on.
        """
        fitted = self.fitted_
        inner, available = fitted.opened(X, availability)
        return fitted.predictor(n_draws).samples(inner, fitted.n_threads, available)

    def compact(self, n: int, X: ArrayLike | None = None) -> Any:
        """The same model with less in it: quicker, smaller in memory and on disk.

        It has fewer draws of every chain, evenly spaced. Softplus models leave out experts that no
        training row needed in a draw and that add less than 0.0001 to the rate of any row looked
        at. Coefficients have the precision of float32, which is how `save` writes them. How far
        class probabilities are from those of all draws is measured and kept in `compactness_`.
        Diagnostics remain those of all draws.

        Parameters
        ----------
        n : int
            Draws to keep in total; each chain keeps the same number, at least one.
        X : array or data frame of shape (n_rows, n_features), optional
            Rows on which the distance is measured, such as the training rows; by default
            the few that the model keeps to watch its chains.

        Returns
        -------
        classifier
            Of the same type, fitted.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(random_state=1).fit(X, y)
        >>> small = model.compact(200, X)
        >>> print(small.compactness_)
        200 of 4000 draws; on 150 rows class probabilities differ by at most ... from those of all
        draws, by ... on average.
        """
        from pasb.posterior.compact import compacted

        model = copy(self)
        model.draws_, model.compactness_ = compacted(self.fitted_, n, X)
        model.orders_, model.order_ = model.fitted_.orders_of_classes()
        return model

    @property
    def posterior_(self) -> xarray.DataTree:
        """The draws as an `xarray.DataTree`, with groups as ArviZ expects them.

        ``posterior`` holds ``intercept`` and ``coef`` on the scale of `X`, by ``split``: a class
        against the set of classes behind it, as in "a | b, c" (NaN in draws that have no such
        stick; sticks that are rarer than 1 % are in `draws_` only); ``order`` (the number of the
        class on each stick) and ``probability`` of some training rows. ``sample_stats`` holds the
        log-likelihood of all rows (``log_likelihood_sum``) and the statistics of moves,
        ``constant_data`` the class of each split and the share of draws that make it.
        `posterior_with` adds groups that need rows; `posterior_of_order` has the draws of one
        order alone, without NaN. Judge convergence by ``probability`` and the log-likelihood,
        which mean the same in every order.
        """
        from pasb.posterior.tree import posterior_tree

        fitted = self.fitted_
        if self._tree is None or self._tree[0] is not fitted.draws:
            self._tree = fitted.draws, posterior_tree(fitted)
        return self._tree[1]

    def n_hyperplanes(self) -> float:
        """How many hyperplanes (or support vectors) a draw uses, on average.

        Those of the two directions are added up where there are two. Only what is active
        counts, and the reference class has none.

        Returns
        -------
        float
        """
        fitted = self.fitted_
        draws, binary = fitted.draws, fitted.binary
        counts = np.empty(draws.order.shape[:2])
        for chain, draw in np.ndindex(counts.shape):
            sticks = draws.order[chain, draw, :-1]
            own = {name: values[chain, draw, sticks] for name, values in draws.parameters.items()}
            counts[chain, draw] = binary.n_hyperplanes(own)
        return float(sum(counts[draws.of_direction(name)].mean() for name in fitted.directions))

    @property
    def converged_(self) -> bool:
        """Whether R-hat and effective sample size are within their limits; never in the warm-up."""
        seen, fitted = self.diagnostics_, self.fitted_
        good = seen.worst_rhat <= fitted.limits.rhat and seen.worst_ess >= fitted.limits.ess
        return bool(good and fitted.draws.ended != "warm-up")

    def convergence_in_words(self) -> str:
        """How good the draws are, and what to change where they are not good enough.

        Returns
        -------
        str
            What the warning of `fit` says, or that all is well, from `diagnostics_`.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(order=[0, 1, 2], random_state=1).fit(X, y)
        >>> print(model.convergence_in_words())
        4 chains of 1000 draws, and they are good: R-hat is at most ..., the effective sample size
        at least .... Averaged class probabilities are known to ± ... (standard error between
        chains, in 95 % of the rows).
        """
        from pasb.posterior.advice import convergence_in_words

        fitted = self.fitted_
        return convergence_in_words(
            fitted.draws, self.diagnostics_, fitted.limits, fitted.checkpoint
        )

    def predict_frame(
        self, X, interval: float = 0.9, n_draws: int | None = None, availability: Any = None
    ) -> Any:
        """Predictions with credible intervals, as a data frame of the kind of `X`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        interval : float, default=0.9
            Probability of the interval of each class probability.
        n_draws : int, optional
            As in `predict_proba`.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `predict_proba`.

        Returns
        -------
        pandas or polars DataFrame
            ``prediction``, and for each class ``p_<class>``, ``p_<class>_lower``,
            ``p_<class>_upper``; in pandas with the index of `X`.
        """
        fitted, tails = self.fitted_, tails_of(interval)
        names = [f"p_{label}{end}" for label in fitted.classes for end in ("", "_lower", "_upper")]
        if len(set(names)) < len(names):
            raise ValueError(
                "two columns would have the same name, because one class is called like another "
                "with _lower or _upper at its end: rename it, or use sample_proba"
            )
        predictor, (inner, available) = fitted.predictor(n_draws), fitted.opened(X, availability)
        mean, lower, upper = predictor.intervals(inner, tails, fitted.n_threads, available)
        columns: dict[str, Any] = {"prediction": fitted.classes[np.argmax(mean, axis=1)]}
        for s, label in enumerate(fitted.classes):
            columns[f"p_{label}"] = mean[:, s]
            columns[f"p_{label}_lower"] = lower[:, s]
            columns[f"p_{label}_upper"] = upper[:, s]
        library = "polars" if type(X).__module__.startswith("polars") else "pandas"
        frame = native_frame(columns, library)
        if type(X).__module__.startswith("pandas"):
            frame.index = X.index
        return frame

    def export(self, path: str | os.PathLike) -> None:
        """Write `posterior_` to NetCDF (``.nc``) or Zarr (``.zarr``).

        Parameters
        ----------
        path : path
            The ending decides the format.
        """
        from pasb.posterior.tree import write_tree

        write_tree(self.posterior_, Path(path))
