"""Logistic regression with normal coefficients, by Polya-Gamma augmentation.

    success with probability 1 / (1 + exp(-x'b)),
    b_v ~ N(0, 1 / alpha_v),  alpha_v ~ Gamma(shape, rate) or fixed.

Given w_i ~ PG(h_i, x_i'b), with h_i the weight of row i, b is normal with precision
diag(alpha) + X'WX and linear term X'(h (label - 1/2)) (Polson, Scott and Windle 2013;
section 3 of the paper).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import (
    Index,
    Keys,
    Parameters,
    labels_and_weights,
)
from pasb.binary.laplace import Laplace, laplace_logistic
from pasb.binary.linear import LinearModel, LinearSampler
from pasb.binary.logistic_kernels import (
    gibbs_step,
    log_success_and_failure,
    stretch_and_draw_precisions,
    sum_logs,
)
from pasb.binary.logistic_sweep import logistic_sweep
from pasb.binary.proposals import independence_move
from pasb.orders.table import OrderTable
from pasb.rows import BLOCK, Rows
from pasb.sticks import Direction

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
        approximations, for coefficients alone and together with the order. Both are exact.
    """

    def __init__(
        self,
        *,
        precision: float | str = "ard",
        shape: float = 2.0,
        rate: float = 8.0,
        moves: str = "mixed",
    ):
        self.precision = precision
        self.shape = shape
        self.rate = rate
        self.moves = moves

    def sampler(self, rows: Rows, direction: Direction = "forward") -> LogisticSampler:  # noqa: D102
        return LogisticSampler(self, rows, direction)

    def link(self, eta: NDArray[np.float64], log_failure: NDArray[np.float64]) -> None:  # noqa: D102
        log_success_and_failure(eta, log_failure)


class LogisticSampler(LinearSampler):
    """Polya-Gamma Gibbs updates of the coefficients of every category."""

    def __init__(self, model: Logistic, rows: Rows, direction: Direction):
        super().__init__(model, rows)
        self.forward = direction == "forward"

    def slots(self) -> AbstractContextManager[Any]:
        """Space for the proposed coefficients of up to two sticks."""
        return self.rows.spaces.lent("logistic proposals", partial(_slots, self.rows))

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, parts: NDArray[np.int8], keys: Keys
    ) -> None:
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        eta = self.eta[category]
        with self.work() as work:
            step = gibbs_step(*self.table, *work, eta, parts, alpha, *keys, stick, coef)
        self.count("qr_fallbacks", not step)
        stretch_and_draw_precisions(
            *self.table,
            self.padded_coef[category : category + 1],
            eta,
            parts,
            *self.prior,
            self.n_scale_moves,
            *keys,
            stick,
            coef,
            alpha,
        )

    def sum_logs(  # noqa: D102
        self,
        some: slice,
        coef: NDArray[np.float64],
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        self.padded_coef[some, : coef.shape[1]] = coef[some]
        out = self.eta[some], success[some], failure[some]
        sum_logs(*self.table, self.padded_coef[some], *out)

    def approximate(self, parts: NDArray[np.int8], start: NDArray[np.float64] | None) -> Laplace:  # noqa: D102
        labels, weights = labels_and_weights(self.rows, parts)
        return laplace_logistic(self.rows, labels, weights, self.prior, start)

    def independence_move(  # noqa: D102
        self,
        parameters: Parameters,
        table: OrderTable,
        order: NDArray[np.int64],
        sticks: NDArray[np.int64],
        laws: NDArray[np.float64],
        n_changed: int,
        keys: Keys,
        number: int,
        kind: Index,
    ) -> bool:
        with self.slots() as slots:
            return independence_move(
                *self.table,
                *self.prior,
                parameters["coef"],
                parameters["precision"],
                self.eta,
                table.accept,
                table.reject,
                *slots,
                self.forward,
                order,
                sticks,
                laws,
                np.arange(len(laws)),
                n_changed,
                *keys,
                number,
                kind,
            )

    def compiled_sweep(  # noqa: D102
        self,
        table: OrderTable,
        laws: NDArray[np.float64],
        law_index: NDArray[np.int64],
        *,
        augmented: bool,
        infers: bool,
        n_swaps: int,
    ) -> LogisticSweep:
        return LogisticSweep(self, table, laws, law_index, augmented, infers, n_swaps)


def _slots(rows: Rows) -> tuple[NDArray[np.float64], ...]:
    n_blocks, n_padded, _ = rows.blocks.shape
    shapes = n_padded, n_blocks * BLOCK, rows.n_categories, rows.n_categories
    return tuple(np.zeros((2, n)) for n in shapes)


class LogisticSweep:
    """A compiled sweep of one chain; see `pasb.binary.logistic_sweep`."""

    def __init__(
        self,
        sampler: LogisticSampler,
        table: OrderTable,
        laws: NDArray[np.float64],
        law_index: NDArray[np.int64],
        augmented: bool,
        infers: bool,
        n_swaps: int,
    ):
        self.sampler = sampler
        self.before = (*sampler.table, *sampler.prior, sampler.n_scale_moves)
        self.predictors = sampler.eta, sampler.padded_coef
        self.table = sampler.forward, *table
        self.laws = (laws, law_index, augmented, infers, n_swaps)

    def __call__(
        self, parameters: Parameters, order: NDArray[np.int64], keys: Keys
    ) -> tuple[float, int]:
        """Advance parameters and order; return the log-likelihood and the accepted swaps."""
        counts = np.zeros(2, dtype=np.int64)
        with self.sampler.work() as work, self.sampler.slots() as slots:
            log_likelihood = logistic_sweep(
                *self.before,
                parameters["coef"],
                parameters["precision"],
                *self.predictors,
                *work,
                *slots,
                *self.table,
                order,
                *self.laws,
                counts,
                *keys,
            )
        self.sampler.guards["qr_fallbacks"] += int(counts[1])
        return log_likelihood, int(counts[0])
