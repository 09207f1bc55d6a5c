"""The data transformation of the paper as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from pasb.classifiers.settings import fit_context
from pasb.classifiers.softplus_classifier import SoftplusClassifier
from pasb.classifiers.stacked import StackedSoftplusClassifier
from pasb.covariates.checking import checked_table


class SoftplusFeatures(TransformerMixin, BaseEstimator):
    """Append the active hyperplanes of a softplus model to the covariates.

    `fit` fits the model and takes the hyperplanes of its active experts from the last draw of
    every chain; `transform` appends log(1 + exp(x'b)) for each of them. One draw fits the training
    rows more closely than new ones: with several chains a model on top can average over them.

    Parameters
    ----------
    classifier : SoftplusClassifier or None, default=None
        The model that finds the hyperplanes; None means ``SoftplusClassifier()``.

    Attributes
    ----------
    classifier_ : SoftplusClassifier
        The fitted model.
    hyperplanes_ : array of shape (n_hyperplanes, 1 + n_features)
        Intercepts and slopes, on the scale of `X`.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only when `X` had column names that are all strings.

    Examples
    --------
    >>> from pasb import SoftplusClassifier, SoftplusFeatures
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SoftplusClassifier(
    ...     n_experts=1, n_layers=2, n_chains=1, n_warmup=100, n_draws=100, random_state=1
    ... )
    >>> features = SoftplusFeatures(model).set_output(transform="pandas").fit(X, y)
    >>> features.transform(X).columns[4].startswith("softplus forward")
    True
    """

    _parameter_constraints: ClassVar[dict] = {"classifier": [SoftplusClassifier, None]}

    def __init__(self, classifier: SoftplusClassifier | None = None):
        self.classifier = classifier

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None):
        """Fit the softplus model and take over its hyperplanes.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            0 or 1 for each row.

        Returns
        -------
        self
        """
        checked_table(self, X, y=y, reset=True)
        if isinstance(self.classifier, StackedSoftplusClassifier):
            raise TypeError(
                "classifier must be a SoftplusClassifier: the hyperplanes of a "
                "StackedSoftplusClassifier are not hyperplanes of the covariates"
            )
        model = SoftplusClassifier() if self.classifier is None else clone(self.classifier)
        self.classifier_ = model.fit(X, y, sample_weight=sample_weight)
        self._hyperplanes = self.classifier_._last_hyperplanes()
        intercept, slopes = self._hyperplanes.scaling.intercept_and_slopes(
            self._hyperplanes.vectors
        )
        self.hyperplanes_ = np.column_stack([intercept, slopes])
        return self

    def transform(self, X: ArrayLike) -> Any:
        """The covariates, and behind them the responses of the hyperplanes.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array or data frame of shape (n_rows, n_features + n_hyperplanes)
        """
        check_is_fitted(self)
        table = checked_table(self, X, reset=False)
        return self._hyperplanes.behind(table, table)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the covariates, where `fit` saw none.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        own = getattr(self, "feature_names_in_", None)
        names = own if input_features is None else np.asarray(input_features, dtype=object)
        if names is None:
            names = np.array([f"x{v}" for v in range(self.n_features_in_)], dtype=object)
        if own is not None and not np.array_equal(names, own):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        responses = self._hyperplanes.names(self.classifier_.classes_)
        return np.concatenate([names, np.array(responses, dtype=object)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
