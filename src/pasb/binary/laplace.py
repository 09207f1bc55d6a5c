"""Laplace approximation of a binary logistic regression.

Given the order, the posterior of a stick's coefficients is close to normal. Its normal
approximation serves three purposes: as a proposal that draws almost independently, as
the pseudo-prior of a reference category, and for the evidence from which orders are
compared. As a proposal it gets a wide second component, so that the tails are covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pasb.binary.base import ABSENT, SUCCESS
from pasb.binary.linear_space import LinearSpace, predictor_space
from pasb.binary.prior import CoefficientPrior, coefficient_log_prior
from pasb.gaussian import draw_around, equilibrated_cholesky, squared_distance
from pasb.rows import BLOCK, Rows, _one_predictor, add_block, elementwise, summing
from pasb.vector import vector_exp, vector_softplus

WIDE_SHARE, WIDTH = 0.2, 1.7  # the second component of the proposal

# Takes linear predictors, labels and weights, fills curvatures and residuals, gives the
# log-likelihood.
Terms = Callable[[NDArray, NDArray, NDArray, NDArray, NDArray], float]


class Laplace(NamedTuple):
    """A normal approximation of a posterior, and the evidence that goes with it.

    Attributes
    ----------
    packed : array
        Mode, scale, factor, log-determinant and log-evidence in one array, which compiled
        code takes at less cost than five. The precision matrix is S^-1 L L' S^-1 with
        S = diag(scale) and L = factor, lower triangular.
    log_evidence : float
    """

    packed: NDArray[np.float64]
    log_evidence: float

    @property
    def mode(self) -> NDArray[np.float64]:
        """The mode of the posterior."""
        return unpacked(self.packed)[0]

    def draw(self, key: np.uint64, out: NDArray[np.float64]) -> None:
        """Draw from the two-component proposal."""
        draw_law(self.packed, key, out)

    def log_density(self, at: NDArray[np.float64]) -> float:
        """Log-density of the proposal, constants included."""
        return law_log_density(self.packed, at)


def pack(mode, scale, factor, log_determinant: float, log_evidence: float) -> NDArray[np.float64]:
    """Put the parts of a law into one array."""
    return np.concatenate([mode, scale, np.tril(factor).ravel(), [log_determinant, log_evidence]])


def packed_size(n_columns: int) -> int:
    """Numbers in a packed law."""
    return (n_columns + 1) ** 2 + 1


@njit(cache=True, error_model="numpy", nogil=True)
def unpacked(packed):
    """Return the five parts of a packed law; views, no copies."""
    n = int(math.sqrt(packed.shape[0])) - 1  # see `packed_size`
    factor = packed[2 * n : 2 * n + n * n].reshape(n, n)
    return packed[:n], packed[n : 2 * n], factor, packed[-2], packed[-1]


@njit(cache=True, error_model="numpy", nogil=True)
def draw_law(packed, key, out):
    """Draw from a packed law."""
    mode, scale, factor, _, _ = unpacked(packed)
    draw_around(mode, scale, factor, WIDE_SHARE, WIDTH, key, out)


@njit(cache=True, error_model="numpy", nogil=True)
def law_log_density(packed, at):
    """Log-density of a packed law."""
    mode, scale, factor, log_determinant, _ = unpacked(packed)
    n = mode.shape[0]
    distance = squared_distance(mode, scale, factor, at)
    narrow = math.log1p(-WIDE_SHARE) - 0.5 * distance
    wide = math.log(WIDE_SHARE) - n * math.log(WIDTH) - 0.5 * distance / WIDTH**2
    high, low = max(narrow, wide), min(narrow, wide)
    constant = 0.5 * log_determinant - 0.5 * n * math.log(2 * math.pi)
    return constant + high + math.log1p(math.exp(low - high))


@njit(cache=True, error_model="numpy", nogil=True)
def log_weight(packed, at, ard, shape, rate):
    """Log of prior over proposal, up to a constant that depends on the size only."""
    return coefficient_log_prior(at, 1.0, ard, shape, rate) - law_log_density(packed, at)


@elementwise
def _newton_terms(eta, labels, weights, curvature, residual):
    """Curvatures and residuals of every row; returns the log-likelihood."""
    total = 0.0
    for i in range(eta.size):
        p = 1.0 / (1.0 + vector_exp(-eta[i]))
        curvature[i] = weights[i] * p * (1.0 - p)
        residual[i] = weights[i] * (labels[i] - p)
    for i in range(eta.size):
        total += weights[i] * (labels[i] * eta[i] - vector_softplus(eta[i]))
    return total


def laplace_logistic(
    rows: Rows,
    parts: NDArray[np.int8],
    prior: CoefficientPrior,
    start: NDArray[np.float64] | None = None,
) -> Laplace:
    """Mode and curvature of the posterior of a logistic regression.

    Parameters
    ----------
    rows : Rows
    parts : array of shape (n_categories,)
        What the rows of each category are.
    prior : CoefficientPrior
    start : array of shape (n_columns,), optional
        Where Newton's method starts.

    Returns
    -------
    Laplace
    """
    return laplace_by_newton(rows, parts, prior, _newton_terms, start)


def laplace_by_newton(
    rows: Rows,
    parts: NDArray[np.int8],
    prior: CoefficientPrior,
    terms: Terms,
    start: NDArray[np.float64] | None,
    tolerance: float = 1e-5,
) -> Laplace:
    """Climb to a mode of the posterior, by steps that the likelihood's `terms` suggest.

    A t prior enters by the normal law that touches it at the mode; that gives the right
    gradient, and a curvature that is always positive. When half the squared Newton decrement
    is below `tolerance`, the step that it belongs to is the last one: the decrement after
    it would be smaller than the square of that, and the curvature changes no more.
    """
    spaces = rows.spaces
    with (
        spaces.lent("linear", partial(LinearSpace.of, rows)) as linear,
        spaces.lent("predictors", partial(predictor_space, rows)) as predictors,
    ):
        vectors = *linear.pair, *predictors[:2]
        return _climb(rows, parts, vectors, prior, terms, start, tolerance)


def _climb(
    rows: Rows,
    parts: NDArray[np.int8],
    vectors: tuple[NDArray[np.float64], ...],
    prior: CoefficientPrior,
    terms: Terms,
    start: NDArray[np.float64] | None,
    tolerance: float,
) -> Laplace:
    """What `laplace_by_newton` does in the work space of four numbers for every row."""
    n, n_padded = rows.n_columns, rows.blocks.shape[1]
    used, labels = _used_blocks(rows, parts, vectors[0])
    weights, eta, curvature, residual = (vector[: len(labels)] for vector in vectors)
    gram, linear = np.zeros((n_padded, n_padded)), np.zeros(n_padded)
    scratch = np.zeros((n_padded, BLOCK))
    padded_beta = np.zeros(n_padded)
    beta = padded_beta[:n]
    if start is not None:
        beta[:] = start
    scale, factor, step = np.zeros(n), np.zeros((n, n)), np.zeros(n)

    def objective() -> float:
        _predictors(rows.blocks, used, padded_beta, eta)
        return terms(eta, labels, weights, curvature, residual) + prior.log_density(beta)

    value = objective()
    for _ in range(200):
        _weighted_gram(rows.blocks, used, curvature, residual, scratch, gram, linear)
        alpha = prior.precision_at(beta)
        gradient = linear[:n] - alpha * beta
        _factorise(gram[:n, :n], alpha, scale, factor)
        solve(scale, factor, gradient, step)
        decrement = 0.5 * float(gradient @ step)
        here, length = beta.copy(), 1.0
        beta[:] = here + step
        proposed = objective()
        while not proposed >= value and length > 1e-6:
            length *= 0.5
            beta[:] = here + length * step
            proposed = objective()
        if not proposed >= value:
            beta[:] = here  # the factor is that of this point
            break
        value = proposed
        if decrement < tolerance:
            break
    log_determinant = float(2 * np.sum(np.log(np.diag(factor)) - np.log(scale)))
    evidence = value + 0.5 * n * math.log(2 * math.pi) - 0.5 * log_determinant
    return Laplace(pack(beta, scale, factor, log_determinant, evidence), evidence)


def _used_blocks(
    rows: Rows, parts: NDArray[np.int8], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """The blocks with a row that is not absent; labels in {0, 1} and `weights` of their rows.

    Sorted by category, absent rows fill whole blocks; those in other blocks weigh nothing.
    """
    used = np.zeros(len(rows.blocks), dtype=np.bool_)
    present = [
        (part, start, stop)
        for part, (start, stop) in zip(parts, pairwise(rows.bounds), strict=True)
        if part != ABSENT and start < stop
    ]
    for _, start, stop in present:
        used[start // BLOCK : (stop - 1) // BLOCK + 1] = True
    n_skipped = np.cumsum(~used)
    labels = np.zeros(used.sum() * BLOCK, dtype=np.int8)
    weights[: len(labels)] = 0.0
    for part, start, stop in present:
        skipped = n_skipped[start // BLOCK] * BLOCK
        own = slice(start - skipped, stop - skipped)
        labels[own] = part == SUCCESS
        weights[own] = rows.weights[start:stop]
    return np.flatnonzero(used), labels


@elementwise
def _predictors(blocks, used, b, out):
    """x'b of the rows of some blocks, one block behind the other."""
    for j in range(used.size):
        _one_predictor(blocks[used[j]], b, out[j * BLOCK : (j + 1) * BLOCK])


