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

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pasb.binary.base import (
    ABSENT,
    IMPUTED,
    SUCCESS,
    Approximable,
    BinaryModel,
    BinarySampler,
    Keys,
    Parameters,
)
from pasb.binary.laplace import Laplace, laplace_logistic
from pasb.binary.prior import CoefficientPrior
from pasb.binary.scale_move import scale_moves
from pasb.gaussian import draw_by_qr, draw_from_precision
from pasb.rows import (
    BLOCK,
    Rows,
    elementwise,
    linear_predictors,
    padded,
    summing,
    unblocked,
    weighted_gram,
)
from pasb.variates.scalar import gamma, normal, open_stream, polya_gamma, uniform
from pasb.vector import vector_log1p_exp_neg

LATENTS, COEFFICIENTS, PRECISIONS, SCALE = range(4)  # layers of the stream


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

    def sampler(self, rows: Rows) -> LogisticSampler:  # noqa: D102
        return LogisticSampler(self, rows)

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
        _log_success_and_failure(eta, log_failure)
        shape = (n_draws, n_categories, -1)
        return eta.reshape(shape), log_failure.reshape(shape)


class LogisticSampler(BinarySampler, Approximable):
    """Polya-Gamma Gibbs updates of the coefficients of every category."""

    def __init__(self, model: Logistic, rows: Rows):
        self.rows = rows
        self.prior = CoefficientPrior.of(model.precision, model.shape, model.rate)
        self.n_scale_moves = 2 if model.moves == "mixed" else 0
        self.guards = {"qr_fallbacks": 0}
        n_blocks, n_padded, _ = rows.blocks.shape
        n_rows, n_columns, n_categories = n_blocks * BLOCK, rows.n_columns, rows.n_categories
        self.eta = np.zeros((n_categories, n_rows))
        self.latents, self.linear_weights = np.zeros(n_rows), np.zeros(n_rows)
        self.used = np.zeros(n_blocks, dtype=np.bool_)
        self.padded_coef = np.zeros((n_categories, n_padded))
        self.gram = np.zeros((n_padded, n_padded))
        self.linear = np.zeros(n_padded)
        self.scratch = np.zeros((n_padded, BLOCK))
        self.scale = np.zeros(n_columns)
        self.factor = np.zeros((n_columns, n_columns))
        self.tried_coef = np.zeros((2, n_padded))
        self.tried_eta = np.zeros((2, n_rows))

    def start(self, keys: Keys) -> Parameters:  # noqa: D102
        shape = (self.rows.n_categories, self.rows.n_columns)
        coef = np.empty(shape)
        for s in range(shape[0]):
            _normals(keys.at(s, layer=COEFFICIENTS), coef[s])
        coef /= np.sqrt(shape[1])
        precision = np.full(shape, self.prior.shape / self.prior.rate)
        return {"coef": coef, "precision": precision}

    def resume(self, parameters: Parameters) -> None:  # noqa: D102
        self._predict(parameters)

    def update(  # noqa: D102
        self, parameters: Parameters, category: int, stick: int, parts: NDArray[np.int8], keys: Keys
    ) -> None:
        rows, n = self.rows, self.rows.n_columns
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        _draw_latents(
            self.eta[category],
            rows.weights,
            rows.bounds,
            parts,
            keys.at(stick, layer=LATENTS),
            self.latents,
            self.linear_weights,
            self.used,
        )
        weighted_gram(
            rows.blocks,
            self.latents,
            self.linear_weights,
            self.used,
            self.scratch,
            self.gram,
            self.linear,
        )
        key = keys.at(stick, layer=COEFFICIENTS)
        precision, linear = self.gram[:n, :n], self.linear[:n]
        _add_to_diagonal(precision, alpha)
        if not draw_from_precision(precision, linear, key, self.scale, self.factor, coef):
            self.guards["qr_fallbacks"] += 1
            X = unblocked(rows.blocks, rows.n_rows, n)
            coef[:] = draw_by_qr(X, self.latents[: rows.n_rows], alpha, linear, key)
        if self.n_scale_moves:
            self._stretch(coef, category, parts, keys.at(stick, layer=SCALE))
        self._draw_precision(coef, alpha, keys.at(stick, layer=PRECISIONS))

    def draw_prior(self, parameters: Parameters, category: int, stick: int, keys: Keys) -> None:  # noqa: D102
        coef, alpha = parameters["coef"][category], parameters["precision"][category]
        _normals(keys.at(stick, layer=COEFFICIENTS), coef)
        if self.prior.ard:
            # the conditional given no coefficient at all
            shape, nothing = self.prior.shape - 0.5, np.zeros_like(coef)
            _draw_precisions(
                nothing, shape, self.prior.rate, keys.at(stick, layer=PRECISIONS), alpha
            )
        coef /= np.sqrt(alpha)

    def log_sums(  # noqa: D102
        self, parameters: Parameters, success: NDArray[np.float64], failure: NDArray[np.float64]
    ) -> None:
        self._predict(parameters)
        for j, eta in enumerate(self.eta):
            _sum_logs(eta, self.rows.weights, self.rows.bounds, success[j], failure[j])

    def approximate(self, parts: NDArray[np.int8], start: NDArray[np.float64] | None) -> Laplace:  # noqa: D102
        labels, weights = np.zeros(self.eta.shape[1]), np.zeros(self.eta.shape[1])
        part = parts[self.rows.categories]
        n = self.rows.n_rows
        weights[:n] = np.where(part == ABSENT, 0.0, self.rows.weights)
        labels[:n] = part == SUCCESS
        return laplace_logistic(self.rows, labels, weights, self.prior, start)

    def try_out(  # noqa: D102
        self,
        coef: NDArray[np.float64],
        slot: int,
        success: NDArray[np.float64],
        failure: NDArray[np.float64],
    ) -> None:
        self.tried_coef[slot, : len(coef)] = coef
        linear_predictors(
            self.rows.blocks, self.tried_coef[slot : slot + 1], self.tried_eta[slot : slot + 1]
        )
        _sum_logs(self.tried_eta[slot], self.rows.weights, self.rows.bounds, success, failure)

    def adopt(  # noqa: D102
        self, parameters: Parameters, category: int, coef: NDArray[np.float64], slot: int, key
    ) -> None:
        parameters["coef"][category] = coef
        self.eta[category] = self.tried_eta[slot]
        self._draw_precision(coef, parameters["precision"][category], key)

    def _draw_precision(self, coef, alpha, key) -> None:
        if self.prior.ard:
            _draw_precisions(coef, self.prior.shape, self.prior.rate, key, alpha)

    def _stretch(
        self, coef: NDArray[np.float64], category: int, parts: NDArray[np.int8], key: np.uint64
    ) -> None:
        self.padded_coef[category, : len(coef)] = coef
        eta = self.eta[category : category + 1]
        linear_predictors(self.rows.blocks, self.padded_coef[category : category + 1], eta)
        scale_moves(
            eta[0],
            self.rows.weights,
            self.rows.bounds,
            parts,
            *self.prior,
            self.n_scale_moves,
            key,
            coef,
        )

    def _predict(self, parameters: Parameters) -> None:
        self.padded_coef[:, : self.rows.n_columns] = parameters["coef"]
        linear_predictors(self.rows.blocks, self.padded_coef, self.eta)


