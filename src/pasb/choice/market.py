"""A fitted model, the choices it is asked about, and groups over which answers are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from pasb.choice.chooser_groups import ChooserColumns
from pasb.classifiers.choice_classifier import StickChoiceClassifier
from pasb.covariates.choice_data import ChoiceData
from pasb.effects.streaming import Evaluation, Grouping, averages
from pasb.effects.tidy import reduced, table_of
from pasb.numerics.lazy_rows import Table
from pasb.posterior.stacked_posterior import StackedPosterior
from pasb.posterior.tails import tails_of

RESULTS = ("estimate", "lower", "upper")  # columns of an answer

Measure = Callable[[slice, list[NDArray[np.float64]], slice], NDArray[np.float64]]
"""From a slice of draws, probabilities (draws, classes, rows) under every version of the choices,
and which rows these are, to quantities (draws, quantities, classes, rows)."""


class Version(NamedTuple):
    """The choices as they are, or as they would be."""

    inner: Table
    available: NDArray[np.bool_] | None

    def without(self, category: int, available: NDArray[np.bool_]) -> Version:
        """The same without an alternative, but for choices that have no other one."""
        left = available.copy()
        left[:, category] = False
        left[~left.any(axis=1), category] = True
        return Version(self.inner, left)


class Market:
    """A model and choices.

    Parameters
    ----------
    model : fitted classifier
    data : ChoiceData, or table of covariates for other classifiers than `StickChoiceClassifier`
    availability : array or data frame, optional
        Of a table.
    by : str, array, Series, list of these or None
        What choices are grouped by: covariates of choosers by name, or a label for each choice.
    weights : array, optional
        How much each choice counts.
    interval : float
    n_draws : int or None
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        availability: Any = None,
        by: Any = None,
        weights: ArrayLike | None = None,
        interval: float = 0.9,
        n_draws: int | None = None,
    ):
        self.tails = tails_of(interval)
        if not hasattr(type(model), "fitted_"):
            raise TypeError(
                "pasb.choice needs a fitted classifier of pasb, not "
                f"{type(model).__name__}{_remedy(model)}"
            )
        self.model, self.fitted = model, model.fitted_
        self.data = data if isinstance(data, ChoiceData) else None
        if isinstance(model, StickChoiceClassifier) and self.data is None:
            raise TypeError(f"data must be a ChoiceData, not {type(data).__name__}")
        if self.data is not None and not isinstance(model, StickChoiceClassifier):
            raise TypeError(
                f"{type(model).__name__} knows no covariates of alternatives: pass the table of "
                "covariates, as in fit, and availability"
            )
        if self.data is None and availability is None:
            self.fitted.check_all_available("pasb.choice without availability=")
        self.source = data
        self.now = self.version(data, availability)
        self.predictor = self.fitted.predictor(n_draws)
        self.labels = self.fitted.classes.tolist()
        self.by, self.groups = self._groups(by, weights)

    def version(self, data: Any, availability: Any = None) -> Version:
        """Choices as the model sees them."""
        if isinstance(data, ChoiceData):
            self.model.check_data(data)
            if availability is not None:
                raise ValueError("availability is part of ChoiceData: use data.without(...)")
            data, availability = self.model.table_of(data), data.available
        return Version(*self.fitted.opened(data, availability))

    def check_named(self, covariate: str | None, columns: Any) -> None:
        """Refuse a covariate of alternatives that is not named in the way of the choices.

        `ChoiceData` has covariates with names; a table has columns of alternatives.
        """
        if self.data is not None and (columns is not None or covariate is None):
            raise TypeError(
                "ChoiceData has covariates of alternatives: name one by covariate=, without "
                f"columns=; there are {', '.join(self.data.covariates) or 'none'}"
            )
        if self.data is None and (columns is None or covariate is not None):
            first, last = self.labels[0], self.labels[-1]
            raise TypeError(
                f"{type(self.model).__name__} knows no covariates of alternatives: pass the column "
                f"of each by columns={{{first!r}: ..., {last!r}: ...}}, without covariate="
            )

    @property
    def n_categories(self) -> int:
        """Number of alternatives."""
        return len(self.labels)

    @property
    def available(self) -> NDArray[np.bool_]:
        """What is available, (choices, alternatives)."""
        if self.now.available is not None:
            return self.now.available
        return np.ones((len(self.now.inner), self.n_categories), dtype=np.bool_)

    def have(self, *categories: int) -> NDArray[np.bool_]:
        """Which choices have all of some alternatives."""
        return np.logical_and.reduce([self.available[:, k] for k in categories])

    def number_of(self, alternative: Any) -> int:
        """The number of an alternative."""
        if alternative not in self.labels:
            listed = ", ".join(map(str, self.labels))
            raise ValueError(f"{alternative!r} is not among the alternatives: {listed}")
        return self.labels.index(alternative)

    def _groups(self, by: Any, weights: ArrayLike | None) -> tuple[list[str], Grouping]:
        n, names, labels = len(self.now.inner), list[str](), list[list]()
        if by is not None:
            own = ChooserColumns(self.source, self.fitted.feature_names, n)
            names, labels = own.grouped_by(by)
        return names, Grouping.of(names, labels, weights, n)

    def among(self, rows: NDArray[np.bool_]) -> Grouping:
        """The groups, where only some of the choices count."""
        groups = self.groups._replace(weights=self.groups.weights * rows)
        empty = groups.totals == 0
        if empty.any():
            label = self.groups.labels[int(np.argmax(empty))]
            where = "" if label == () else f" of group {', '.join(map(str, label))}"
            raise ValueError(f"no choice{where} has all the alternatives that are asked about")
        return groups

    def evaluation(self, versions: Sequence[Version], measure: Measure) -> Evaluation:
        """Quantities of the choices from their probabilities under all versions."""

        def evaluate(rows: slice) -> Iterator[tuple[slice, NDArray[np.float64]]]:
            chunks = [
                self.predictor.chunks(
                    own.inner[rows],
                    available=None if own.available is None else own.available[rows],
                )
                for own in versions
            ]
            for each in zip(*chunks, strict=True):
                yield each[0][0], measure(each[0][0], [values for _, values in each], rows)

        return evaluate

    def means(
        self, versions: Sequence[Version], measure: Measure, groups: Grouping | None = None
    ) -> NDArray[np.float64]:
        """Averages over the choices of each group, (groups, draws, quantities, classes)."""
        evaluate = self.evaluation(versions, measure)
        groups = self.groups if groups is None else groups
        return averages(evaluate, groups, len(self.predictor.orders), self.fitted.n_threads)

    def report(
        self, values: NDArray[np.float64], keys: Sequence[dict[str, Any]], **more: NDArray
    ) -> Any:
        """A data frame of quantities (groups, draws, quantities), named by `keys`."""
        taken = {*keys[0], *more, *RESULTS}
        by = [f"by_{name}" if name in taken else name for name in self.by]
        rows = [
            {**dict(zip(by, label, strict=True)), **key}
            for label, key in product(self.groups.labels, keys)
        ]
        flat = np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)
        statistics = reduced(flat, self.tails) | {k: v.ravel() for k, v in more.items()}
        return table_of(rows, statistics, self.fitted.frame_library)


def _remedy(model: Any) -> str:
    if isinstance(model, Pipeline):
        return ": pass its last step, and the table that the steps before make"
    if isinstance(model, StackedPosterior):
        return ": pass one of its models_, or ask pasb.effects, which take a stack"
    return ""


def probabilities(
    draws: slice, each: list[NDArray[np.float64]], rows: slice
) -> NDArray[np.float64]:
    """The measure that is the probabilities themselves, one version after the other."""
    return np.stack(each, axis=1)