@summing
def _weighted_gram(blocks, used, weights, linear_weights, scratch, gram, linear):
    """As `pasb.rows.weighted_gram`; the weights are those of the rows of some blocks only."""
    gram[:, :] = 0.0
    linear[:] = 0.0
    for j in range(used.size):
        rows = slice(j * BLOCK, (j + 1) * BLOCK)
        add_block(blocks[used[j]], weights[rows], linear_weights[rows], scratch, gram, linear)


def _factorise(gram, alpha, scale, factor) -> None:
    """Factor ``gram + diag(alpha)``, with more on the diagonal if rounding demands it."""
    diagonal = np.arange(len(alpha))
    gram[diagonal, diagonal] += alpha
    ridge = 1e-12
    while not equilibrated_cholesky(gram, scale, factor):
        gram[diagonal, diagonal] *= 1 + ridge
        ridge *= 10


@summing
def solve(scale, factor, right, out):
    """``out = S L^-T L^-1 S right``: by the inverse of a law's precision matrix."""
    n = scale.shape[0]
    for i in range(n):
        row = factor[i]
        total = right[i] * scale[i]
        for k in range(i):
            total -= row[k] * out[k]
        out[i] = total / row[i]
    for i in range(n - 1, -1, -1):
        row = factor[i]
        last = out[i] / row[i]
        for k in range(i):
            out[k] -= row[k] * last
        out[i] = last * scale[i]
