"""What a picture is of: a fitted classifier, alone or at the end of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pasb.posterior.mixin import PosteriorMixin
from pasb.posterior.pipelines import split_off_last
from pasb.posterior.stacked_posterior import StackedPosterior


class Subject(NamedTuple):
    """A fitted classifier of the package, and the steps before it.

    Attributes
    ----------
    classifier : fitted classifier
    before : Pipeline or None
        What turns a user's table into that of the classifier.
    """

    classifier: Any
    before: Pipeline | None

    @classmethod
    def of(cls, model: Any) -> Subject:
        """From what a user passes; TypeError or NotFittedError if it is neither."""
        if isinstance(model, Pipeline):
            last, before = split_off_last(model)
            if not isinstance(last, PosteriorMixin):
                raise TypeError(
                    "model is a pipeline that does not end in a classifier of pasb: its last step "
                    f"is {_named(last)}"
                )
            check_is_fitted(last, "draws_")
            return cls(last, before)
        if isinstance(model, PosteriorMixin):
            check_is_fitted(model, "draws_")
            return cls(model, None)
        best = getattr(model, "best_estimator_", None)
        advice = "; pass its best_estimator_" if best is not None else ""
        if isinstance(model, StackedPosterior):
            advice = ": pass one of its models_; plots.effects takes the stack itself"
        raise TypeError(
            "model must be a fitted classifier of pasb, or a fitted scikit-learn Pipeline that "
            f"ends in one; got {_named(model)}{advice}"
        )

    def columns(self, X: Any) -> Any:
        """The table that the classifier sees."""
        return X if self.before is None else self.before.transform(X)

    def feature_names(self) -> list[str]:
        """Names of the classifier's covariates; those that the steps before gave, if any."""
        names = self.classifier.fitted_.feature_names
        if self.before is None or hasattr(self.classifier, "feature_names_in_"):
            return names
        try:
            given = [str(name) for name in self.before.get_feature_names_out()]
        except (AttributeError, ValueError, TypeError):  # not every transformer has names
            return names
        return given if len(given) == len(names) else names

    def input_names(self, X: Any) -> list[str]:
        """Names of the columns of a user's table."""
        if self.before is None:
            return self.classifier.fitted_.feature_names
        given = getattr(X, "columns", None)
        if given is None:
            return [f"x{v}" for v in range(np.shape(X)[1])]
        return [str(name) for name in given]


def _named(model: Any) -> str:
    if isinstance(model, type):
        return f"the class {model.__name__}; make an object of it and fit that"
    return type(model).__name__ if model is not None else "None"
