"""Any scikit-learn classifier with `predict_proba` on sticks."""

from __future__ import annotations

from dataclasses import replace
from inspect import isclass, signature
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from pasb.classifiers.refitting import undone_by_errors
from pasb.classifiers.settings import AT_LEAST_ONE, RUN, HasMethods, StrOptions, fit_context
from pasb.classifiers.stick_ensemble_fits import StickFits, stop_and_go_on
from pasb.classifiers.stick_ensemble_order import OutOfFold, folds_of
from pasb.covariates.checking import checked_classes, checked_labels, checked_order, checked_weights
from pasb.covariates.rows_elsewhere import need_at_hand
from pasb.numerics.helpers import cores
from pasb.orders.known_sticks import sticks_of
from pasb.sampling.fingerprint import seed_of
from pasb.sticks import log_probabilities


class StickEnsembleClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Any scikit-learn classifier with `predict_proba` on sticks.

    Classes sit on sticks, one after the other. On each stick, a binary classifier tells its class
    from all classes behind it, and class probabilities are products of what these classifiers
    predict. The order of the classes is the one with the largest out-of-fold likelihood. Nothing is
    Bayesian here: there is one order, one estimator on each stick, and no intervals.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a pipeline, with `predict_proba`. On each stick it sees the labels 1 (the
        row has the class of this stick) and 0 (it has one of those behind it). It gets `X` as it
        was given: data frames, sparse matrices and lists of texts are passed on.
    order : "infer" or sequence of class labels, default="infer"
        Which class sits on which stick. A sequence fixes the order, from the first stick to the
        last class (the reference), and nothing is cross-validated.
    search : {"auto", "lattice", "walk", "peel"}, default="auto"
        How the order is inferred. "lattice" compares all orders, up to 12 classes. "peel" takes off
        one class after the other, the one that costs least log-likelihood a row. "walk" peels, and
        then swaps neighbours, first with some noise, then while that helps. "auto" is "lattice"
        up to eight classes, or where that takes at most `max_fits` if that is a number, else
        "walk".
    max_fits : "auto" or int, default="auto"
        The most binary fits by which "auto" and "walk" search, but at least 2 `cv` for each
        class. Where peeling would take more, the walk starts from the classes sorted by how well
        they are told from all others. "auto" compares all orders of up to eight classes (4940
        fits for eight, with five folds) and walks by 1000 fits beyond; for estimators that are
        slow to fit, 1000 compares all orders of six classes and walks beyond.
    cv : int, cross-validation splitter or iterable, default=5
        Folds of the out-of-fold likelihood, stratified by class where it is a number. A class may
        have fewer rows than there are folds.
    random_state : int, RandomState, Generator or None, default=None
        Steers the folds, and estimators and steps whose own `random_state` is None. The same int
        gives the same model, whatever `n_jobs` is.
    n_jobs : int or None, default=None
        Fits that run at the same time, by joblib. -1 means one for every core; None means 1,
        unless a `joblib.parallel_config` context says otherwise. Not -1 by default, as in the
        other ensembles of scikit-learn: many estimators use several threads themselves, and
        every process has a copy of the table.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    order_ : array of shape (n_classes,)
        The classes, from the first stick to the last class. The last two are interchangeable.
    estimators_ : list of n_classes - 1 estimators
        Those of the sticks of `order_`, first to last, fitted to all rows of their stick.
    log_loss_ : float
        Out-of-fold log loss of `order_`, or NaN where the order was fixed. It is a little too good,
        because the order was chosen by it.
    stick_scores_ : dict
        Out-of-fold log-likelihoods of all sticks that were looked at. Keys are a class and the
        tuple of the classes behind it.
    n_fits_ : int
        Binary fits in all: those of the search, and of the sticks of `order_`.
    n_shares_ : int
        Out-of-fold fits in which all rows had the same label, so that their share took the place
        of the estimator.
    n_features_in_ : int
        Where `X` has columns.
    feature_names_in_ : array of shape (number of columns,)
        Only when `X` had column names that are all strings.

    See Also
    --------
    StickLogisticClassifier : Bayesian, with a posterior of order and coefficients.
    sklearn.multiclass.OneVsRestClassifier : Each class against all others.

    Notes
    -----
    The binary problem of a stick depends only on its class and the set of classes behind it, so
    orders share sticks, and each is fitted once. With S classes and K folds, "lattice" takes
    K (S (2^(S-1) - 1) - S (S-1) / 2) fits: 30 for three classes and five folds, 325 for five,
    2100 for seven, 4940 for eight. "peel" takes K (S (S+1) / 2 - 2), which is 20, 65, 130 and 170.
    S - 1 fits to all rows follow.

    Estimators that are their own mirror image when labels are swapped need no direction of the
    sticks, as `SoftplusClassifier` has it; nearly all of scikit-learn are.

    `sample_weight` counts in the out-of-fold likelihood and is passed on to the estimator. With
    scikit-learn's metadata routing enabled, both are as requested; other metadata go to the
    estimator's `fit`, and `groups` to the splitter.

    Examples
    --------
    >>> from pasb import StickEnsembleClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickEnsembleClassifier(GaussianNB(), random_state=1).fit(X, y)
    >>> model.order_, model.n_fits_
    (array([0, 1, 2]), 32)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"])],
        "order": [StrOptions({"infer"}), "array-like"],
        "search": [StrOptions({"auto", "lattice", "walk", "peel"})],
        "max_fits": [AT_LEAST_ONE, StrOptions({"auto"})],
        "cv": ["cv_object"],
        "random_state": RUN["random_state"].constraint,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator,
        *,
        order="infer",
        search="auto",
        max_fits="auto",
        cv=5,
        random_state=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.order = order
        self.search = search
        self.max_fits = max_fits
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any):
        """Infer the order of the classes and fit an estimator on each stick.

        A fit that fails leaves the model as it was.

        Parameters
        ----------
        X : table of n_rows rows, of any kind that the estimator takes
        y : array of shape (n_rows,)
            Class labels, numbers or strings.
        sample_weight : array of shape (n_rows,), optional
            Rows of weight 0 are left out.
        **params : dict
            Passed on to the `fit` of the estimator; `groups` to the splitter. With metadata
            routing enabled, to whoever requests them.

        Returns
        -------
        self
        """
        with undone_by_errors(self):
            self._fit(X, y, sample_weight, params)
        return self

    def _fit(self, X: Any, y: ArrayLike, sample_weight: Any, params: dict[str, Any]) -> None:
        self._check_estimator()
        cores(self.n_jobs)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        need_at_hand(X, type(self).__name__)
        validate_data(self, X, y, skip_check_array=True)
        X, labels = indexable(X, checked_labels(y))
        self.classes_ = checked_classes(labels)
        weights = checked_weights(sample_weight, labels)
        if sample_weight is not None:
            sample_weight = weights
        to_estimator, to_splitter = self._routed(sample_weight, params)
        categories = np.searchsorted(self.classes_, labels)
        fits = StickFits(
            estimator=self.estimator,
            X=X,
            categories=categories,
            weights=weights,
            params=to_estimator,
            seed=seed_of(self.random_state),
            classes=self.classes_,
        )
        with Parallel(n_jobs=self.n_jobs) as parallel:
            if isinstance(self.order, str) and len(self.classes_) > 2:
                folds = folds_of(self.cv, fits, to_splitter)
                store = OutOfFold(fits, folds, parallel)
                order = store.best_order(self.search, self.max_fits)
                tested = sum(weights[fold.test].sum() for fold in folds)
                self.log_loss_ = float(-store.evidence_of_order(order) / tested)
                known, self.n_fits_, self.n_shares_ = store.values, store.n_fits, store.n_shares
            else:
                fixed = not isinstance(self.order, str)
                order = checked_order(self.order, self.classes_) if fixed else np.arange(2)
                known, self.n_fits_, self.n_shares_, self.log_loss_ = {}, 0, 0, np.nan
            sticks = sticks_of(order)
            self.estimators_ = list(parallel(delayed(fits.fitted)(*stick) for stick in sticks))
        self.n_fits_ += len(self.estimators_)
        self._order, self.order_ = order, self.classes_[order]
        self.stick_scores_ = {self._named(*stick): value for stick, value in known.items()}

    def _check_estimator(self) -> None:
        estimator = self.estimator
        if isclass(estimator):
            raise TypeError(
                f"estimator must be an object, not a class: write {estimator.__name__}()"
            )
        name = type(estimator).__name__
        if not hasattr(estimator, "predict_proba"):
            if not is_classifier(estimator):
                raise TypeError(
                    f"estimator: {name} is no classifier and has no predict_proba; sticks need a "
                    "classifier with probabilities"
                )
            raise TypeError(
                f"estimator: {name} has no predict_proba with these settings, and sticks need "
                "probabilities. Wrap it, as in "
                f"sklearn.calibration.CalibratedClassifierCV({name}())"
            )
        if get_tags(estimator).input_tags.pairwise:
            raise ValueError(
                f"estimator: {name} takes a precomputed kernel or distances between rows, which "
                "cannot be cut into sticks: give it a kernel that it computes"
            )

    def _routed(
        self, sample_weight: NDArray[np.float64] | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the estimator's `fit` and the splitter get."""
        if "availability" in params:
            raise TypeError(
                "availability: StickEnsembleClassifier takes none, because the sticks of other "
                "learners know no availability. Use a Bayesian classifier, such as "
                "StickLogisticClassifier; or make availability columns of X"
            )
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        to_estimator, to_splitter = dict(params), {}
        if "groups" in params:
            if isinstance(self.cv, Integral) or self.cv is None:
                raise ValueError(
                    "groups are given, but cv is a number, which does not heed them: give a "
                    "splitter, as in cv=sklearn.model_selection.StratifiedGroupKFold()"
                )
            to_splitter["groups"] = to_estimator.pop("groups")
        if sample_weight is not None:
            if "sample_weight" not in signature(self.estimator.fit).parameters:
                raise TypeError(
                    f"sample_weight: fit of {type(self.estimator).__name__} takes none. For a "
                    "pipeline, enable scikit-learn's metadata routing and let a step request it; "
                    "or leave sample_weight out"
                )
            to_estimator["sample_weight"] = sample_weight
        return to_estimator, to_splitter

    def get_metadata_routing(self) -> MetadataRouter:
        """Who gets which metadata, as scikit-learn's user guide has it.

        Returns
        -------
        MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(
                splitter=check_cv(self.cv, classifier=True),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def _named(self, category: int, later: int) -> tuple[Any, tuple]:
        labels = self.classes_.tolist()
        return labels[category], tuple(c for k, c in enumerate(labels) if later >> k & 1)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logs of the class probabilities.

        Parameters
        ----------
        X : table of n_rows rows

        Returns
        -------
        array of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        if hasattr(self, "n_features_in_") and getattr(X, "ndim", 2) == 1:
            raise ValueError(
                f"X must have {self.n_features_in_} columns, and is one-dimensional. Reshape your "
                "data: X.reshape(1, -1) makes one row of it, X.reshape(-1, 1) one column"
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        pairs = [stop_and_go_on(model, X) for model in self.estimators_]
        stop, go_on = np.ones((2, len(self.classes_), len(pairs[0][0])))
        for category, (a, r) in zip(self._order, pairs, strict=False):
            stop[category], go_on[category] = a / (a + r), r / (a + r)
        with np.errstate(divide="ignore"):
            return log_probabilities(np.log(stop), np.log(go_on), self._order).T

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities.

        Parameters
        ----------
        X : table of n_rows rows

        Returns
        -------
        array of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray:
        """The most probable class of each row.

        Parameters
        ----------
        X : table of n_rows rows

        Returns
        -------
        array of shape (n_rows,)
        """
        log_proba = self.predict_log_proba(X)
        return self.classes_[np.argmax(log_proba, axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if not isclass(self.estimator) and hasattr(self.estimator, "fit"):
            own = get_tags(self.estimator)
            tags.input_tags = replace(own.input_tags, pairwise=False)
            tags.non_deterministic = own.non_deterministic
            if own.classifier_tags is not None:
                tags.classifier_tags.poor_score = own.classifier_tags.poor_score
        return tags
