"""A softplus stick in coordinates on the scale of its prior.

A coefficient b becomes x = b / sqrt(rate), and the log of a rate is that of rate times the rate of
its own prior. So under the prior all coordinates but the weights and their hyperparameters are
independent of each other, whatever the scale of the coefficients (in the words of the field, the
scales are *non-centred*). A *standard position* is x, the logs of the weights, those of the
relative rates, and the logs of gamma_0 and c_0, all in one vector. Log-prior and log-likelihood are
kept apart, because annealing (`pasb.binary.softplus_annealing`) raises the likelihood to powers.
With a = gamma_0 / K the log-prior, up to a constant, is

    sum of -(shape + 1/2) log(1 + x^2 / 2)                over coefficients,
    + sum of a_0 log(y) - y                               over relative rates y = b_0 rate,
      nothing where rates are fixed,
    + what `pasb.binary.softplus_posterior` has for weights, gamma_0 and c_0.

Applies where every coefficient has a precision of its own (``precision="ard"``).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Parameters
from pasb.binary.softplus_gradient import log_likelihood
from pasb.binary.softplus_link import LOG_LEAST
from pasb.binary.softplus_posterior import COEF_BOUND, LOG_BOUND, digamma, gradient_of_rows
from pasb.numerics.compiled import kernel

# mypy: disable-error-code="call-arg"


def unit_of(rate_prior: NDArray[np.float64]) -> float:
    """What rates are measured by: the inverse of the rate of their prior, 1 where it has none."""
    return 1.0 / float(rate_prior[1]) if rate_prior[0] > 0 else 1.0


def standard_of(own: Parameters, rate_prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard position of one category's parameters."""
    rate = own["rate"]
    x = own["coef"] / np.sqrt(rate)[..., None]
    logs = [np.log(own[name].ravel()) for name in ("weight", "rate", "mass", "inverse_scale")]
    logs[1] = logs[1] - np.log(unit_of(rate_prior))
    return np.concatenate([x.ravel(), *logs])


def take_standard(
    position: NDArray[np.float64], rate_prior: NDArray[np.float64], own: Parameters
) -> None:
    """Write a standard position into one category's parameters; precisions stay as they are."""
    n, n_experts, n_vectors = own["coef"].size, own["weight"].size, own["rate"].size
    log_rate = position[n + n_experts : n + n_experts + n_vectors]
    if rate_prior[0] > 0:
        own["rate"][...] = (np.exp(log_rate) * unit_of(rate_prior)).reshape(own["rate"].shape)
    x = position[:n].reshape(own["coef"].shape)
    own["coef"][...] = x * np.sqrt(own["rate"])[..., None]
    own["weight"][:] = np.exp(np.maximum(position[n : n + n_experts], LOG_LEAST))
    own["mass"][0], own["inverse_scale"][0] = np.exp(np.maximum(position[-2:], LOG_LEAST))


@kernel
def take_standard_coefficients(prior, position, work):
    """Coefficients of a standard position, padded, into `work`; whether it is within the bounds."""
    rate_prior = prior[1]
    coef, n_columns, n_experts = work[0], work[3], work[2][2].shape[0]
    n_vectors = coef.shape[0]
    first_rate = n_vectors * n_columns + n_experts
    log_unit = -math.log(rate_prior[1]) if rate_prior[0] > 0.0 else 0.0
    for i in range(n_vectors * n_columns, position.shape[0]):
        if not abs(position[i]) <= LOG_BOUND:
            return False
    for j in range(n_vectors):
        scale = math.exp(0.5 * (position[first_rate + j] + log_unit))
        for v in range(n_columns):
            b = position[j * n_columns + v] * scale
            if not abs(b) < COEF_BOUND:
                return False
            coef[j, v] = b
    return True


@kernel
def standard_likelihood(rows, prior, position, work):
    """Log-likelihood at a standard position; minus infinity beyond the bounds.

    Arguments are those of `log_prior_and_forces`.
    """
    if not take_standard_coefficients(prior, position, work):
        return -np.inf
    coef, space, n_columns = work[0], work[2], work[3]
    n_coef = coef.shape[0] * n_columns
    log_r = position[n_coef : n_coef + space[2].shape[0]]
    return log_likelihood(rows, coef, log_r, space)


@kernel
def log_prior_and_forces(rows, prior, position, by_prior, by_rows, work):
    """Log-prior at a standard position, its gradient and that of the log-likelihood.

    Minus infinity beyond the bounds of `pasb.binary.softplus_posterior`.

    Parameters
    ----------
    rows : StickRows
    prior : tuple
        ``shape`` of the precisions, ``rate_prior`` (shape and rate, zeros where rates are fixed),
        ``hypers`` (shape and rate of gamma_0, and of c_0).
    position, by_prior, by_rows : array
    work : tuple
        See `pasb.binary.softplus_posterior.posterior_space`.
    """
    if not take_standard_coefficients(prior, position, work):
        return -np.inf
    shape, rate_prior, hypers = prior
    grad_coef, n_columns, n_experts = work[1], work[3], work[2][2].shape[0]
    n_vectors = grad_coef.shape[0]
    n_coef = n_vectors * n_columns
    first_rate = n_coef + n_experts
    sampled = rate_prior[0] > 0.0
    log_unit = -math.log(rate_prior[1]) if sampled else 0.0
    log_r = position[n_coef:first_rate]
    gradient_of_rows(rows, log_r, work, by_rows[n_coef:first_rate])
    total = 0.0
    # coefficients and rates
    for j in range(n_vectors):
        log_rate = position[first_rate + j]
        scale, slope = math.exp(0.5 * (log_rate + log_unit)), 0.0
        for v in range(n_columns):
            i = j * n_columns + v
            x = position[i]
            inside = 1.0 + 0.5 * x * x
            total -= (shape + 0.5) * math.log(inside)
            by_prior[i] = -(shape + 0.5) * x / inside
            by_rows[i] = grad_coef[j, v] * scale
            slope += 0.5 * x * by_rows[i]
        by_prior[first_rate + j] = by_rows[first_rate + j] = 0.0  # it stays where it is
        if sampled:
            relative = math.exp(log_rate)
            total += rate_prior[0] * log_rate - relative
            by_prior[first_rate + j] = rate_prior[0] - relative
            by_rows[first_rate + j] = slope
    # weights, gamma_0 and c_0
    log_mass, log_inverse_scale = position[-2], position[-1]
    mass, inverse_scale = math.exp(log_mass), math.exp(log_inverse_scale)
    a = mass / n_experts
    shares, sum_r = 0.0, 0.0
    for k in range(n_experts):
        r = math.exp(log_r[k])
        total += a * log_r[k] - inverse_scale * r
        by_prior[n_coef + k] = a - inverse_scale * r
        shares += log_r[k]
        sum_r += r
    total += mass * log_inverse_scale - n_experts * math.lgamma(a)
    total += (
        hypers[0] * log_mass
        - hypers[1] * mass
        + hypers[2] * log_inverse_scale
        - hypers[3] * inverse_scale
    )
    by_prior[-2] = (
        a * shares + mass * (log_inverse_scale - digamma(a)) + hypers[0] - hypers[1] * mass
    )
    by_prior[-1] = mass - inverse_scale * sum_r + hypers[2] - hypers[3] * inverse_scale
    by_rows[-2] = by_rows[-1] = 0.0
    return total
