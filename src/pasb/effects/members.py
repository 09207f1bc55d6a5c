"""The models that an answer comes from: one, or those of a stack, with draws by their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.effects.altered_rows import AlteredRows, Changes
from pasb.effects.logistic_variants import are_logistic, of_logistic_variants
from pasb.effects.softplus_variants import are_softplus, of_softplus_variants
from pasb.effects.streaming import Evaluation, of_variants
from pasb.posterior.predict import Predictor
from pasb.posterior.stacked_posterior import StackedPosterior


class Member(NamedTuple):
    """A model with the table that is asked about, and the draws that it gives."""

    rows: AlteredRows
    predictor: Predictor

    @property
    def n_draws(self) -> int:
        """How many draws it gives."""
        return len(self.predictor.orders)

    def of_variants(self, variants: Sequence[Changes]) -> Evaluation:
        """Class probabilities of several versions of the rows."""
        how, several = of_variants, len(variants) > 1 and self.rows.available is None
        if several and are_logistic(self.rows):
            how = of_logistic_variants
        elif several and are_softplus(self.rows):
            how = of_softplus_variants
        return how(self.rows, self.predictor, variants)


def members_of(model: Any, X: Any, n_draws: int | None, availability: Any = None) -> list[Member]:
    """The models of an answer; `n_draws` are those of all together."""
    if not isinstance(model, StackedPosterior):
        rows = AlteredRows(model, X, availability)
        return [Member(rows, rows.fitted.predictor(n_draws))]
    found = []
    for name, n in model.draws_of_models(n_draws).items():
        rows = AlteredRows(model.models_[name], X, availability)
        found.append(Member(rows, rows.fitted.predictor(n)))
    every = [name for member in found for name in member.rows.covariates]
    found[0].rows.covariates = list(dict.fromkeys(every))
    return found


def one_after_another(evaluations: Sequence[Evaluation], numbers: Sequence[int]) -> Evaluation:
    """The draws of several evaluations in one sequence; `numbers` says how many each has."""
    if len(evaluations) == 1:
        return evaluations[0]

    def evaluate(part: slice) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        start = 0
        for evaluation, n in zip(evaluations, numbers, strict=True):
            for draws, values in evaluation(part):
                yield slice(start + draws.start, start + draws.stop), values
            start += n

    return evaluate