def _positive(value) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf


@njit(cache=True, error_model="numpy", nogil=True)
def _draw_latents(eta, weights, bounds, parts, key, latents, linear_weights, used):
    """Labels where they are imputed, w ~ PG(h, eta), and h (label - 1/2), row by row."""
    used[:] = False
    for s in range(parts.shape[0]):
        part = parts[s]
        for i in range(bounds[s], bounds[s + 1]):
            if part == ABSENT:
                latents[i] = 0.0
                linear_weights[i] = 0.0
                continue
            stream = open_stream(key, i)
            success = part == SUCCESS
            if part == IMPUTED:
                u, stream = uniform(stream)
                success = u * (1.0 + np.exp(-eta[i])) < 1.0
            latents[i], stream = polya_gamma(stream, weights[i], eta[i])
            linear_weights[i] = weights[i] * 0.5 if success else weights[i] * -0.5
        if part != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@njit(cache=True, error_model="numpy", nogil=True)
def _draw_precisions(coef, shape, rate, key, precision):
    """alpha_v ~ Gamma(shape + 1/2, rate + b_v^2 / 2)."""
    for v in range(coef.shape[0]):
        draw, _ = gamma(open_stream(key, v), shape + 0.5)
        precision[v] = draw / (rate + 0.5 * coef[v] * coef[v])


@njit(cache=True, error_model="numpy", nogil=True)
def _normals(key, out):
    for v in range(out.shape[0]):
        out[v], _ = normal(open_stream(key, v))


@njit(cache=True, error_model="numpy", nogil=True)
def _add_to_diagonal(matrix, values):
    for v in range(values.shape[0]):
        matrix[v, v] += values[v]


@elementwise
def _log_success_and_failure(eta, log_failure):
    """Turn linear predictors into log-probabilities; `eta` becomes that of success."""
    for s in range(eta.shape[0]):
        e = eta[s]
        r = log_failure[s]
        for i in range(e.size):
            both = vector_log1p_exp_neg(abs(e[i]))
            r[i] = -max(e[i], 0.0) - both
            e[i] = min(e[i], 0.0) - both


@summing
def _sum_logs(eta, weights, bounds, success, failure):
    """Weighted sums of the log-probabilities over the rows of each category."""
    for s in range(bounds.shape[0] - 1):
        e = eta[bounds[s] : bounds[s + 1]]
        h = weights[bounds[s] : bounds[s + 1]]
        total_success = 0.0
        total_failure = 0.0
        for i in range(e.size):
            both = vector_log1p_exp_neg(abs(e[i]))
            total_success += h[i] * (min(e[i], 0.0) - both)
            total_failure -= h[i] * (max(e[i], 0.0) + both)
        success[s] = total_success
        failure[s] = total_failure
