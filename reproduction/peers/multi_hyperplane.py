"""Adaptive multi-hyperplane machine: several hyperplanes a class, as many as it takes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pasb.covariates.checking import checked_table
from reproduction.peers.multi_hyperplane_kernels import assign, class_scores, one_pass


class HyperplaneTraining:
    """The state of a training run, which can continue epoch by epoch.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Covariates, with a constant column where one is wanted.
    classes : int array of shape (n_rows,)
    n_classes : int
    regularization : float
    max_weights : int
    prune_threshold : float
    prune_every : int
    rng : RandomState
    """

    def __init__(
        self,
        rows: NDArray[np.float64],
        classes: NDArray[np.int64],
        n_classes: int,
        *,
        regularization: float,
        max_weights: int,
        prune_threshold: float,
        prune_every: int,
        rng: np.random.RandomState,
    ):
        self.rows, self.classes = rows, classes
        self.settings = (float(regularization), float(prune_threshold), int(prune_every))
        self.rng = rng
        self.sums = np.zeros((n_classes, int(max_weights), rows.shape[1]))
        self.counts = np.ones(n_classes, dtype=np.int64)
        self.names = np.zeros((n_classes, int(max_weights)), dtype=np.int64)
        self.names[:, 0] = np.arange(n_classes)
        self.next_name = np.array([n_classes])
        self.assigned = np.zeros(len(rows), dtype=np.int64)
        self.n_steps = 0
        self.n_epochs = 0
        self._pass(first=True)

    def advance(self, n_epochs: int) -> None:
        """Continue until `n_epochs` epochs are done, the first pass not counted."""
        while self.n_epochs < n_epochs:
            if self.n_epochs > 0:
                assign(self.rows, self.classes, self.sums, self.counts, self.names, self.assigned)
            self._pass(first=False)
            self.n_epochs += 1

    def _pass(self, first: bool) -> None:
        self.n_steps = one_pass(
            self.rows,
            self.classes,
            self.rng.permutation(len(self.rows)),
            first,
            *self.settings,
            self.sums,
            self.counts,
            self.names,
            self.next_name,
            self.assigned,
            self.n_steps,
        )

    def weights(self) -> list[NDArray[np.float64]]:
        """The weight vectors of each class."""
        scale = self.settings[0] * (self.n_steps + 1)
        return [
            vectors[:count] / scale for vectors, count in zip(self.sums, self.counts, strict=True)
        ]


def scores_of(weights: list[NDArray[np.float64]], rows: NDArray[np.float64]):
    """The score of each row (first axis) for each class: that of the best of its vectors."""
    counts = np.array([len(vectors) for vectors in weights])
    stacked = np.zeros((len(weights), counts.max(), rows.shape[1]))
    for s, vectors in enumerate(weights):
        stacked[s, : counts[s]] = vectors
    out = np.empty((len(rows), len(weights)))
    class_scores(rows, stacked, counts, out)
    return out


def with_bias(X: NDArray[np.float64], bias: float) -> NDArray[np.float64]:
    """Covariates before a column that holds `bias`; without it where it is zero."""
    constant = np.full((len(X), 1 if bias else 0), float(bias))
    return np.array(np.hstack([X, constant]), order="C")


class AdaptiveMultiHyperplane(ClassifierMixin, BaseEstimator):
    """Adaptive multi-hyperplane machine, batch version.

    Every class has a set of weight vectors, and its score is that of the best of them.
    The multi-class hinge loss with an L2 penalty is lowered by stochastic gradient steps.
    Which vector of its class a row should be served by is fixed during an epoch and chosen
    again after it. A row for which all vectors of its class do no better than a zero vector
    starts a new one; short vectors are dropped [1]_.

    Details follow version 1.1 of the BudgetedSVM software [2]_, and the defaults are its
    defaults: a first pass over the rows that assigns and grows but does not prune comes
    before the epochs; each class starts from a zero vector, which moves like any other;
    a score may be negative, so the zero vector matters for growing only.

    Parameters
    ----------
    regularization : float, default=1e-4
        Weight of the L2 penalty (the paper's nu, the software's lambda).
    n_epochs : int, default=5
        Passes over the rows after the first one.
    max_weights : int, default=50
        Most weight vectors of a class.
    prune_threshold : float, default=10.0
        After t steps the shortest vectors are dropped while the root of their summed squared
        lengths is at most ``prune_threshold / (t * regularization)``.
    prune_every : int, default=10000
        Steps between prunings. A step is one row, so small tables are pruned late or never.
    bias : float, default=1.0
        Value of the constant column; 0 leaves it out.
    random_state : int, RandomState or None, default=None
        Order of the rows in each pass.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Only when `X` had column names that are all strings.
    weights_ : list of arrays of shape (n_vectors, n_features_in_ + 1)
        The weight vectors of each class, the bias (where there is one) last.
    n_hyperplanes_ : int
        Weight vectors of all classes together.

    References
    ----------
    .. [1] Wang, Djuric, Crammer and Vucetic (2011). Trading representability for
       scalability: adaptive multi-hyperplane machine for nonlinear classification. KDD.
    .. [2] Djuric, Lan, Vucetic and Wang (2013). BudgetedSVM: a toolbox for scalable SVM
       approximations. Journal of Machine Learning Research 14.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.peers import AdaptiveMultiHyperplane
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = X[:, 0] * X[:, 1] > 0  # no line separates these
    >>> model = AdaptiveMultiHyperplane(n_epochs=20, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "max_weights": [Interval(Integral, 1, None, closed="left")],
        "prune_threshold": [Interval(Real, 0, None, closed="left")],
        "prune_every": [Interval(Integral, 1, None, closed="left")],
        "bias": [Interval(Real, None, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        regularization: float = 1e-4,
        n_epochs: int = 5,
        max_weights: int = 50,
        prune_threshold: float = 10.0,
        prune_every: int = 10_000,
        bias: float = 1.0,
        random_state: Any = None,
    ):
        self.regularization = regularization
        self.n_epochs = n_epochs
        self.max_weights = max_weights
        self.prune_threshold = prune_threshold
        self.prune_every = prune_every
        self.bias = bias
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike):
        """Train on rows and their classes.

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
        training = self._training(table, classes, len(self.classes_))
        training.advance(self.n_epochs)
        self.weights_ = training.weights()
        self.n_hyperplanes_ = int(training.counts.sum())
        return self

    def _training(
        self, table: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int
    ) -> HyperplaneTraining:
        return HyperplaneTraining(
            with_bias(table, self.bias),
            classes,
            n_classes,
            regularization=self.regularization,
            max_weights=self.max_weights,
            prune_threshold=self.prune_threshold,
            prune_every=self.prune_every,
            rng=check_random_state(self.random_state),
        )

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The score of each class; of two classes, how far the second is ahead.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) for two classes
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray:
        """The class with the largest score; of equal ones, the first."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return scores_of(self.weights_, with_bias(checked_table(self, X, reset=False), self.bias))
