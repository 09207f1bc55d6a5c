"""Scores of held-out rows by predictions that heed what each row can choose."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial, update_wrapper
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from pasb.posterior.mixin import PosteriorMixin
from pasb.posterior.pipelines import unpiped

RESPONSES = ("predict", "predict_proba", "predict_log_proba")


class AvailabilityScorer:
    """A scorer of scikit-learn, such as "neg_log_loss", whose predictions heed availability.

    scikit-learn's own scorers pass nothing but rows to `predict_proba`, whatever is routed to them.
    This one takes the ``availability`` of the rows that are scored by metadata routing, which has
    to be enabled.

    Parameters
    ----------
    scoring : str or callable, default="neg_log_loss"
        A scorer of scikit-learn, or its name.

    Examples
    --------
    >>> import numpy as np, pasb, sklearn
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.normal(size=(120, 2)), rng.integers(3, size=120)
    >>> available = rng.random((120, 3)) < 0.8
    >>> available[np.arange(120), y] = True  # what was chosen was available
    >>> model = pasb.StickLogisticClassifier(n_warmup=100, n_draws=100, random_state=1)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = cross_val_score(
    ...         model.set_fit_request(availability=True), X, y,
    ...         params={"availability": available}, scoring=pasb.AvailabilityScorer())
    >>> bool((scores > -1.0).all())  # better than a guess among three
    True
    """

    def __init__(self, scoring: str | Callable = "neg_log_loss"):
        self.scoring = scoring
        self._scorer = get_scorer(scoring)

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, availability: Any = None, **metadata: Any
    ) -> float:
        """The score of rows; larger is better.

        Parameters
        ----------
        estimator : fitted classifier, or a pipeline that ends in one
        X, y : array or data frame, array
        availability : array or data frame of shape (n_rows, n_classes)
        **metadata
            For the scorer that was named, such as `sample_weight`, if it requests them.
        """
        if availability is None:
            raise ValueError(
                "AvailabilityScorer got no availability: pass it, or enable metadata routing by "
                "sklearn.set_config(enable_metadata_routing=True) and pass "
                "params={'availability': ...} to cross_val_score"
            )
        model, table = unpiped(estimator, X)
        if not isinstance(model, PosteriorMixin):
            raise TypeError(
                "AvailabilityScorer needs a Bayesian classifier of pasb, or a pipeline that ends "
                f"in one, not {type(model).__name__}"
            )
        heeding = copy(model)
        for name in RESPONSES:
            method = getattr(model, name)
            own = update_wrapper(partial(method, availability=availability), method)  # and its name
            setattr(heeding, name, own)
        return self._scorer(heeding, table, y, **metadata)

    def get_metadata_routing(self) -> MetadataRequest:
        """What it asks scikit-learn for: availability, and what the named scorer asks for."""
        request = get_routing_for_object(self._scorer)
        if not isinstance(request, MetadataRequest):  # a function that asks for nothing
            request = MetadataRequest(owner=self)
        request.score.add_request(param="availability", alias=True)
        return request

    def __repr__(self) -> str:
        return f"AvailabilityScorer({self.scoring!r})"
