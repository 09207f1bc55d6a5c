"""The compiled half of `pasb.binary.robit`: tails of the t law, and the Gibbs step.

Everything is computed from the lower tail, log F(-|x|), which is accurate however far out:
with a = df / 2 and s = df / (df + x^2) it is log(I_s(a, 1/2) / 2), and the incomplete beta
function is a power of s, whose log is known, times a continued fraction near one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pasb.binary.base import ABSENT, FAILURE, SUCCESS
from pasb.binary.logistic_kernels import COEFFICIENTS, LATENTS, NO_EXPERT
from pasb.binary.prior import coefficient_log_prior
from pasb.binary.scale_move import NARROW, WIDE
from pasb.gaussian import draw_by_qr, draw_from_precision
from pasb.rows import BLOCK, linear_predictors, weighted_gram
from pasb.variates.scalar import gamma, normal, open_stream, stream_key, truncated_t, uniform

LARGEST_DF = 1e6  # the continued fraction needs about sqrt(df) steps
LEAST_CURVATURE = 0.25  # of a row, as a share of its expectation

kernel = njit(cache=True, error_model="numpy", nogil=True)


def t_constant(df: float) -> float:
    """Log of Gamma((df + 1) / 2) / (Gamma(df / 2) sqrt(pi)); zero for infinite `df`."""
    if df == math.inf:
        return 0.0
    a = 0.5 * df
    if a < 50:
        ratio = math.lgamma(a + 0.5) - math.lgamma(a)
    else:  # the difference of two large numbers would lose digits
        b = 1 / (a * a)
        ratio = 0.5 * math.log(a) - (1 / 8 - b * (1 / 192 - b * (1 / 640 - b * 17 / 14336))) / a
    return ratio - 0.5 * math.log(math.pi)


@kernel
def _continued_fraction(a, b, x):
    """Continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2).

    I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) times this (modified Lentz).
    """
    c = 1.0
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 100_000):
        term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        value *= c * d
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / (1.0 + term * d)
        c = 1.0 + term / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


@kernel
def _log_normal_tail(x):
    """Log of the standard normal distribution function at -x, x >= 0."""
    if x < 25.0:
        return math.log(0.5 * math.erfc(x * math.sqrt(0.5)))
    r = 1.0 / (x * x)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r))))
    return -0.5 * x * x - math.log(x) - 0.5 * math.log(2 * math.pi) + math.log(series)


@kernel
def log_tail(x, df, constant):
    """Log of the t distribution function at -|x|; `constant` is `t_constant(df)`."""
    x = abs(x)
    if df == np.inf:
        return _log_normal_tail(x)
    a = 0.5 * df
    if x > 1e100:  # where the square might overflow the tail is a power
        return constant + 0.5 * (df - 2.0) * math.log(df) - df * math.log(x)
    square = x * x
    near = square / (df + square)
    if near * (a + 2.5) < 1.5:
        root = math.sqrt(near)
        power = math.exp(constant - a * math.log1p(square / df))
        return math.log(0.5 - root * power * _continued_fraction(0.5, a, near))
    log_far, log_near = -math.log1p(square / df), -math.log1p(df / square)
    fraction = _continued_fraction(a, 0.5, df / (df + square))
    return constant - math.log(df) + a * log_far + 0.5 * log_near + math.log(fraction)


@kernel
def log_success_and_failure(eta, df, constant, log_failure):
    """Turn linear predictors into log-probabilities; `eta` becomes that of success."""
    for s in range(eta.shape[0]):
        for i in range(eta.shape[1]):
            low = log_tail(eta[s, i], df, constant)
            high = math.log1p(-math.exp(low))
            upward = eta[s, i] > 0.0
            log_failure[s, i] = low if upward else high
            eta[s, i] = high if upward else low


@kernel
def sum_logs(blocks, weights, bounds, df, constant, padded_coef, eta, success, failure):
    """Linear predictors, and sums of the log-probabilities over the rows of each category."""
    linear_predictors(blocks, padded_coef, eta)
    for j in range(eta.shape[0]):
        for s in range(bounds.shape[0] - 1):
            success[j, s] = 0.0
            failure[j, s] = 0.0
            for i in range(bounds[s], bounds[s + 1]):
                low = log_tail(eta[j, i], df, constant)
                high = math.log1p(-math.exp(low))
                upward = eta[j, i] > 0.0
                success[j, s] += weights[i] * (high if upward else low)
                failure[j, s] += weights[i] * (low if upward else high)


@kernel
def newton_terms(eta, labels, weights, df, constant, curvature, residual):
    """Curvatures and residuals of every row; returns the log-likelihood.

    With u the linear predictor towards the label and m(u) = f(u) / F(u), the curvature is
    m(u) (m(u) - (log f)'(u)), which may be negative, and its expectation m(u) m(-u).
    """
    total = 0.0
    normal_law = df == np.inf
    constant_of_f = -0.5 * math.log(2 * math.pi) if normal_law else constant - 0.5 * math.log(df)
    for i in range(eta.size):
        curvature[i] = 0.0
        residual[i] = 0.0
        if weights[i] == 0.0:
            continue
        sign = 2.0 * labels[i] - 1.0
        u = sign * eta[i]
        low = log_tail(u, df, constant)
        high = math.log1p(-math.exp(low))
        log_right, log_wrong = (high, low) if u > 0.0 else (low, high)
        if normal_law:
            log_f, fall = constant_of_f - 0.5 * u * u, u
        else:
            log_f = constant_of_f - 0.5 * (df + 1.0) * math.log1p(u * u / df)
            fall = (df + 1.0) * u / (df + u * u)
        ratio = math.exp(log_f - log_right)
        expected = ratio * math.exp(log_f - log_wrong)
        curvature[i] = weights[i] * max(ratio * (ratio + fall), LEAST_CURVATURE * expected)
        residual[i] = weights[i] * sign * ratio
        total += weights[i] * log_right
    return total


@kernel
def residuals_and_sum(eta, weights, sign, df, constant, residual):
    """Log-likelihood of labels that all have one sign, and its derivatives."""
    total = 0.0
    normal_law = df == np.inf
    constant_of_f = -0.5 * math.log(2 * math.pi) if normal_law else constant - 0.5 * math.log(df)
    for i in range(eta.size):
        residual[i] = 0.0
        if weights[i] == 0.0:
            continue
        u = sign * eta[i]
        low = log_tail(u, df, constant)
        log_right = math.log1p(-math.exp(low)) if u > 0.0 else low
        if normal_law:
            log_f = constant_of_f - 0.5 * u * u
        else:
            log_f = constant_of_f - 0.5 * (df + 1.0) * math.log1p(u * u / df)
        residual[i] = sign * weights[i] * math.exp(log_f - log_right)
        total += weights[i] * log_right
    return total


@kernel
def gibbs_step(
    blocks,
    weights,
    bounds,
    latents,
    linear_weights,
    used,
    scratch,
    gram,
    linear,
    scale,
    factor,
    df,
    eta,
    parts,
    precision,
    seed,
    chain,
    sweep,
    stick,
    coef,
):
    """Draw latents given `eta`, then `coef` given the latents; False if that took a QR.

    `latents` to `factor` are work space.
    """
    n = coef.shape[0]
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, LATENTS)
    draw_latents(eta, weights, bounds, parts, df, key, latents, linear_weights, used)
    weighted_gram(blocks, latents, linear_weights, used, scratch, gram, linear)
    for v in range(n):
        gram[v, v] += precision[v]
    key = stream_key(seed, chain, sweep, stick, NO_EXPERT, COEFFICIENTS)
    if draw_from_precision(gram[:n, :n], linear[:n], key, scale, factor, coef):
        return True
    draw_by_qr(blocks, latents, precision, linear[:n], key, scale, coef)
    return False


@kernel
def draw_latents(eta, weights, bounds, parts, df, key, latents, linear_weights, used):
    """The latent z of each row given its label, then its scale w given z; w and w z are kept.

    A success means z > 0. Where the label is imputed z is not truncated: its sign is the
    label. The weight of a row is 0 or 1.
    """
    used[:] = False
    for s in range(parts.shape[0]):
        part = parts[s]
        for i in range(bounds[s], bounds[s + 1]):
            latents[i] = 0.0
            linear_weights[i] = 0.0
            if part == ABSENT or weights[i] == 0.0:
                continue
            lower = -eta[i] if part == SUCCESS else -np.inf
            upper = -eta[i] if part == FAILURE else np.inf
            residual, stream = truncated_t(open_stream(key, i), df, lower, upper)
            if df == np.inf:
                latents[i] = 1.0
                linear_weights[i] = eta[i] + residual
                continue
            g, stream = gamma(stream, 0.5 * (df + 1.0))
            # the square of the residual may overflow, w times the residual never does
            latents[i] = 2.0 * g / (df + residual * residual)
            pull = 2.0 * g / (df / residual + residual)
            linear_weights[i] = latents[i] * eta[i] + pull
        if part != ABSENT and bounds[s + 1] > bounds[s]:
            used[bounds[s] // BLOCK : (bounds[s + 1] - 1) // BLOCK + 1] = True


@kernel
def _stretched_log_likelihood(eta, factor, weights, bounds, parts, df, constant):
    """Log-likelihood of the observed labels when every linear predictor is stretched."""
    total = 0.0
    for s in range(parts.shape[0]):
        if parts[s] != SUCCESS and parts[s] != FAILURE:
            continue
        signed = factor if parts[s] == SUCCESS else -factor
        for i in range(bounds[s], bounds[s + 1]):
            low = log_tail(signed * eta[i], df, constant)
            logged = low if signed * eta[i] < 0.0 else math.log1p(-math.exp(low))
            total += weights[i] * logged
    return total


@kernel
def scale_moves(eta, weights, bounds, parts, df, constant, ard, shape, rate, n_moves, key, coef):
    """As `pasb.binary.scale_move.scale_moves`: stretch `coef` by an accepted factor."""
    n = coef.shape[0]
    factor = 1.0
    here = _stretched_log_likelihood(eta, factor, weights, bounds, parts, df, constant)
    here += coefficient_log_prior(coef, factor, ard, shape, rate)
    for move in range(n_moves):
        stream = open_stream(key, move)
        z, stream = normal(stream)
        u, stream = uniform(stream)
        step = z * (WIDE if move % 2 == 0 else NARROW)
        proposed = factor * math.exp(step)
        there = _stretched_log_likelihood(eta, proposed, weights, bounds, parts, df, constant)
        there += coefficient_log_prior(coef, proposed, ard, shape, rate)
        if math.log(u) < there - here + n * step:
            factor = proposed
            here = there
    for v in range(n):
        coef[v] *= factor
