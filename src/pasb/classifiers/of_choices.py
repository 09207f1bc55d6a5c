"""Methods of a choice model that take `ChoiceData` where others take a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pasb.classifiers.panels import PERSON
from pasb.covariates.choice_data import ChoiceData
from pasb.covariates.frame_input import data_frame
from pasb.posterior.mixin import PosteriorMixin


class OfChoices(PosteriorMixin):
    """Rows that are choices: their table, what is available to them and what was chosen."""

    classes_: NDArray
    covariates_: list[str]
    chooser_: list[str]
    feature_names_in_: NDArray
    table_of: Callable[[ChoiceData], Any]
    _refuse_persons: Callable[[str], None]

    def _opened(self, X: Any, availability: Any) -> tuple[Any, Any]:
        """A table and availability from `ChoiceData`; others as they are."""
        if not isinstance(X, ChoiceData):
            return X, availability
        check_is_fitted(self, "draws_")
        self.check_data(X)
        return self.table_of(X), X.available if availability is None else availability

    def check_data(self, data: ChoiceData) -> None:
        """Refuse choices with other alternatives or covariates than those of the fit."""
        if not np.array_equal(data.alternatives, self.classes_):
            raise ValueError(
                f"the alternatives are {', '.join(map(str, data.alternatives))}; the model has "
                f"{', '.join(map(str, self.classes_))}"
            )
        for what, own, known in (
            ("covariates of alternatives", data.covariates, self.covariates_),
            ("covariates of choosers", data.chooser_names, self.chooser_),
        ):
            if own != known:
                raise ValueError(
                    f"the {what} are {', '.join(own) or 'none'}; the model has "
                    f"{', '.join(known) or 'none'}"
                )

    def predict_proba(self, X, n_draws=None, availability=None):  # noqa: D102
        X, availability = self._opened(X, availability)
        return super().predict_proba(X, n_draws, availability)

    def sample_proba(self, X, n_draws=None, availability=None):  # noqa: D102
        X, availability = self._opened(X, availability)
        return super().sample_proba(X, n_draws, availability)

    def predict_frame(self, X, interval=0.9, n_draws=None, availability=None):  # noqa: D102
        X, availability = self._opened(X, availability)
        return super().predict_frame(X, interval, n_draws, availability)

    def loo(self, X, y=None, sample_weight=None, *, refit=False, warn=True, availability=None):  # noqa: D102
        y = X.choice if isinstance(X, ChoiceData) and y is None else y
        table, availability = self._opened(X, availability)
        how = {"refit": refit, "warn": warn, "availability": availability}
        return super().loo(table, y, sample_weight, **how)

    def posterior_with(self, X, y=None, *, availability=None, **options):  # noqa: D102
        y = X.choice if isinstance(X, ChoiceData) and y is None else y
        X, availability = self._opened(X, availability)
        return super().posterior_with(X, y, availability=availability, **options)

    def _fit_again(self, X, y, weights, availability=None):
        self._refuse_persons("loo with refit=True")
        n, s = len(self.chooser_), len(self.classes_)
        table, each = np.asarray(X, dtype=np.float64), len(self.covariates_)
        values = table[:, n:].reshape(len(table), each, s).transpose(0, 2, 1)
        available = np.ones((len(table), s), dtype=np.bool_)
        if availability is not None:
            available = availability
        data = ChoiceData(
            self.classes_,
            table[:, :n],
            self.chooser_,
            values,
            self.covariates_,
            available,
            np.asarray(y),
        )
        return super()._fit_again(data, None, weights)  # type: ignore[arg-type]

    def order_in_words(self, X=None, y=None, availability=None):  # noqa: D102
        y = X.choice if isinstance(X, ChoiceData) and y is None else y
        X, availability = self._opened(X, availability)
        return super().order_in_words(X, y, availability)

    def summary(self, interval=0.9, *, orders="top", X=None, y=None, availability=None):
        """As `StickLogisticClassifier.summary`, without columns that a stick does not see."""
        y = X.choice if isinstance(X, ChoiceData) and y is None else y
        X, has = self._opened(X, availability)
        frame = super().summary(interval, orders=orders, X=X, y=y, availability=has)
        n = len(self.chooser_)
        names = [str(name) for name in self.feature_names_in_[n:]]
        own = {name: str(self.classes_[k % len(self.classes_)]) for k, name in enumerate(names)}
        wrapped = data_frame(frame)
        pairs = zip(wrapped["class"].to_list(), wrapped["feature"].to_list(), strict=True)
        own |= {PERSON: ""}
        seen = [own.get(feature, str(label)) == str(label) for label, feature in pairs]
        out = wrapped.filter(seen).to_native()
        return out.reset_index(drop=True) if hasattr(out, "reset_index") else out

    def score(self, X, y=None, sample_weight=None, availability=None):
        """The share of choices that are predicted."""
        y = X.choice if isinstance(X, ChoiceData) and y is None else y
        X, availability = self._opened(X, availability)
        return super().score(X, y, sample_weight, availability)
