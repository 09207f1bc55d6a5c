"""Logistic regression with normal coefficients, by Polya-Gamma augmentation.

    success with probability 1 / (1 + exp(-x'b)),
    b_v ~ N(0, 1 / alpha_v),  alpha_v ~ Gamma(shape, rate) or fixed.

Given w_i ~ PG(h_i, x_i'b), with h_i the weight of row i, b is normal with precision
diag(alpha) + X'WX and linear term X'(h (label - 1/2)) (Polson, Scott and Windle 2013;
section 3 of the paper).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Keys, Parameters
from pasb.binary.linear import LinearModel, LinearSampler
from pasb.binary.linear_kernels import COEFFICIENTS, LATENTS
from pasb.binary.logistic_kernels import gibbs_step, latents_alone, log_success_and_failure
from pasb.binary.side_by_side import logistic_probabilities
from pasb.binary.t_link import LOGISTIC_LINK
from pasb.binary.wide import draw_wide
from pasb.numerics.rows import Rows

# mypy: disable-error-code="call-arg"


class Logistic(LinearModel):
    """Bayesian logistic regression.

    Parameters
    ----------
    precision : "ard" or positive float, default="ard"
        Prior precision of the coefficients: a number is used for all of them, "ard"
        (automatic relevance determination) gives each its own with a gamma prior.
    shape, rate : float, default=2.0, 8.0
        The gamma prior of the precisions. The default makes the marginal prior of a
        coefficient a t distribution with 4 degrees of freedom and scale 2. The paper's
        choice, 1e-3 and 1e-3, is nearly improper: a coefficient of zero with infinite
        precision is then an absorbing state.
    moves : {"mixed", "gibbs"}, default="mixed"
        "gibbs" is plain Gibbs sampling, as in the paper. "mixed" adds Metropolis moves that
        stretch a coefficient vector as a whole, and independence proposals from normal
        approximations, for coefficients alone and together with the order; where the order is
        fixed or there are at most eight classes, most sweeps are Hamiltonian trajectories
        that these approximations whiten. Both are exact.
    priors : sequence of tuples or None, default=None
        A prior for each column, the constant first, in the place of `precision`, `shape` and
        `rate`: ``("normal", location, scale)``, ``("t", df, location, scale)`` or
        ``("horseshoe", scale)``.

    Examples
    --------
    >>> from pasb import Logistic, StickBreakingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StickBreakingClassifier(
    ...     binary=Logistic(precision=1.0), n_warmup=200, n_draws=200, random_state=1
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float = 8.0,
        moves: str = "mixed",
        priors: Sequence[Sequence[Any]] | None = None,
    ):
        self.precision = precision
        self.shape = shape
        self.rate = rate
        self.moves = moves
        self.priors = priors

    def sampler(self, rows: Rows) -> LogisticSampler:  # noqa: D102
        return LogisticSampler(self, rows)

    def link(self, eta: NDArray[np.float64], log_failure: NDArray[np.float64]) -> None:  # noqa: D102
        log_success_and_failure(eta, log_failure)

    def probabilities(self, eta: NDArray[np.float64], failure: NDArray[np.float64]) -> None:  # noqa: D102
        logistic_probabilities(eta.ravel(), failure.ravel())


class LogisticSampler(LinearSampler):
    """Polya-Gamma Gibbs updates of the coefficients of every category."""

    def __init__(self, model: Logistic, rows: Rows):
        super().__init__(model, rows, LOGISTIC_LINK)

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, roles: NDArray[np.int8], keys: Keys
    ) -> None:
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        with self.space() as space:
            regression = self.regression_of(category)
            if self.is_wide:
                latents_alone(
                    self.weighted_rows, space.work, roles, keys.at(stick, purpose=LATENTS), coef
                )
                key = keys.at(stick, purpose=COEFFICIENTS)
                drawn = draw_wide(self.rows.blocks, space.work, alpha, key, coef)
            else:
                drawn = gibbs_step(regression, space.work, roles, alpha, *keys, stick, coef)
            self.count("qr_fallbacks", not drawn)
            self.stretch_and_draw_precisions(regression, space, roles, keys, stick, coef, alpha)
