"""Logistic regression with normal coefficients, by Polya-Gamma augmentation.

    success with probability 1 / (1 + exp(-x'b)),
    b_v ~ N(0, 1 / alpha_v),  alpha_v ~ Gamma(shape, rate) or fixed.

Given w_i ~ PG(h_i, x_i'b), with h_i the weight of row i, b is normal with precision
diag(alpha) + X'WX and linear term X'(h (label - 1/2)) (Polson, Scott and Windle 2013;
section 3 of the paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pasb.binary.base import (
    ABSENT,
    SUCCESS,
    Approximable,
    BinaryModel,
    BinarySampler,
    Index,
    Keys,
    Parameters,
)
from pasb.binary.laplace import Laplace, laplace_logistic
from pasb.binary.logistic_kernels import (
    COEFFICIENTS,
    PRECISIONS,
    draw_precisions,
    gibbs_step,
    log_success_and_failure,
    normals,
    stretch_and_draw_precisions,
    sum_logs,
)
from pasb.binary.logistic_sweep import logistic_sweep
from pasb.binary.prior import CoefficientPrior
from pasb.binary.proposals import independence_move, log_ratios
from pasb.orders.table import OrderTable
from pasb.rows import BLOCK, Rows, linear_predictors, padded
from pasb.sticks import Direction


class Logistic(BinaryModel):
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

    kept = ("coef",)
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"coef": ("column",)}
    symmetric = True

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

    @property
    def uses_proposals(self) -> bool:  # type: ignore[override]  # noqa: D102
        return self.moves == "mixed"

    def check(self) -> None:  # noqa: D102
        if self.precision != "ard" and not _positive(self.precision):
            raise ValueError(
                f"precision must be 'ard' or a positive number, not {self.precision!r}"
            )
        for name in ("shape", "rate"):
            if not _positive(getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")
        if self.moves not in ("mixed", "gibbs"):
            raise ValueError(f"moves must be 'mixed' or 'gibbs', not {self.moves!r}")

    def sampler(self, rows: Rows, direction: Direction = "forward") -> LogisticSampler:  # noqa: D102
        return LogisticSampler(self, rows, direction)

    def shapes(self, n_columns: int) -> dict[str, tuple[int, ...]]:  # noqa: D102
        return {"coef": (n_columns,)}

    def simulate(self, n_columns: int, rng: np.random.Generator) -> Parameters:  # noqa: D102
        prior = CoefficientPrior.of(self.precision, self.shape, self.rate)
        alpha = prior.simulate(n_columns, rng)
        return {"coef": rng.standard_normal(n_columns) / np.sqrt(alpha), "precision": alpha}

    def log_probabilities(  # noqa: D102
        self, parameters: Mapping[str, NDArray], blocks: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        coef = parameters["coef"]
        n_draws, n_categories, n_columns = coef.shape
        eta = np.empty((n_draws * n_categories, len(blocks) * BLOCK))
        flat = padded(coef.reshape(-1, n_columns), blocks.shape[1])
        linear_predictors(blocks, flat, eta)
        log_failure = np.empty_like(eta)
        log_success_and_failure(eta, log_failure)
        shape = (n_draws, n_categories, -1)
        return eta.reshape(shape), log_failure.reshape(shape)


class LogisticSampler(BinarySampler, Approximable):
    """Polya-Gamma Gibbs updates of the coefficients of every category."""

    def __init__(self, model: Logistic, rows: Rows, direction: Direction):
        self.rows = rows
        self.table = (rows.blocks, rows.weights, rows.bounds)
        self.prior = CoefficientPrior.of(model.precision, model.shape, model.rate)
        self.n_scale_moves = 2 if model.moves == "mixed" else 0
        self.guards = {"qr_fallbacks": 0}
        n_blocks, n_padded, _ = rows.blocks.shape
        n_rows, n, n_categories = n_blocks * BLOCK, rows.n_columns, rows.n_categories
        self.eta = np.zeros((n_categories, n_rows))
        self.padded_coef = np.zeros((n_categories, n_padded))
        self.work = (
            np.zeros(n_rows),
            np.zeros(n_rows),
            np.zeros(n_blocks, dtype=np.bool_),
            np.zeros((n_padded, BLOCK)),
            np.zeros((n_padded, n_padded)),
            np.zeros(n_padded),
            np.zeros(n),
            np.zeros((n, n)),
        )
        self.slots = (
            np.zeros((2, n_padded)),
            np.zeros((2, n_rows)),
            np.zeros((2, n_categories)),
            np.zeros((2, n_categories)),
            direction == "forward",
        )

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        shape = (self.rows.n_categories, self.rows.n_columns)
        coef = np.empty(shape)
        for s in range(shape[0]):
            normals(keys.at(s, layer=COEFFICIENTS), coef[s])
        coef /= np.sqrt(shape[1])
        return {"coef": coef, "precision": np.full(shape, self.prior.shape / self.prior.rate)}

    def resume(self, parameters: Parameters) -> None:  # noqa: D102
        self.padded_coef[:, : self.rows.n_columns] = parameters["coef"]
        linear_predictors(self.rows.blocks, self.padded_coef, self.eta)

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, parts: NDArray[np.int8], keys: Keys
    ) -> None:
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        eta = self.eta[category]
        step = gibbs_step(*self.table, *self.work, eta, parts, alpha, *keys, stick, coef)
        self.guards["qr_fallbacks"] += not step
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

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        normals(keys.at(stick, layer=COEFFICIENTS), coef)
        if self.prior.ard:
            # the conditional given no coefficient at all
            shape, nothing = self.prior.shape - 0.5, np.zeros_like(coef)
            key = keys.at(stick, layer=PRECISIONS)
            draw_precisions(nothing, True, shape, self.prior.rate, key, alpha)
        coef /= np.sqrt(alpha)

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        self.padded_coef[:, : self.rows.n_columns] = parameters["coef"]
        sum_logs(*self.table, self.padded_coef, self.eta, success, failure)

    def approximate(self, parts: NDArray[np.int8], start: NDArray[np.float64] | None) -> Laplace:  # noqa: D102
        labels, weights = np.zeros(self.eta.shape[1]), np.zeros(self.eta.shape[1])
        part = parts[self.rows.categories]
        n = self.rows.n_rows
        weights[:n] = np.where(part == ABSENT, 0.0, self.rows.weights)
        labels[:n] = part == SUCCESS
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
        return independence_move(
            *self.table,
            *self.prior,
            parameters["coef"],
            parameters["precision"],
            self.eta,
            table.accept,
            table.reject,
            *self.slots,
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

    def log_ratios(  # noqa: D102
        self, parameters: Parameters, laws: NDArray[np.float64], out: NDArray[np.float64]
    ) -> None:
        log_ratios(parameters["coef"], laws, np.arange(len(laws)), *self.prior, out)


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
        self.work = (sampler.eta, sampler.padded_coef, *sampler.work, *sampler.slots, *table)
        self.laws = (laws, law_index, augmented, infers, n_swaps)

    def __call__(
        self, parameters: Parameters, order: NDArray[np.int64], keys: Keys
    ) -> tuple[float, int]:
        """Advance parameters and order; return the log-likelihood and the accepted swaps."""
        counts = np.zeros(2, dtype=np.int64)
        log_likelihood = logistic_sweep(
            *self.before,
            parameters["coef"],
            parameters["precision"],
            *self.work,
            order,
            *self.laws,
            counts,
            *keys,
        )
        self.sampler.guards["qr_fallbacks"] += int(counts[1])
        return log_likelihood, int(counts[0])


def _positive(value) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf
