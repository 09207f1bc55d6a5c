"""Laplace approximation of a binary logistic or robit regression.

Given the order, the posterior of a stick's coefficients is close to normal. Its normal
approximation serves three purposes: as a proposal that draws almost independently, as
the pseudo-prior of a reference category, and for the evidence from which orders are
compared. `pasb.binary.bent_normal` has its form, and `pasb.binary.scout` improves it.

Arguments as in `pasb.binary.linear_kernels`; `padded_coef` (n_padded) are the coefficients, and
`curvature` and `residual` (n_blocks x BLOCK) minus the second and the first derivatives of the
rows' log-likelihood by their linear predictors. `label` is 1 or 0.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasb.binary.bent_normal import (
    draw_gaussian,
    gaussian_log_density,
    pack,
    solve,
    unpacked,
)
from pasb.binary.coefficient_prior import CoefficientPrior
from pasb.binary.column_priors import ColumnPriors
from pasb.binary.linear_kernels import LinearSpace
from pasb.binary.robit_kernels import newton_terms as robit_terms
from pasb.binary.t_link import LOGISTIC, LOGISTIC_LINK
from pasb.numerics.compiled import elementwise, kernel
from pasb.numerics.gaussian import equilibrated_cholesky
from pasb.numerics.rows import BLOCK, Rows, one_predictor, weighted_gram
from pasb.numerics.vector import vector_exp, vector_softplus
from pasb.sticks import ABSENT, SUCCESS

# mypy: disable-error-code="call-arg"


class Laplace(NamedTuple):
    """A normal approximation of a posterior, and the evidence that goes with it.

    Attributes
    ----------
    packed : array
        Mode, precision matrix, bends and log-evidence in one array, see
        `pasb.binary.bent_normal`.
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
        draw_gaussian(self.packed, key, out)

    def log_density(self, at: NDArray[np.float64]) -> float:
        """Log-density of the proposal, constants included."""
        return gaussian_log_density(self.packed, at)


def laplace_logistic(
    rows: Rows,
    roles: NDArray[np.int8],
    prior: CoefficientPrior | ColumnPriors,
    start: NDArray[np.float64] | None = None,
) -> Laplace:
    """`laplace` for a logistic regression."""
    return laplace(rows, roles, prior, LOGISTIC_LINK, start)


def laplace(
    rows: Rows,
    roles: NDArray[np.int8],
    prior: CoefficientPrior | ColumnPriors,
    link: tuple[float, float, NDArray],
    start: NDArray[np.float64] | None = None,
    tolerance: float = 1e-5,
) -> Laplace:
    """Mode and curvature of the posterior of a logistic or robit regression.

    A t prior enters by the normal distribution that touches it at the mode; that gives the right
    gradient, and a curvature that is always positive. When half the squared Newton decrement
    is below `tolerance`, the step that it belongs to is the last one: the decrement after
    it would be smaller than the square of that, and the curvature changes no more.

    Parameters
    ----------
    rows : Rows
    roles : array of shape (n_categories,)
        What the rows of each category are.
    prior : CoefficientPrior or ColumnPriors
    link : tuple
        See `pasb.binary.t_link`.
    start : array of shape (n_columns,), optional
        Where Newton's method starts.
    tolerance : float

    Returns
    -------
    Laplace
    """
    with rows.spaces.lent("linear", partial(LinearSpace.of, rows)) as space:
        return _climb(rows, roles, space.work, prior, link, start, tolerance)


def _climb(
    rows: Rows,
    roles: NDArray[np.int8],
    work: tuple[NDArray, ...],
    prior: CoefficientPrior | ColumnPriors,
    link: tuple[float, float, NDArray],
    start: NDArray[np.float64] | None,
    tolerance: float,
) -> Laplace:
    """What `laplace` does in the work space of an update."""
    n = rows.n_columns
    curvature, residual, used, scratch, gram, linear, scale, factor, padded_beta = work
    regression = ((rows.blocks, rows.weights, rows.bounds), tuple(prior), link)
    terms = (used, scratch[0], curvature, residual)
    beta, step = padded_beta[:n], np.zeros(n)
    beta[:] = 0.0 if start is None else start

    def objective() -> float:
        return _newton_terms(regression, roles, padded_beta, *terms) + prior.log_density(beta)

    value = objective()
    for _ in range(200):
        weighted_gram(rows.blocks, curvature, residual, used, scratch, gram, linear)
        alpha = prior.precision_at(beta)
        gradient = linear[:n] - prior.pull(beta, alpha)
        factorise(gram[:n, :n], alpha, scale, factor)
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


@kernel
def _newton_terms(regression, roles, padded_coef, used, eta, curvature, residual):
    """Curvatures and residuals of the rows of all used blocks; returns the log-likelihood.

    A block is used if a row in it is not absent: sorted by category, absent rows fill whole
    blocks. `eta` is work space for one block.
    """
    (blocks, weights, bounds), _, link = regression
    total = 0.0
    for k in range(blocks.shape[0]):
        used[k] = False
        start, stop = k * BLOCK, (k + 1) * BLOCK
        for s in range(roles.shape[0]):
            a, b = max(bounds[s], start), min(bounds[s + 1], stop)
            if a >= b or roles[s] == ABSENT:
                continue
            if not used[k]:
                one_predictor(blocks[k], padded_coef, eta)
                curvature[start:stop] = 0.0
                residual[start:stop] = 0.0
                used[k] = True
            label = 1.0 if roles[s] == SUCCESS else 0.0
            e, h = eta[a - start : b - start], weights[a:b]
            if link[0] == LOGISTIC:
                total = logistic_terms(e, label, h, curvature[a:b], residual[a:b], total)
            else:
                total = robit_terms(e, label, h, *link, curvature[a:b], residual[a:b], total)
    return total


@elementwise
def logistic_terms(eta, label, weights, curvature, residual, total):
    """Curvatures and residuals of rows with one label; adds their log-likelihood to `total`."""
    for i in range(eta.size):
        p = 1.0 / (1.0 + vector_exp(-eta[i]))
        curvature[i] = weights[i] * p * (1.0 - p)
        residual[i] = weights[i] * (label - p)
    for i in range(eta.size):
        total += weights[i] * (label * eta[i] - vector_softplus(eta[i]))
    return total


def factorise(gram, alpha, scale, factor) -> None:
    """Factor ``gram + diag(alpha)``, with more on the diagonal if rounding demands it."""
    diagonal = np.arange(len(alpha))
    gram[diagonal, diagonal] += alpha
    ridge = 1e-12
    while not equilibrated_cholesky(gram, scale, factor):
        gram[diagonal, diagonal] *= 1 + ridge
        ridge *= 10
