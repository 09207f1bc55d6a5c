"""Robit regression: a logistic regression's robust relative, by data augmentation.

    success with probability F(x'b), F the t distribution function with df degrees of freedom,
    b_v ~ N(0, 1 / alpha_v),  alpha_v ~ Gamma(shape, rate) or fixed.

A row succeeds when its latent z_i = x_i'b + t_i is positive. Given the label t_i is a
truncated t variable; given t_i its scale is w_i ~ Gamma((df + 1) / 2, (df + t_i^2) / 2); and
given both b is normal with precision diag(alpha) + X'WX and linear term X'Wz (Albert and
Chib 1993; Liu 2004). Drawing z_i before w_i, not given the last w_i, mixes better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.linear import LinearModel, LinearSampler, positive
from pasb.binary.linear_kernels import COEFFICIENTS, LATENTS
from pasb.binary.robit_kernels import (
    LARGEST_DF,
    gibbs_step,
    latents_alone,
    log_success_and_failure,
)
from pasb.binary.t_link import t_link
from pasb.binary.wide import draw_wide
from pasb.numerics.rows import Rows

# mypy: disable-error-code="call-arg"


class Robit(LinearModel):
    """Bayesian robit regression; with infinite `df` it is probit regression.

    A t distribution has heavier tails than the logistic one, so a row that lies far on the
    wrong side costs little and hardly moves the coefficients.

    Parameters
    ----------
    df : positive float, default=6.0
        Degrees of freedom, at most a million; ``numpy.inf`` is probit regression. With 7 or
        8 the curve is close to the logistic one (coefficients about 1.5 times smaller).
    precision : "ard" or positive float, default="ard"
        Prior precision of the coefficients: a number is used for all of them, "ard"
        (automatic relevance determination) gives each its own with a gamma prior.
    shape, rate : float, default=2.0, 8.0
        The gamma prior of the precisions. The default makes the marginal prior of a
        coefficient a t distribution with 4 degrees of freedom and scale 2.
    moves : {"mixed", "gibbs"}, default="mixed"
        "gibbs" is plain Gibbs sampling. "mixed" adds Metropolis moves that stretch a
        coefficient vector as a whole, and independence proposals from normal approximations,
        for coefficients alone and together with the order; where the order is fixed or there
        are at most eight classes, most sweeps are Hamiltonian trajectories that these
        approximations whiten. Both are exact.
    priors : sequence of tuples or None, default=None
        A prior for each column, the constant first, in the place of `precision`, `shape` and
        `rate`: ``("normal", location, scale)``, ``("t", df, location, scale)`` or
        ``("horseshoe", scale)``.

    Notes
    -----
    The update augments each row with a latent variable of its own, which has no counterpart
    for a row's likelihood to a power: weights must be 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pasb import Robit, StickBreakingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickBreakingClassifier(
    ...     binary=Robit(df=np.inf), n_warmup=200, n_draws=200, random_state=1
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.9  # probit regression
    True
    """

    def __init__(
        self,
        *,
        df: float = 6.0,
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float = 8.0,
        moves: str = "mixed",
        priors: Sequence[Sequence[Any]] | None = None,
    ):
        self.df = df
        self.precision = precision
        self.shape = shape
        self.rate = rate
        self.moves = moves
        self.priors = priors

    def check(self) -> None:  # noqa: D102
        if not (positive(self.df) or self.df == np.inf) or LARGEST_DF < self.df < np.inf:
            raise ValueError(
                f"df must be a positive number up to {LARGEST_DF:.0e}, or infinite for probit "
                f"regression, not {self.df!r}"
            )
        super().check()

    def sampler(self, rows: Rows) -> RobitSampler:  # noqa: D102
        return RobitSampler(self, rows)

    def link(self, eta: NDArray[np.float64], log_failure: NDArray[np.float64]) -> None:  # noqa: D102
        log_success_and_failure(eta, *t_link(float(self.df)), log_failure)


class RobitSampler(LinearSampler):
    """Gibbs updates of the coefficients of every category."""

    def __init__(self, model: Robit, rows: Rows):
        if not np.isin(rows.weights, (0.0, 1.0)).all():
            raise ValueError(
                "sample_weight must be 0 or 1 for a robit model, and class_weight None: its update "
                "has no counterpart for a row's likelihood to a power"
            )
        super().__init__(model, rows, t_link(float(model.df)))

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        with self.space() as space:
            regression = self.regression_of(category)
            if self.is_wide:
                task = self.weighted_rows, space.work, self.link[0], roles
                latents_alone(*task, keys.at(stick, purpose=LATENTS), coef)
                key = keys.at(stick, purpose=COEFFICIENTS)
                drawn = draw_wide(self.rows.blocks, space.work, alpha, key, coef)
            else:
                drawn = gibbs_step(regression, space.work, roles, alpha, *keys, stick, coef)
            self.count("qr_fallbacks", not drawn)
            self.stretch_and_draw_precisions(regression, space, roles, keys, stick, coef, alpha)
