"""Metropolis moves that stretch all coefficients of a support vector machine by one factor.

Once all rows are beyond the hinge, the data say nothing about the length of the coefficient vector,
which only the precisions hold back; and these follow the coefficients. Gibbs steps of the two in
turn cover orders of magnitude slowly. Here the coefficients b that are in, and their precisions
alpha where these are sampled, move together:

    b -> f b,  alpha -> alpha / f^2.

The normal density of b given alpha, times the Jacobian of the map of b, stays the same. So with n
precisions, and shape and rate of their gamma prior, the log of the ratio that decides is

    the gain in pseudo-likelihood  -  2 n shape log f  -  rate (f^-2 - 1) sum of alpha.

With fixed precisions b moves alone, and the prior and the Jacobian count. Latents are integrated
out, so they have to be drawn afterwards.

Arguments as in `pasb.binary.support_vector_kernels` and `pasb.binary.linear_kernels`; `n_moves`
are made.
"""

from __future__ import annotations

import math

from pasb.binary.precisions import GREATEST_PRECISION, LEAST_PRECISION
from pasb.binary.support_vector_kernels import FIXED, SHARED
from pasb.numerics.compiled import kernel, summing
from pasb.sticks import FAILURE, SUCCESS
from pasb.variates.scalar import normal, open_stream, uniform

WIDE, NARROW = 1.0, 0.2  # standard deviations of the log of the factor, taking turns

# mypy: disable-error-code="call-arg"


@summing
def hinge_loss(eta, factor, weights, bounds, roles):
    """Minus the log of the pseudo-likelihood, when every linear predictor is stretched."""
    total = 0.0
    for s in range(roles.shape[0]):
        if roles[s] != SUCCESS and roles[s] != FAILURE:
            continue
        signed = factor if roles[s] == SUCCESS else -factor
        e = eta[bounds[s] : bounds[s + 1]]
        h = weights[bounds[s] : bounds[s + 1]]
        for i in range(e.size):
            total += 2.0 * h[i] * max(1.0 - signed * e[i], 0.0)
    return total


@kernel
def log_prior_of_factor(prior, coef, precision, log_factor):
    """Log of the prior, Jacobian included, as a function of the factor; -inf beyond bounds."""
    kind, shape, rate = prior
    n, squares, total = 0, 0.0, 0.0
    least, greatest = precision[0], precision[0]
    for v in range(coef.shape[0]):
        if v == 0 or coef[v] != 0.0:
            n += 1
            squares += precision[v] * coef[v] * coef[v]
            total += precision[v]
            least, greatest = min(least, precision[v]), max(greatest, precision[v])
    if kind == FIXED:
        return n * log_factor - 0.5 * squares * math.exp(2.0 * log_factor)
    shrunk = math.exp(-2.0 * log_factor)
    if least * shrunk < LEAST_PRECISION or greatest * shrunk > GREATEST_PRECISION:
        return -math.inf
    if kind == SHARED:
        n, total = 1, precision[0]
    return -2.0 * n * shape * log_factor - rate * total * shrunk


@kernel
def stretch_with_precisions(eta, rows, roles, prior, n_moves, key, coef, precision):
    """Stretch `coef` and `precision` in place by the accepted factors; how many were accepted.

    `eta` are the linear predictors of `coef`, and stay as they are. `rows` is weights and bounds,
    ``prior = (kind, shape, rate)`` is that of the precisions.
    """
    weights, bounds = rows
    log_factor, accepted = 0.0, 0
    here = log_prior_of_factor(prior, coef, precision, log_factor)
    here -= hinge_loss(eta, 1.0, weights, bounds, roles)
    for move in range(n_moves):
        stream = open_stream(key, move)
        z, stream = normal(stream)
        u, stream = uniform(stream)
        proposed = log_factor + z * (WIDE if move % 2 == 0 else NARROW)
        there = log_prior_of_factor(prior, coef, precision, proposed)
        there -= hinge_loss(eta, math.exp(proposed), weights, bounds, roles)
        if math.log(u) < there - here:
            log_factor, here = proposed, there
            accepted += 1
    if accepted > 0:
        factor, shrunk = math.exp(log_factor), math.exp(-2.0 * log_factor)
        for v in range(coef.shape[0]):
            if prior[0] == SHARED or (prior[0] != FIXED and (v == 0 or coef[v] != 0.0)):
                precision[v] *= shrunk
            coef[v] *= factor
    return accepted
