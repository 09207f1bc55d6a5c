"""Metropolis moves that stretch all coefficients of a stick by one factor.

Where a stick nearly separates its classes, the data say little about the length of
its coefficient vector, and Gibbs sampling takes small steps along it. These moves
target the posterior with latents and precisions integrated out, so they are followed
by fresh draws of both. Two of them a sweep make the effective sample size of class
probabilities 3 to 5 times as large on iris, wine and vehicle, for a tenth more time
(`benchmarks/mixing.py`).

Arguments as in `pasb.binary.linear_kernels`; `n_moves` are made.
"""

from __future__ import annotations

import math

from pasb.binary.bent_normal import solve, unpacked
from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.binary.linear_kernels import present_predictors
from pasb.binary.robit_kernels import stretched_log_likelihood as robit_log_likelihood
from pasb.binary.t_link import LOGISTIC
from pasb.numerics.compiled import kernel, summing
from pasb.numerics.vector import vector_log1p_exp_neg
from pasb.sticks import FAILURE, SUCCESS
from pasb.variates.scalar import normal, open_stream, uniform

# mypy: disable-error-code="call-arg"

WIDE, NARROW = 0.8, 0.15  # standard deviations of the log of the factor, taking turns


@summing
def _logistic_log_likelihood(eta, factor, weights, bounds, roles):
    """Log-likelihood of the observed labels when every linear predictor is stretched."""
    total = 0.0
    for s in range(roles.shape[0]):
        if roles[s] != SUCCESS and roles[s] != FAILURE:
            continue
        signed = factor if roles[s] == SUCCESS else -factor
        e = eta[bounds[s] : bounds[s + 1]]
        h = weights[bounds[s] : bounds[s + 1]]
        for i in range(e.size):
            x = signed * e[i]
            total += h[i] * (min(x, 0.0) - vector_log1p_exp_neg(abs(x)))
    return total


@kernel
def stretch(regression, padded_coef, eta, roles, n_moves, key, coef):
    """Stretch `coef` in place by the accepted factors; the number of accepted moves.

    The proposal is symmetric in the log of the factor, and stretching n coefficients has the
    Jacobian factor^n. `padded_coef` and `eta` are work space.
    """
    (blocks, weights, bounds), prior, link = regression
    n = coef.shape[0]
    padded_coef[:n] = coef
    present_predictors(blocks, bounds, roles, padded_coef, eta)
    rows = (weights, bounds, roles)
    accepted = 0
    factor = 1.0
    here = _log_likelihood(eta, factor, rows, link)
    here += coefficient_log_prior(coef, factor, prior)
    for move in range(n_moves):
        stream = open_stream(key, move)
        z, stream = normal(stream)
        u, stream = uniform(stream)
        step = z * (WIDE if move % 2 == 0 else NARROW)
        proposed = factor * math.exp(step)
        there = _log_likelihood(eta, proposed, rows, link)
        there += coefficient_log_prior(coef, proposed, prior)
        if math.log(u) < there - here + n * step:
            factor = proposed
            here = there
            accepted += 1
    for v in range(n):
        coef[v] *= factor
    return accepted


@kernel
def stretch_along(regression, gaussian, padded, pair, roles, n_moves, key, coef):
    """Stretch single coefficients, and let the others follow; the number of accepted moves.

    One coefficient b_v far out in a heavy tail hardly moves by steps of a fixed size. Here its log
    takes a step, with the sign kept, and the other coefficients change in proportion to b_v, as
    the covariance C of an approximation that is not bent tells:

        b' = b + (f - 1) b_v C e_v / C_vv,

    a linear map of determinant f. `padded` (2, padded columns) and `pair` (two vectors of all rows)
    are work space.
    """
    (blocks, weights, bounds), prior, link = regression
    _, scale, factor, _, _ = unpacked(gaussian)
    n = coef.shape[0]
    direction = padded[1, :n]
    eta, proposed = pair
    rows = (weights, bounds, roles)
    padded[0, :n] = coef
    padded[:, n:] = 0.0
    present_predictors(blocks, bounds, roles, padded[0], eta)
    here = _log_likelihood(eta, 1.0, rows, link) + coefficient_log_prior(coef, 1.0, prior)
    accepted = 0
    for move in range(n_moves):
        stream = open_stream(key, move)
        z, stream = normal(stream)
        u, stream = uniform(stream)
        which, stream = uniform(stream)
        v = int(which * n)
        step = z * (WIDE if move % 2 == 0 else NARROW)
        padded[0, :n] = 0.0
        padded[0, v] = 1.0
        solve(scale, factor, padded[0, :n], direction)
        change = math.expm1(step) * coef[v] / direction[v]
        for w in range(n):
            direction[w] *= change
            padded[0, w] = coef[w] + direction[w]
        present_predictors(blocks, bounds, roles, padded[1], proposed)
        for i in range(eta.shape[0]):
            proposed[i] += eta[i]
        there = _log_likelihood(proposed, 1.0, rows, link)
        there += coefficient_log_prior(padded[0, :n], 1.0, prior)
        if math.log(u) < there - here + step:
            coef[:] = padded[0, :n]
            eta[:] = proposed
            here = there
            accepted += 1
    return accepted


@kernel
def _log_likelihood(eta, factor, rows, link):
    """Log-likelihood of the observed labels when every linear predictor is stretched."""
    if link[0] == LOGISTIC:
        return _logistic_log_likelihood(eta, factor, *rows)
    return robit_log_likelihood(eta, factor, *rows, *link)
