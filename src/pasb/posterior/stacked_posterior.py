"""Predictions averaged over models, or over chains that stay in different modes."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.covariates.choice_data import ChoiceData
from pasb.posterior.comparison import named_models, stacking_weights
from pasb.posterior.fitted import Fitted
from pasb.posterior.pipelines import unpiped


class StackedPosterior:
    """Several fitted classifiers whose predictions are averaged with weights.

    Parameters
    ----------
    models : dict or list of fitted classifiers, or of pipelines that end in one
        With the same classes.
    weights : array of shape (n_models,), optional
        Such as the column ``weight`` of `pasb.compare`, in the order of `models`. Equal by default.

    Attributes
    ----------
    models_ : dict
    weights_ : array of shape (n_models,)
    classes_ : array of shape (n_classes,)

    Notes
    -----
    Chains of a nonlinear model may stay in different modes, which equal weights would average
    as if each chain were as good as the others. `of_chains` gives them the weights with which
    predictions of left-out rows are best (Yao, Vehtari and Gelman 2022).

    `pasb.effects` (all but odds ratios) and `pasb.plots.effects` take a stack as they take a
    model: each of its models gives draws in proportion to its weight, evenly spaced, none twice.
    For all else, look at the models one by one.

    Examples
    --------
    >>> import pasb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = pasb.StickLogisticClassifier(n_warmup=200, n_draws=250, random_state=1).fit(X, y)
    >>> stacked = pasb.StackedPosterior.of_chains(model, X, y)
    >>> stacked.predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(self, models: Any, weights: ArrayLike | None = None):
        self.models_ = named_models(models)
        each = list(self.models_.values())
        n = len(each)
        own = np.full(n, 1 / n) if weights is None else np.asarray(weights, dtype=np.float64)
        if own.shape != (n,) or not (own >= 0).all() or not np.isfinite(own).all() or not own.any():
            raise ValueError(f"weights must hold {n} numbers, not negative and not all 0")
        self.weights_ = own / own.sum()
        self.classes_ = _fitted(each[0]).classes
        for name, model in self.models_.items():
            if not np.array_equal(_fitted(model).classes, self.classes_):
                raise ValueError(f"{name!r} has other classes than the first model")

    @classmethod
    def of_chains(
        cls, model: Any, X: Any, y: ArrayLike | None = None, availability: Any = None
    ) -> StackedPosterior:
        """The chains of one model, weighted by how well each predicts rows left out.

        Parameters
        ----------
        model : fitted classifier
        X, y : array or data frame, array
            The rows it was fitted to; `ChoiceData` needs no `y`.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `fit`.
        """
        draws, chains = model.fitted_.draws, []
        for k in range(draws.n_chains):
            chain = copy(model)
            chain.draws_ = draws.of_chain(k)
            chain.direction = draws.directions[k]
            chains.append(chain)
        how = {"warn": False, "availability": availability}
        logs = np.stack([chain.loo(X, y, **how).elpd_of_row for chain in chains], axis=1)
        names = [f"chain {k}" for k in range(len(chains))]
        return cls(dict(zip(names, chains, strict=True)), stacking_weights(logs))

    def predict_proba(self, X: Any, availability: Any = None) -> NDArray[np.float64]:
        """Weighted averages of the models' posterior-mean class probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        availability : array or data frame of shape (n_rows, n_classes), optional
            Which classes a row can choose; by default all, with a warning if a model was fitted
            with availability.
        """
        total: Any = 0.0
        for weight, model in zip(self.weights_, self.models_.values(), strict=True):
            if weight > 0:
                last, table = unpiped(model, X)
                total = total + weight * last.predict_proba(table, availability=availability)
        return total

    def predict(self, X: Any, availability: Any = None) -> NDArray:
        """The class with the largest averaged probability."""
        return self.classes_[np.argmax(self.predict_proba(X, availability), axis=1)]

    def sample_proba(
        self, X: Any, n_draws: int = 1000, availability: Any = None
    ) -> NDArray[np.float64]:
        """Draws of class probabilities, from each model in proportion to its weight.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        n_draws : int, default=1000
            Of all models together; a model has a draw more than once where it has too few.
        availability : array or data frame of shape (n_rows, n_classes), optional
            As in `predict_proba`.

        Returns
        -------
        array of shape (n_draws, n_rows, n_classes)
        """
        parts = []
        for name, n in self._shares(n_draws).items():
            model, table = unpiped(self.models_[name], X)
            n_own = min(n, _n_draws(model))
            part = model.sample_proba(table, n_draws=n_own, availability=availability)
            parts.append(part[np.arange(n) % len(part)])
        return np.concatenate(parts)

    def draws_of_models(self, n_draws: int | None = None) -> dict[str, int]:
        """How many different draws of each model stand for the stack: in proportion to weights.

        Parameters
        ----------
        n_draws : int, optional
            Of all models together; by default as many as there are.

        Returns
        -------
        dict
            Without models that have none.
        """
        held = {name: _n_draws(model) for name, model in self.models_.items()}
        used = zip(self.weights_, held.values(), strict=True)
        most = int(min(own / weight for weight, own in used if weight > 0))
        while any(n > held[name] for name, n in self._shares(most).items()):  # by rounding
            most -= 1
        if n_draws is None:
            n_draws = most
        elif not (isinstance(n_draws, Integral) and 1 <= n_draws <= most):
            raise ValueError(
                f"n_draws must be a positive integer up to {most}, with which no model of the "
                f"stack has a draw twice; got {n_draws!r}"
            )
        return self._shares(int(n_draws))

    def _shares(self, n_draws: int) -> dict[str, int]:
        edges = np.rint(np.concatenate([[0.0], np.cumsum(self.weights_)]) * n_draws).astype(int)
        each = zip(self.models_, np.diff(edges).tolist(), strict=True)
        return {name: n for name, n in each if n > 0}

    def score(self, X: Any, y: ArrayLike, availability: Any = None) -> float:
        """The share of rows whose class is predicted.

        Models that were fitted with availability ask for it.
        """
        if availability is None and not isinstance(X, ChoiceData):
            for model in self.models_.values():
                _fitted(model).check_all_available("score(X, y)")
        return float(np.mean(self.predict(X, availability) == np.asarray(y)))


def _fitted(model: Any) -> Fitted:
    return unpiped(model)[0].fitted_


def _n_draws(model: Any) -> int:
    draws = _fitted(model).draws
    return draws.n_chains * draws.n_draws
