"""Coefficients of covariates of alternatives and their priors, in a classifier of choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.covariates.choice_priors import choice_priors
from pasb.covariates.named_priors import Prior
from pasb.covariates.prior_scale import prior_rate
from pasb.covariates.scaling import Scaling
from pasb.numerics.rows import Rows
from pasb.posterior.fitted import Fitted
from pasb.posterior.frames import native_frame
from pasb.posterior.tails import tails_of


class ChoiceCoefficients:
    """What a classifier of choices does with generic and specific coefficients."""

    generic: str | Sequence[str]
    prior: Any
    covariates_: list[str]
    chooser_: list[str]
    classes_: NDArray
    fitted_: Fitted
    persons_: NDArray | None
    _named: list[Prior | None] | None
    _scaling: Scaling
    _n_columns: int
    _frame_library: str

    def _name_priors(self) -> None:
        """Find the covariates that `prior` names; errors where there are none."""
        self._named = None
        if self.prior is not None:
            flags = dict(zip(self.covariates_, self._generic_flags(), strict=True))
            self._named = choice_priors(self.prior, self.chooser_, flags, self.classes_)
            self._named += [None] * (self.persons_ is not None)  # a column without a coefficient

    def _suitable_rate(self, rows: Rows, shape: float) -> float:
        """The rate that suits a table, as if there were no named priors.

        It comes from regressions of each alternative on the columns of all: what a user expects of
        the price of an alternative is not about its coefficient there.
        """
        return prior_rate(rows, shape)

    def _generic_flags(self) -> tuple[bool, ...]:
        if isinstance(self.generic, str):
            if self.generic not in ("all", "none"):
                raise ValueError(
                    f"generic must be 'all', 'none' or a list of covariates of alternatives; got "
                    f"{self.generic!r}"
                )
            return (self.generic == "all",) * len(self.covariates_)
        for name in self.generic:
            if name not in self.covariates_:
                raise ValueError(
                    f"generic: {name!r} is no covariate of alternatives; those there are: "
                    f"{', '.join(self.covariates_) or 'none'}"
                )
        return tuple(name in self.generic for name in self.covariates_)

    def generic_coefficients(self, interval: float = 0.9) -> Any:
        """Coefficients that all alternatives share, on the scale of the data.

        Parameters
        ----------
        interval : float, default=0.9
            Probability of the credible interval.

        Returns
        -------
        pandas DataFrame
            Columns ``covariate, mean, sd, lower, upper``.
        """
        flags = self._generic_flags()
        names = [name for name, own in zip(self.covariates_, flags, strict=True) if own]
        draws = np.stack([self.coefficient_draws(name)[:, 0] for name in names], axis=1)
        lower, upper = np.quantile(draws, tails_of(interval), axis=0)
        columns = {
            "covariate": names,
            "mean": draws.mean(axis=0),
            "sd": draws.std(axis=0),
            "lower": lower,
            "upper": upper,
        }
        return native_frame(columns, self._frame_library)

    def coefficient_draws(self, covariate: str) -> NDArray[np.float64]:
        """Coefficients of a covariate of alternatives on the scale of the data, by draw.

        Returns
        -------
        array of shape (n_draws, n_alternatives)
            NaN where an alternative is the last one of a draw, unless the covariate is generic.
        """
        if covariate not in self.covariates_:
            raise ValueError(
                f"{covariate!r} is no covariate of alternatives; those of the model: "
                f"{', '.join(self.covariates_) or 'none'}"
            )
        draws, s = self.fitted_.draws, len(self.classes_)
        coef = draws.parameters["coef"].reshape(-1, s, self._n_columns)
        own = self.coefficients_of(coef, covariate)
        if not self.is_generic(covariate):
            last = draws.order.reshape(-1, s)[:, -1]
            own[np.arange(len(own)), last] = np.nan
        return own

    def coefficients_of(self, coef: NDArray[np.float64], covariate: str) -> NDArray[np.float64]:
        """Those of a covariate among all of draws (draws, alternatives, columns), as a copy."""
        k, s = self.covariates_.index(covariate), len(self.classes_)
        columns = len(self.chooser_) + k * s + np.arange(s)
        return coef[:, np.arange(s), 1 + columns] / self._scaling.spread[columns]

    def is_generic(self, covariate: str) -> bool:
        """Whether all alternatives share the coefficient of a covariate."""
        return self._generic_flags()[self.covariates_.index(covariate)]
