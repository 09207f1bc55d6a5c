"""The posterior of a softplus stick with all latents and precisions integrated out, in logs.

What is left is smooth: coefficients, and the logs of the weights r_k, of the rates of the layers
(where they have a prior), of gamma_0 and of c_0. A *position* is all of these in one vector, in
this order. With a = gamma_0 / K the log-density, up to a constant, is

    log-likelihood                                        (`pasb.binary.softplus_gradient`)
    + sum of shape log(rate) - (shape + 1/2) log(rate + b^2 / 2)     over coefficients b,
      or - precision b^2 / 2 where the precision is fixed,
    + sum of a_0 log(rate) - b_0 rate                     over layers, with Gamma(a_0, b_0) rates,
    + sum of a log(r_k) + a log(c_0) - log Gamma(a) - c_0 r_k        over experts,
    + mass_shape log(gamma_0) - mass_rate gamma_0
    + inverse_scale_shape log(c_0) - inverse_scale_rate c_0,

with the Jacobians of the logs included.

Arguments of the compiled functions: `rows` (`StickRows`); ``prior = (ard, shape, rate_prior,
hypers)``, as in `log_posterior`; `position` and `gradient` (N), a position and the gradient there;
`work`, the tuple that `posterior_space` makes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.binary_model import Parameters
from pasb.binary.softplus_force import force_space, single_gradient
from pasb.binary.softplus_gradient import gradient_space, log_likelihood, value_and_gradient
from pasb.binary.softplus_link import LOG_LEAST
from pasb.numerics.compiled import kernel

# Beyond these, of logs of weights, rates, gamma_0 and c_0 and of coefficients, trajectories do not
# go, and a chain that is there is left where it is.
LOG_BOUND, COEF_BOUND = 600.0, 1e8
# Forces; without it a trajectory is that of the GPU but for rounding.
IN_SINGLE = True

# mypy: disable-error-code="call-arg"


def position_of(own: Parameters) -> NDArray[np.float64]:
    """The position of one category's parameters."""
    logs = [np.log(own[name].ravel()) for name in ("weight", "rate", "mass", "inverse_scale")]
    return np.concatenate([own["coef"].ravel(), *logs])


def take_position(position: NDArray[np.float64], own: Parameters, sampled_rates: bool) -> None:
    """Write a position into one category's parameters."""
    n = own["coef"].size
    own["coef"][...] = position[:n].reshape(own["coef"].shape)
    for name in ("weight", "rate", "mass", "inverse_scale"):
        size = own[name].size
        if name != "rate" or sampled_rates:
            values = np.exp(np.maximum(position[n : n + size], LOG_LEAST))
            own[name][...] = values.reshape(own[name].shape)
        n += size


@kernel
def digamma(x):
    """The derivative of log Gamma, for x > 0."""
    total = 0.0
    while x < 8.0:
        total -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))))
    return total + math.log(x) - 0.5 / x - series


@kernel
def take_coefficients(position, coef, n_columns):
    """Copy a position's coefficients into padded ones; whether it is within the bounds."""
    n_coef = coef.shape[0] * n_columns
    for i in range(n_coef, position.shape[0]):
        if not abs(position[i]) <= LOG_BOUND:
            return False
    for j in range(coef.shape[0]):
        for v in range(n_columns):
            b = position[j * n_columns + v]
            if not abs(b) < COEF_BOUND:
                return False
            coef[j, v] = b
    return True


@kernel
def gradient_of_rows(rows, log_weight, work, grad_weight):
    """The gradient of the log-likelihood at the coefficients in `work`, as trajectories follow it.

    That by coefficients is left in `work`.
    """
    coef, grad_coef, space, _, in_single, single_space = work
    if in_single:
        single_gradient(rows, coef, log_weight, single_space, grad_coef, grad_weight)
    else:
        value_and_gradient(rows, coef, log_weight, space, grad_coef, grad_weight)


