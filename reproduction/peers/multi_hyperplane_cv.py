"""Adaptive multi-hyperplane machine, tuned by cross-validation as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pasb.covariates.checking import checked_table
from reproduction.peers.multi_hyperplane import AdaptiveMultiHyperplane, scores_of, with_bias

REGULARIZATIONS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
EPOCHS = (5, 10, 20, 50, 100)


class AdaptiveMultiHyperplaneCV(ClassifierMixin, BaseEstimator):
    """Adaptive multi-hyperplane machine, its penalty and its epochs cross-validated.

    For each penalty the numbers of epochs are tried one after the other, until the
    cross-validated error grows; the last one before that represents the penalty. Of the
    penalties the one with the smallest error wins; of equal ones, the largest.

    Parameters
    ----------
    estimator : AdaptiveMultiHyperplane or None, default=None
        Holds all other settings; None means the defaults.
    regularizations : sequence of float, default=(1e-7, 1e-6, ..., 1e-2)
        Penalties to try.
    epochs : sequence of int, default=(5, 10, 20, 50, 100)
        Numbers of epochs to try, rising.
    cv : int or cross-validation splitter, default=5
        Folds. The paper does not say how many it took.
    random_state : int, RandomState or None, default=None
        Order of the rows in each pass.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    regularization_ : float
        The penalty that won.
    n_epochs_ : int
        Its number of epochs.
    cv_errors_ : array of shape (n_regularizations, n_epochs)
        Share of rows that were misclassified, NaN where it was not tried.
    estimator_ : AdaptiveMultiHyperplane
        Trained on all rows with these settings.
    n_hyperplanes_ : int
        Weight vectors of all classes together.

    Examples
    --------
    >>> from reproduction.peers import AdaptiveMultiHyperplaneCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaptiveMultiHyperplaneCV(epochs=(5, 10), random_state=0).fit(X, y)
    >>> model.cv_errors_.shape
    (6, 2)
    >>> model.score(X, y) > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "regularizations": ["array-like"],
        "epochs": ["array-like"],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"])],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        estimator: AdaptiveMultiHyperplane | None = None,
        regularizations: Sequence[float] = REGULARIZATIONS,
        epochs: Sequence[int] = EPOCHS,
        cv: Any = 5,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.regularizations = regularizations
        self.epochs = epochs
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike):
        """Choose penalty and epochs, and train on all rows with them.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Covariates of about the same range; the paper scales them to [-1, 1].
        y : array of shape (n_rows,)
            Class labels, numbers or strings.

        Returns
        -------
        self
        """
        table, labels = checked_table(self, X, y=y, reset=True)
        check_classification_targets(labels)
        self.classes_, classes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only ({self.classes_.tolist()[0]!r}); a classifier needs rows "
                "of at least two classes"
            )
        if len(self.regularizations) == 0:
            raise ValueError("regularizations is empty: give at least one penalty")
        if len(self.epochs) == 0 or np.any(np.diff([0, *self.epochs]) <= 0):
            raise ValueError(f"epochs must be increasing positive integers, not {self.epochs!r}")
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        model = AdaptiveMultiHyperplane() if self.estimator is None else clone(self.estimator)
        model.set_params(random_state=seed)
        folds = list(check_cv(self.cv, classes, classifier=True).split(table, classes))

        paths = [
            _errors_by_epochs(
                clone(model).set_params(regularization=nu), table, classes, folds, self.epochs
            )
            for nu in self.regularizations
        ]
        self.cv_errors_ = np.array(paths)
        chosen = [_last_before_growth(path) for path in paths]
        errors = np.array([path[k] for path, k in zip(paths, chosen, strict=True)])
        ties = np.flatnonzero(errors == errors.min()).tolist()
        best: int = max(ties, key=lambda k: self.regularizations[k])
        self.regularization_ = float(self.regularizations[best])
        self.n_epochs_ = int(self.epochs[chosen[best]])
        self.estimator_ = model.set_params(
            regularization=self.regularization_, n_epochs=self.n_epochs_
        ).fit(table, classes)
        self.n_hyperplanes_ = self.estimator_.n_hyperplanes_
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """The class with the largest score; of equal ones, the first."""
        check_is_fitted(self)
        return self.classes_[self.estimator_.predict(checked_table(self, X, reset=False))]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The score of each class; of two classes, how far the second is ahead."""
        check_is_fitted(self)
        return self.estimator_.decision_function(checked_table(self, X, reset=False))


def _errors_by_epochs(model, table, classes, folds, epochs) -> NDArray[np.float64]:
    """Cross-validated error for one number of epochs after the other, until it grows.

    A run of ten epochs begins with the run of five: each fold is trained once.
    """
    n_classes = int(classes.max()) + 1
    runs = [model._training(table[train], classes[train], n_classes) for train, _ in folds]
    errors = np.full(len(epochs), np.nan)
    for k, n_epochs in enumerate(epochs):
        wrong = 0
        for training, (_, test) in zip(runs, folds, strict=True):
            training.advance(int(n_epochs))
            scores = scores_of(training.weights(), with_bias(table[test], model.bias))
            wrong += int(np.sum(np.argmax(scores, axis=1) != classes[test]))
        errors[k] = wrong / sum(len(test) for _, test in folds)
        if k > 0 and errors[k] > errors[k - 1]:
            break
    return errors


def _last_before_growth(errors: NDArray[np.float64]) -> int:
    grows = np.flatnonzero(errors[1:] > errors[:-1])
    return int(grows[0]) if len(grows) else len(errors) - 1
