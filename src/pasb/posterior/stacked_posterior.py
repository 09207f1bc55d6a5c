"""Predictions averaged over models, or over chains that stay in different modes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.posterior.comparison import named_models, stacking_weights


class StackedPosterior:
    """Several fitted classifiers whose predictions are averaged with weights.

    Parameters
    ----------
    models : dict or list of fitted classifiers
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
        self.classes_ = each[0].fitted_.classes
        for name, model in self.models_.items():
            if not np.array_equal(model.fitted_.classes, self.classes_):
                raise ValueError(f"{name!r} has other classes than the first model")

    @classmethod
    def of_chains(cls, model: Any, X: Any, y: ArrayLike) -> StackedPosterior:
        """The chains of one model, weighted by how well each predicts rows left out.

        Parameters
        ----------
        model : fitted classifier
        X, y : array or data frame, array
            The rows it was fitted to.
        """
        draws, chains = model.fitted_.draws, []
        for k in range(draws.n_chains):
            chain = copy(model)
            chain.draws_ = draws.of_chain(k)
            chain.direction = draws.directions[k]
            chains.append(chain)
        logs = np.stack([chain.loo(X, y, warn=False).elpd_of_row for chain in chains], axis=1)
        names = [f"chain {k}" for k in range(len(chains))]
        return cls(dict(zip(names, chains, strict=True)), stacking_weights(logs))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Weighted averages of the models' posterior-mean class probabilities."""
        used = [(w, m) for w, m in zip(self.weights_, self.models_.values(), strict=True) if w > 0]
        return sum(weight * model.predict_proba(X) for weight, model in used)

    def predict(self, X: Any) -> NDArray:
        """The class with the largest averaged probability."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def sample_proba(self, X: Any, n_draws: int = 1000) -> NDArray[np.float64]:
        """Draws of class probabilities, from each model in proportion to its weight.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        n_draws : int, default=1000
            Of all models together; a model has a draw more than once where it has too few.

        Returns
        -------
        array of shape (n_draws, n_rows, n_classes)
        """
        edges = np.rint(np.concatenate([[0.0], np.cumsum(self.weights_)]) * n_draws).astype(int)
        parts = []
        for n, model in zip(np.diff(edges), self.models_.values(), strict=True):
            if n > 0:
                total = model.fitted_.draws.order[..., 0].size
                part = model.sample_proba(X, n_draws=min(int(n), total))
                parts.append(part[np.arange(n) % len(part)])
        return np.concatenate(parts)

    def score(self, X: Any, y: ArrayLike) -> float:
        """The share of rows whose class is predicted."""
        return float(np.mean(self.predict(X) == np.asarray(y)))
