"""Logistic sticks that each see the covariates of their own alternative.

    eta of category c = x'b_c + z_c'g_c + z_c'g,

with x the covariates of the chooser, the constant among them, and z_c those of alternative c, such
as its price. Coefficients b_c and g_c are *specific* to a category, g is *generic*: one vector for
all categories, so that a price has one meaning. All have the prior of `pasb.binary.logistic`, or
each column one of its own, normal or t (`pasb.binary.column_priors`).

In memory this is a logistic model of all columns, those of the chooser first and then those of
every alternative, covariate by covariate: ``1, x, price[a], price[b], ..., time[a], ...``.
Coefficients of columns that a category does not see are zero, and generic ones are the same
number in every category. So draws are those of a plain logistic model, which predicts with them.

Generic coefficients couple the sticks. Given the Polya-Gamma latents of all sticks, all
coefficients are jointly normal, with a precision matrix that has a block for each stick and a
border for the generic ones; `joint_update` draws from it, the generic ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from pasb.binary.binary_model import BinarySampler, Keys, Parameters
from pasb.binary.linear_kernels import (
    COEFFICIENTS,
    LATENTS,
    PRECISIONS,
    draw_precisions,
    standard_normals,
)
from pasb.binary.logistic import Logistic, LogisticSampler
from pasb.binary.logistic_kernels import row_half
from pasb.numerics.rows import Rows

# mypy: disable-error-code="call-arg"


class ChoiceLogistic(Logistic):
    """Bayesian logistic regression with covariates of alternatives.

    Parameters
    ----------
    n_alternatives : int, default=2
        Categories, each with columns of its own.
    generic : tuple of bool, default=()
        For each covariate of alternatives, whether its coefficient is generic.
    precision, shape, rate
        As for `Logistic`.
    priors : sequence of tuples or None, default=None
        As for `Logistic`, but for the horseshoe. The columns of a generic coefficient have one.
    """

    symmetric = False  # another sign would need the columns of another alternative

    def __init__(
        self,
        *,
        n_alternatives: int = 2,
        generic: tuple[bool, ...] = (),
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float = 8.0,
        priors: Sequence[Sequence[Any]] | None = None,
    ):
        super().__init__(precision=precision, shape=shape, rate=rate, priors=priors)
        self.n_alternatives = n_alternatives
        self.generic = generic

    def check(self) -> None:  # noqa: D102
        super().check()
        if self.priors is None:
            return
        if any(own[0] == "horseshoe" for own in self.priors):
            raise ValueError("priors: sticks with columns of their own have no horseshoe")
        first, s = self.n_chooser(len(self.priors)), self.n_alternatives
        for k in np.flatnonzero(self.generic).tolist():
            if len({tuple(own) for own in self.priors[first + k * s : first + (k + 1) * s]}) > 1:
                raise ValueError("priors: one generic coefficient has several")

    @property
    def uses_proposals(self) -> bool:  # type: ignore[override]
        """Moves of a plain logistic model know one table only."""
        return False

    def n_chooser(self, n_columns: int) -> int:
        """Columns of the chooser, the constant included."""
        return n_columns - self.n_alternatives * len(self.generic)

    def columns(self, category: int, n_columns: int) -> NDArray[np.int64]:
        """The columns that a category sees: those of the chooser, then its own."""
        first = self.n_chooser(n_columns)
        own = first + np.arange(len(self.generic)) * self.n_alternatives + category
        return np.concatenate([np.arange(first), own])

    def of_category(self, category: int, n_columns: int) -> Logistic:
        """The model of the columns that a category sees, as if its stick were the only one."""
        if self.priors is None:
            return self
        if len(self.priors) != n_columns:
            raise ValueError(
                f"priors must hold a prior for each of the {n_columns} columns, the constant "
                f"first; there are {len(self.priors)}"
            )
        return Logistic(priors=[self.priors[v] for v in self.columns(category, n_columns)])

    def sampler(self, rows: Rows) -> ChoiceSampler:  # type: ignore[override]  # noqa: D102
        return ChoiceSampler(self, rows)

    def simulate_categories(  # noqa: D102
        self, n_columns: int, n_categories: int, rng: np.random.Generator
    ) -> Parameters:
        drawn = super().simulate_categories(n_columns, n_categories, rng)
        coef, precision = np.zeros_like(drawn["coef"]), np.ones_like(drawn["precision"])
        generic = self.n_chooser(n_columns) + np.flatnonzero(self.generic)
        for c in range(n_categories):
            own = self.columns(c, n_columns)
            for out, values in ((coef, drawn["coef"]), (precision, drawn["precision"])):
                out[c, own] = values[c, own]
                out[c, own[generic]] = values[0, self.columns(0, n_columns)[generic]]
        return {"coef": coef, "precision": precision}


class ChoiceSampler(BinarySampler):
    """Joint updates of the coefficients of all categories.

    Attributes
    ----------
    columns : list of integer arrays
        What each category sees of all columns.
    specific, generic : integer arrays
        Among the columns that a category sees.
    parts : list of LogisticSampler
        Of the columns that each category sees.
    """

    def __init__(self, model: ChoiceLogistic, rows: Rows):
        self.model, self.rows = model, rows
        n = rows.n_columns
        self.columns = [model.columns(c, n) for c in range(rows.n_categories)]
        first = model.n_chooser(n)
        flags = np.concatenate([np.zeros(first, dtype=np.bool_), model.generic]).astype(np.bool_)
        self.specific, self.generic = np.flatnonzero(~flags), np.flatnonzero(flags)
        seen = np.zeros((rows.n_categories, n), dtype=np.bool_)
        self.parts = []
        for c, (own, columns) in enumerate(zip(seen, self.columns, strict=True)):
            own[columns] = True
            self.parts.append(LogisticSampler(model.of_category(c, n), rows.of_columns(own)))
        #: of the specific coefficients of each category, and of the generic ones
        self.specific_priors = [part.prior.some(self.specific) for part in self.parts]
        self.generic_prior = self.parts[0].prior.some(self.generic)
        self.guards = {"bounded_precisions": 0}
        self.counted = np.zeros(0, dtype=np.int64)

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        coef = np.zeros((self.rows.n_categories, self.rows.n_columns))
        for c, columns in enumerate(self.columns):
            own = np.empty(len(self.specific))
            standard_normals(keys.at(c, purpose=COEFFICIENTS), own)
            coef[c, columns[self.specific]] = own / np.sqrt(len(own))
        precision = np.tile(self.model.prior.start(coef.shape[1]), (len(coef), 1))
        return {"coef": coef, "precision": precision}

    def resume(self, parameters: Parameters) -> None:
        """Nothing is kept beside the parameters."""

    def generic_of(self, parameters: Parameters) -> NDArray[np.float64]:
        """The generic coefficients."""
        return parameters["coef"][0, self.columns[0][self.generic]]

    def specific_of(self, parameters: Parameters, category: int) -> NDArray[np.float64]:
        """The specific coefficients of a category."""
        return parameters["coef"][category, self.columns[category][self.specific]]

    def seen_by(
        self, category: int, specific: NDArray[np.float64], generic: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Coefficients of the columns that a category sees."""
        out = np.empty(len(self.columns[category]))
        out[self.specific], out[self.generic] = specific, generic
        return out

    def adopt(
        self, parameters: Parameters, category: int, specific: NDArray[np.float64], key: np.uint64
    ) -> None:
        """Take over specific coefficients, and draw their precisions."""
        columns = self.columns[category][self.specific]
        parameters["coef"][category, columns] = specific
        alpha = parameters["precision"][category, columns]
        draw_precisions(specific, tuple(self.specific_priors[category]), key, alpha)
        parameters["precision"][category, columns] = alpha

    def joint_update(
        self, parameters: Parameters, sticks: list[tuple[int, NDArray[np.int8]]], keys: Keys
    ) -> None:
        """Draw the coefficients of the categories on sticks, and all generic ones.

        `sticks` has the category of each and the roles of the rows.
        """
        coef, precision, k = parameters["coef"], parameters["precision"], self.generic
        alpha = precision[0, self.columns[0][k]]
        shared, towards = np.diag(alpha), alpha * self.generic_prior.location
        left = []
        for stick, (category, roles) in enumerate(sticks):
            factor, border, linear, own = self._sums(parameters, category, stick, roles, keys)
            half, pull = (solve_triangular(factor, v, lower=True) for v in (border, linear))
            shared += own[0] - half.T @ half
            towards += own[1] - half.T @ pull
            left.append((category, factor, border, linear))
        generic = np.empty(len(k))
        last = self.rows.n_categories
        standard_normals(keys.at(last, purpose=COEFFICIENTS), generic)
        if len(k):
            factor = np.linalg.cholesky(shared)
            generic = solve_triangular(factor, generic, lower=True, trans="T")
            generic += cho_solve((factor, True), towards)
        key = keys.at(last, purpose=PRECISIONS)
        draw_precisions(generic, tuple(self.generic_prior), key, alpha)
        for c, columns in enumerate(self.columns):
            coef[c, columns[k]], precision[c, columns[k]] = generic, alpha
        for stick, (category, factor, border, linear) in enumerate(left):
            self._draw(parameters, category, stick, (factor, linear - border @ generic), keys)

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        factor, border, linear, _ = self._sums(parameters, category, stick, roles, keys)
        pull = linear - border @ self.generic_of(parameters)
        self._draw(parameters, category, stick, (factor, pull), keys)

    def _sums(self, parameters, category, stick, roles, keys):
        """Latents of a stick; the factor of its block, its border, linear term, generic part."""
        gram, linear = self._row_sums(parameters, category, stick, roles, keys)
        columns, s, g = self.columns[category], self.specific, self.generic
        alpha = parameters["precision"][category, columns[s]]
        pull = linear[s] + alpha * self.specific_priors[category].location
        factor = np.linalg.cholesky(gram[np.ix_(s, s)] + np.diag(alpha))
        own = gram[np.ix_(g, g)], linear[g]
        return factor, gram[np.ix_(s, g)], pull, own

    def _row_sums(self, parameters, category, stick, roles, keys):
        """Latents of a stick; what the normal of all coefficients it sees needs of the rows."""
        part, columns = self.parts[category], self.columns[category]
        coef, n = parameters["coef"][category, columns], len(columns)
        with part.space() as space:
            key = keys.at(stick, purpose=LATENTS)
            row_half(part.weighted_rows, space.work, roles, key, coef)
            lower, linear = np.tril(space.work[4][:n, :n]), space.work[5][:n].copy()
        return lower + np.tril(lower, -1).T, linear

    def _draw(self, parameters, category, stick, normal, keys) -> None:
        """Draw the specific coefficients of a stick, and their precisions."""
        factor, pull = normal
        noise = np.empty(len(self.specific))
        standard_normals(keys.at(stick, purpose=COEFFICIENTS), noise)
        drawn = solve_triangular(factor, noise, lower=True, trans="T")
        drawn += cho_solve((factor, True), pull)
        self.adopt(parameters, category, drawn, keys.at(stick, purpose=PRECISIONS))

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        own = {
            name: parameters[name][category : category + 1, self.columns[category]]
            for name in ("coef", "precision")
        }
        self.parts[category].draw_prior(own, 0, stick, keys)
        s = self.specific
        for name, values in own.items():
            parameters[name][category, self.columns[category][s]] = values[0, s]

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        for c, columns in enumerate(self.columns):
            one = slice(c, c + 1)
            own = {"coef": parameters["coef"][one, columns]}
            self.parts[c].log_sums(own, success[one], failure[one])