@kernel
def add_log_prior(prior, position, gradient, work):
    """The log-prior of a position; its gradient is added to that of the likelihood.

    The latter is in `work` by coefficients, and in `gradient` by log-weights.
    """
    ard, shape, rate_prior, hypers = prior
    grad_coef, n_columns = work[1], work[3]
    n_vectors, n_experts = grad_coef.shape[0], work[2][2].shape[0]
    n_coef = n_vectors * n_columns
    log_r = position[n_coef : n_coef + n_experts]
    log_rate = position[n_coef + n_experts : n_coef + n_experts + n_vectors]
    log_mass, log_inverse_scale = position[-2], position[-1]
    grad_r = gradient[n_coef : n_coef + n_experts]
    total = 0.0
    # coefficients and rates
    for j in range(n_vectors):
        rate, slope = math.exp(log_rate[j]), 0.0
        for v in range(n_columns):
            i = j * n_columns + v
            b = position[i]
            if ard:
                inside = rate + 0.5 * b * b
                total += shape * log_rate[j] - (shape + 0.5) * math.log(inside)
                gradient[i] = grad_coef[j, v] - (shape + 0.5) * b / inside
                slope += shape - (shape + 0.5) * rate / inside
            else:
                total -= 0.5 * shape * b * b
                gradient[i] = grad_coef[j, v] - shape * b
        at = n_coef + n_experts + j
        if ard and rate_prior[0] > 0.0:
            total += rate_prior[0] * log_rate[j] - rate_prior[1] * rate
            gradient[at] = slope + rate_prior[0] - rate_prior[1] * rate
        else:
            gradient[at] = 0.0  # it stays where it is
    # weights, gamma_0 and c_0
    mass, inverse_scale = math.exp(log_mass), math.exp(log_inverse_scale)
    a = mass / n_experts
    shares, sum_r = 0.0, 0.0
    for k in range(n_experts):
        r = math.exp(log_r[k])
        total += a * log_r[k] - inverse_scale * r
        grad_r[k] += a - inverse_scale * r
        shares += log_r[k]
        sum_r += r
    total += mass * log_inverse_scale - n_experts * math.lgamma(a)
    total += (
        hypers[0] * log_mass
        - hypers[1] * mass
        + hypers[2] * log_inverse_scale
        - hypers[3] * inverse_scale
    )
    gradient[-2] = (
        a * shares + mass * (log_inverse_scale - digamma(a)) + hypers[0] - hypers[1] * mass
    )
    gradient[-1] = mass - inverse_scale * sum_r + hypers[2] - hypers[3] * inverse_scale
    return total


@kernel
def log_posterior(rows, prior, position, scratch, work):
    """Log-density at a position; minus infinity far out.

    Parameters
    ----------
    rows : StickRows
    prior : tuple
        ``ard``, ``shape`` of the precisions (or the fixed precision), ``rate_prior`` (shape and
        rate, zeros where rates are fixed), ``hypers`` (shape and rate of gamma_0, and of c_0).
    position, scratch : array
    work : tuple
        See `posterior_space`.
    """
    coef, _, space, n_columns, _, _ = work
    if not take_coefficients(position, coef, n_columns):
        return -np.inf
    n_coef = coef.shape[0] * n_columns
    log_r = position[n_coef : n_coef + space[2].shape[0]]
    total = log_likelihood(rows, coef, log_r, space)
    return total + add_log_prior(prior, position, scratch, work)


@kernel
def force(rows, prior, position, gradient, work):
    """Its gradient, to the precision that trajectories need; False far out.

    Arguments are those of `log_posterior`.
    """
    coef, _, space, n_columns, _, _ = work
    if not take_coefficients(position, coef, n_columns):
        return False
    n_coef = coef.shape[0] * n_columns
    of_weights = slice(n_coef, n_coef + space[2].shape[0])
    gradient_of_rows(rows, position[of_weights], work, gradient[of_weights])
    add_log_prior(prior, position, gradient, work)
    return True


def posterior_space(size: tuple[int, int, int], n_padded: int, width: int) -> tuple:
    """Work space of `log_posterior` and `force`.

    Padded coefficients and gradients, space of the gradient, the number of columns, whether forces
    are in single precision, space for that. `size` is (experts, layers, columns); `n_padded` counts
    padded columns, `width` rows of a block.
    """
    n_experts, n_layers, n_columns = size
    padded = (n_experts * n_layers, n_padded)
    space = gradient_space(n_experts, n_layers, width)
    single_space = force_space(n_experts, n_layers, n_padded, width)
    return np.zeros(padded), np.zeros(padded), space, n_columns, IN_SINGLE, single_space


def in_single(work: tuple) -> bool:
    """Whether forces are in single precision."""
    return bool(work[4])
