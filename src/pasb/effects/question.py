"""What predictions, comparisons and slopes are all asked, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasb.effects.altered_rows import Changes, check_known, one_or_more
from pasb.effects.extrapolation import warn_of_rows
from pasb.effects.grouped_by import grouped_by
from pasb.effects.members import members_of, one_after_another
from pasb.effects.streaming import Evaluation, Grouping, averages, of_each_row
from pasb.effects.tidy import Between, between_classes, draws_of, reduced, table_of
from pasb.posterior.frames import native_frame
from pasb.posterior.tails import tails_of

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From measures (draws, measures, classes, ...) to the quantities that are reported."""

RESULTS = ("class", "estimate", "lower", "upper")  # columns of an answer


class Question:
    """What all three functions are asked: a model, rows, groups, and how to report."""

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        by: Any,
        weights: ArrayLike | None,
        classes: Any,
        between: Between | None,
        interval: float,
        n_draws: int | None,
        draws: bool,
        availability: Any = None,
    ):
        self.tails = tails_of(interval)
        self.members = members_of(model, X, n_draws, availability)
        self.rows = self.members[0].rows
        warn_of_rows(self.rows)
        self.fitted = self.rows.fitted
        self.n_draws = sum(member.n_draws for member in self.members)
        self.between, self.draws = between, draws
        self.are_ratios = between == "ratio"
        known = self.fitted.classes.tolist()
        chosen = known if classes is None else one_or_more(classes)
        for label in chosen:
            check_known(label, known, "classes", "a class of the model")
        self.class_names = [str(label) for label in chosen] if between else chosen
        self.class_places = [known.index(label) for label in chosen]
        between_classes(np.zeros((1, len(chosen))), chosen, between)  # complains early
        self.by: list[str] = []
        self.groups: Grouping | None = None
        if by is not None and by is not False:
            columns: list[list] = []
            if by is not True:
                self.by, columns = grouped_by(self.rows, by)
            self.groups = Grouping.of(self.by, columns, weights, len(self.rows))
        if draws and self.groups is None:
            raise ValueError("draws=True needs averages: pass by=True or columns to group by")

    def of_variants(self, variants: Sequence[Changes]) -> Evaluation:
        """Class probabilities of several versions of the rows."""
        return self.together([member.of_variants(variants) for member in self.members])

    def together(self, evaluations: list[Evaluation]) -> Evaluation:
        """What the models find, one after the other."""
        return one_after_another(evaluations, [member.n_draws for member in self.members])

    def report(
        self,
        evaluate: Evaluation,
        n_measures: int,
        combine: Combine,
        keys: list,
        among: NDArray[np.bool_] | None = None,
    ) -> Any:
        """Answer with a table (or draws) of quantities, named by `keys`.

        Averages of a class are over the rows that `among`, (rows, classes), names; what the others
        have must be zero.
        """
        if self.groups is None:
            return self._of_rows(evaluate, n_measures, combine, keys)
        means = averages(evaluate, self.groups, self.n_draws, self.fitted.n_threads)
        if among is not None:
            with np.errstate(invalid="ignore"):  # no row of a group may have a class
                means = means / self.groups.shares(among)[:, None, None]
        return self.of_groups(np.stack([combine(group) for group in means]), keys)

    def of_groups(self, values: NDArray[np.float64], keys: list[dict[str, Any]]) -> Any:
        """Answer from quantities (groups, draws, quantities, classes)."""
        assert self.groups is not None
        values = np.moveaxis(values, 0, 1)[..., self.class_places]
        values, names = between_classes(values, self.class_names, self.between)
        taken = {*keys[0], *RESULTS}
        by = [f"X_{name}" if name in taken else name for name in self.by]
        rows = [
            {**dict(zip(by, label, strict=True)), **key, "class": name}
            for label, key, name in product(self.groups.labels, keys, names)
        ]
        flat = values.reshape(len(values), -1)
        if self.draws:
            return draws_of(rows, flat, self.fitted if len(self.members) == 1 else None)
        return table_of(rows, reduced(flat, self.tails, self.are_ratios), self.rows.library)

    def _of_rows(self, evaluate: Evaluation, n_measures: int, combine: Combine, keys: list) -> Any:
        parts: dict[str, list[NDArray]] = {"estimate": [], "lower": [], "upper": []}
        n_numbers = n_measures * len(self.fitted.classes)
        names: list[Any] = []
        for _, values in of_each_row(evaluate, len(self.rows), self.n_draws, n_numbers):
            found = np.moveaxis(combine(values), -1, 1)[..., self.class_places]
            found, names = between_classes(found, self.class_names, self.between)
            for name, statistic in reduced(found, self.tails, self.are_ratios).items():
                parts[name].append(statistic.reshape(len(statistic), -1))
        n_rows, n_each = len(self.rows), len(keys) * len(names)
        columns: dict[str, Any] = {"row": np.repeat(np.arange(n_rows), n_each)}
        for name in [*keys[0], "class"]:
            each = [{**key, "class": label}[name] for key, label in product(keys, names)]
            columns[name] = each * n_rows
        columns |= {name: np.concatenate(found).ravel() for name, found in parts.items()}
        for name in self.rows.columns:  # what the rows are
            free = name if name not in columns else f"X_{name}"
            columns[free] = np.repeat(self.rows.column(name), n_each)
        return native_frame(columns, self.rows.library)
