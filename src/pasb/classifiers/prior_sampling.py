"""What a prior says before the data do: class probabilities of rows under draws from it."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from pasb.posterior.groups import prior_draws
from pasb.sampling.draws import Draws
from pasb.sampling.progress import Progress


class PriorSampling:
    """Draws from the prior of a classifier."""

    def sample_prior_proba(
        self, X: ArrayLike, y: ArrayLike, n_draws: int = 500, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Class probabilities of rows under draws from the prior, before any fit.

        Order and coefficients are drawn from the prior that `fit` would use: `X` and `y` only
        tell the classes, the scaling and, where it is "auto", the scale of the prior.
        `pasb.plots.prior_predictive` draws a picture of them.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        n_draws : int, default=500
        random_state : int, RandomState or None, default=None

        Returns
        -------
        array of shape (n_draws, n_rows, n_classes)

        Examples
        --------
        >>> import pasb
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> wide = pasb.StickLogisticClassifier(prior=pasb.Normal(0, 100))
        >>> narrow = pasb.StickLogisticClassifier(prior=pasb.Normal(0, 0.1))
        >>> for model in (wide, narrow):  # how sure is the likeliest class?
        ...     p = model.sample_prior_proba(X, y, random_state=1)
        ...     print(p.shape, p.max(axis=2).mean() > 0.9)
        (500, 150, 3) True
        (500, 150, 3) False
        """
        return sampled_prior(self, X, y, n_draws, random_state)


def sampled_prior(
    model: Any, X: ArrayLike, y: ArrayLike, n_draws: int, random_state: Any
) -> NDArray[np.float64]:
    """Class probabilities, (draws, rows, classes); see `PriorSampling`."""
    if not (isinstance(n_draws, Integral) and n_draws >= 1):
        raise ValueError(f"n_draws must be a positive integer; got {n_draws!r}")
    if model._saw_all_rows:
        raise ValueError(
            "a stacked model has no prior to draw from: its covariates are what its lower layers "
            "learn from the rows"
        )
    twin, settings = clone(model), model.get_params(deep=False)
    quiet = {"checkpoint": None, "callbacks": None, "max_seconds": None, "progress": False}
    twin.set_params(**{name: value for name, value in quiet.items() if name in settings})
    twin.check_settings()
    with Progress(False):
        twin._prepare(X, y)
    nothing = Draws(
        parameters={},
        directions=twin._directions,
        order=np.zeros((len(twin._directions), 0, len(twin.classes_)), dtype=np.int64),
        log_likelihood=np.zeros((len(twin._directions), 0)),
        statistics={},
        guards={},
        n_warmup=0,
        n_asked=0,
    )
    fitted = twin._fitted(nothing)
    inner = fitted.inner_rows(X)
    rng = check_random_state(random_state)
    each = -(-int(n_draws) // len(twin._directions))
    draws = prior_draws(fitted, inner, each, rng, twin._fixed_orders())
    return replace(fitted, draws=draws).predictor().samples(inner, fitted.n_threads)[:n_draws]
