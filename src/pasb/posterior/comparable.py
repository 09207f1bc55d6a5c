"""How well a fitted model predicts rows it has not seen, and what ArviZ needs to check it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from pasb.binary.linear import LinearModel
from pasb.covariates.choice_data import refuse_choices

if TYPE_CHECKING:
    import xarray

    from pasb.posterior.fitted import Fitted
    from pasb.posterior.loo import Loo


class ComparableMixin:
    """Leave-one-out predictions and further groups of `posterior_`."""

    _saw_all_rows = False  # whether columns were learned from the labels of all rows

    @property
    def fitted_(self) -> Fitted:
        """What was fitted."""
        raise NotImplementedError

    @property
    def posterior_(self) -> xarray.DataTree:
        """The draws with names."""
        raise NotImplementedError

    def loo(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        refit: bool | int = False,
        warn: bool = True,
        availability: Any = None,
    ) -> Loo:
        """Expected log predictive density of rows left out, one at a time, mostly without refits.

        Pareto-smoothed importance sampling, in blocks of rows: log-likelihoods of all draws and
        rows are never in memory together.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            What the model was fitted to.
        refit : bool or int, default=False
            Fit again without each row whose weights cannot be trusted; True allows 20 fits, a
            number so many.
        warn : bool, default=True
            Warn of rows whose weights cannot be trusted.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `fit`.

        Returns
        -------
        Loo
            With `elpd`, `se`, `p_loo`, `elpd_of_row` and `pareto_k`; `pasb.compare` compares
            those of several models.

        Notes
        -----
        The rate of the prior that empirical Bayes chose is kept, as is the scaling, in all but the
        refits, which scale the rows that are left.

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(n_warmup=200, n_draws=250, random_state=1).fit(X, y)
        >>> loo = model.loo(X, y, warn=False)
        >>> -30 < loo.elpd < 0, len(loo.elpd_of_row)
        (True, 150)
        """
        from pasb.posterior.loo import MOST_REFITS, leave_one_out, warn_of_bad, with_refits
        from pasb.posterior.pointwise import availability_of_chosen

        if self._saw_all_rows:
            raise ValueError(
                "loo() cannot leave a row out of a stack: its lower hyperplanes were learned from "
                "all rows. Use cross-validation, such as sklearn.model_selection.cross_val_predict"
            )
        fitted = self.fitted_
        if availability is None:
            fitted.check_all_available("loo(X, y)")
        available = availability_of_chosen(fitted, X, y, availability)
        found = leave_one_out(fitted, X, y, sample_weight, available)
        if refit and len(found.bad):
            most = MOST_REFITS if refit is True else int(refit)
            again = partial(self._fit_again, X, y, availability=available)
            return with_refits(found, again, X, y, most, available)
        if warn:
            warn_of_bad(found)
        return found

    def _fit_again(
        self, X: ArrayLike, y: ArrayLike, weights: NDArray[np.float64], availability: Any = None
    ) -> Fitted:
        """What was fitted to rows with these weights, under the same prior."""
        twin: Any = clone(self)
        settings = twin.get_params()
        if isinstance(self.fitted_.binary, LinearModel) and "precision_rate" in settings:
            twin.set_params(precision_rate=self.precision_rate_)  # type: ignore[attr-defined]
        quiet = {"checkpoint": None, "progress": False}
        twin.set_params(**{name: value for name, value in quiet.items() if name in settings})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more = {} if availability is None else {"availability": availability}
            return twin.fit(X, y, sample_weight=weights, **more).fitted_

    def posterior_with(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        groups: Any = ("log_likelihood", "observed_data", "posterior_predictive"),
        n_prior: int = 500,
        random_state: Any = None,
        availability: Any = None,
    ) -> xarray.DataTree:
        """`posterior_` with further groups, which need rows: for ArviZ's comparisons and checks.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,), optional
            Needed for ``log_likelihood`` and ``observed_data``.
        groups : list of str
            Of ``log_likelihood``, ``observed_data``, ``posterior_predictive``, ``prior`` and
            ``prior_predictive``. In all of them the variable is ``y``, the number of a class in
            `classes_`. They hold draws times rows numbers: for large tables, use `loo`.
        n_prior : int, default=500
            Draws from the prior.
        random_state : int, RandomState or None, default=None
            For predictive draws.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `fit`, for likelihoods and predictive draws, those from the prior too.

        Returns
        -------
        xarray.DataTree

        Examples
        --------
        >>> from pasb import StickLogisticClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = StickLogisticClassifier(n_warmup=200, n_draws=250, random_state=1).fit(X, y)
        >>> tree = model.posterior_with(X, y)
        >>> tree["log_likelihood"]["y"].sizes["row"]
        150
        """
        import xarray

        from pasb.posterior.groups import extra_groups

        refuse_choices(
            X, "posterior_with takes", "use posterior_ and, to judge predictions, loo(data)"
        )
        if availability is None:
            self.fitted_.check_all_available("posterior_with")
        extra = extra_groups(self.fitted_, X, y, groups, n_prior, random_state, availability)
        own = {name: self.posterior_[name].to_dataset() for name in self.posterior_.children}
        for dataset in extra.values():
            dataset.attrs |= own["posterior"].attrs
        return xarray.DataTree.from_dict(own | extra)
