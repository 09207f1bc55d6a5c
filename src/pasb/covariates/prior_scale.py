"""The scale of the coefficients' prior, by empirical Bayes.

How far coefficients spread differs between tables by orders of magnitude: with many covariates,
most of which matter little, a prior that suits a few strong ones lets noise in. The rate of
the gamma prior of the precisions is taken from a grid, where the evidences of telling each
class from all others, by Laplace's approximation of a logistic regression, have the largest
product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.column_priors import ColumnPriors
from pasb.binary.laplace import laplace_logistic
from pasb.numerics.rows import Rows
from pasb.sticks import Roles

FIRST_RATE, STEP = 8.0, 4.0
LEAST_RATE, GREATEST_RATE = FIRST_RATE / STEP**6, FIRST_RATE * STEP**2
MOST_ROWS = 5000
MOST_COLUMNS = 400  # beyond, the fits would take longer than the chain
USUAL_COLUMNS = 20


def prior_rate(
    rows: Rows, shape: float, prior_of: Callable[[float], ColumnPriors] | None = None
) -> float:
    """Rate of the gamma prior of the precisions that suits a table.

    Parameters
    ----------
    rows : Rows
    shape : float
        Shape of that prior.
    prior_of : callable, optional
        From a rate to the priors of all columns, where some have one of their own.

    Returns
    -------
    float
        8 times a power of 4. With more than 400 columns no fits are made: the prior variance
        of a linear predictor is then kept at that of 20 columns and a rate of 8.
    """
    if rows.n_columns > MOST_COLUMNS:
        return FIRST_RATE * USUAL_COLUMNS / rows.n_columns
    few = rows.at_most(MOST_ROWS)
    modes: dict[int, NDArray[np.float64]] = {}
    told_apart, others = Roles.of("forward", groups=few.groups), np.arange(few.n_categories)

    def evidence(rate: float) -> float:
        prior = CoefficientPrior.of("ard", shape, rate) if prior_of is None else prior_of(rate)
        total = 0.0
        for category in range(few.n_categories):
            roles = told_apart.against(category, others[others != category], len(others))
            found = laplace_logistic(few, roles, prior, modes.get(category))
            modes[category] = found.mode
            total += found.log_evidence
        return total

    best = FIRST_RATE
    highest = evidence(best)
    for factor in (1 / STEP, STEP):
        rate = best * factor
        while LEAST_RATE <= rate <= GREATEST_RATE:
            value = evidence(rate)
            if not value > highest:
                break
            best, highest = rate, value
            rate = best * factor
        if best != FIRST_RATE:
            break
    return best
