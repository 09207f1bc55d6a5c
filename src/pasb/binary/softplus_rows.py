"""What an update of a softplus regression does to one row; one source for CPUs and GPUs.

The names follow the derivation in `pasb.binary.softplus`.

Arguments of one row, of which each has an entry for every expert (K), or for expert and layer (K,
T):

- `psi`, `log_q`, `q`, `theta` (K, T): linear predictors, log q_t and q_t, gamma variables;
- `weight`, `log_weight` (K): r_k, and its log; `off` (K): whether an expert takes no part;
- `label` (int): the role of the row (`pasb.sticks`);
- `log_rate`, `rate`, `left` (K): work space: r_k q_T and its log, and sums of it over the experts
  that are left;
- `active` (K), `log_exposure` (K): what is drawn: who has an arrival, and the log of the exposure;
- `stream`: where the random numbers of the row begin.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.softplus_link import LINEAR_BELOW
from pasb.numerics.compiled import kernel
from pasb.sticks import IMPUTED, SUCCESS
from pasb.variates.jit import inlined_sampler
from pasb.variates.scalar import exponential, polya_gamma, uniform
from pasb.variates.scalar.gammas import gamma_from_one

LEAST_THETA, GREATEST_THETA = 1e-300, 1e300
LOG_NOTHING = -720.0  # e^-720 times a gamma variable of a shape below 2 is below `LEAST_THETA`
NO_THETA = 1e-280  # so are all gamma variables of a shape below, times any scale there is
NO_SHAPE = 1e-160  # PG(h, c) is zero in floating point for every h below
EXPERT_SHIFT = np.uint64(12)  # draws of a row that an expert has to itself, in bits
LARGEST_SHAPE = 1e40  # of a Polya-Gamma variable; the rows of larger ones are frozen
FROZEN = 1e14  # latent weight that stands for all larger ones
STEEP = 1e8  # linear term beyond which sums lose those of others, for a weight of 1
LOG_RARE = -60.0  # with rates below e^-60 two arrivals in one row do not happen


@kernel
def draw_active(log_rate, rate, left, impute, stream, active):
    """Which experts have an arrival in this row, given that one has.

    `log_rate` are the logs of r_k q_T. With `impute` the label is drawn first, and there may be
    none.
    """
    n_experts = log_rate.size
    largest = 0
    for k in range(1, n_experts):
        if log_rate[k] > log_rate[largest]:
            largest = k
    # where all rates underflow they are lifted together: only their ratios count then
    lift = max(0.0, LOG_RARE - log_rate[largest])
    total = 0.0
    for k in range(n_experts - 1, -1, -1):
        rate[k] = math.exp(min(log_rate[k] + lift, 690.0))
        total += rate[k]
        left[k] = total
        active[k] = 0
    if impute:
        u, stream = uniform(stream)
        if u >= -math.expm1(-total):
            return
    some = False
    for k in range(n_experts):
        # once there is an arrival, the experts that are left are free
        bound = 1.0 if some else -math.expm1(-left[k])
        u, stream = uniform(stream)
        if u * bound < -math.expm1(-rate[k]):
            active[k] = 1
            some = True
    if not some:  # by rounding only
        active[largest] = 1


@kernel
def draw_log_arrival(log_rate, log_weight, log_q, stream):
    """Log of the time of the first arrival, at rate r_k, given that it is before q_T."""
    u, stream = uniform(stream)
    if log_rate < LINEAR_BELOW:
        return math.log(u) + log_q, stream
    rate = math.exp(min(log_rate, 690.0))
    log_v = math.log(-math.log1p(u * math.expm1(-rate))) - log_weight
    return min(log_v, log_q), stream


@inlined_sampler
def log_expm1(log_v, v):
    """log(e^v - 1), for v of any size."""
    if v > 1.0:
        return v + math.log1p(-math.exp(-v))
    # the power series of log((e^v - 1) / v)
    z = v * v
    p = 43867.0 / 91963695909076992000.0
    p = p * z - 3617.0 / 170729965486080000.0
    p = p * z + 1.0 / 1046139494400.0
    p = p * z - 691.0 / 15692092416000.0
    p = p * z + 1.0 / 479001600.0
    p = p * z - 1.0 / 9676800.0
    p = p * z + 1.0 / 181440.0
    p = p * z - 1.0 / 2880.0
    p = p * z + 1.0 / 24.0
    return log_v + v * (0.5 + v * p)


@inlined_sampler
def expert_stream(stream, k):
    """What expert k draws of a row: an expert's draws do not wait for those of another."""
    key, counter = stream
    return key, counter + (np.uint64(k + 1) << EXPERT_SHIFT)


@inlined_sampler
def draw_theta(shape, exponent, stream):
    """exp(exponent) times a Gamma(shape) variable, kept within bounds."""
    if shape < 1.0:
        if shape <= NO_THETA:
            return LEAST_THETA, stream
        # Gamma(a) is Gamma(a + 1) times exp(-E / a), where that may underflow
        e, stream = exponential(stream)
        exponent -= e / shape
        if exponent < LOG_NOTHING:
            return LEAST_THETA, stream
        shape += 1.0
    x, stream = gamma_from_one(stream, shape)
    return min(max(x * math.exp(exponent), LEAST_THETA), GREATEST_THETA), stream


@inlined_sampler
def draw_expert(psi, log_q, q, theta, a, b, down, log_weight, weight, active, stream):
    """Arrival and theta of one expert in one row, given whether it is active.

    `psi` to `theta` have two axes, and layer t is at ``[a + t, b]`` where `down` is 1, at ``[a, b
    + t]`` where it is 0: views of single rows would cost as much as the draws. Returns the log
    of the exposure; the lowest theta is integrated out and not drawn, and where `down` is 1
    there is no place for it: theta of layer t is at ``[a + t - 1, b]``.
    """
    right = 1 - down
    top = psi.shape[0] - 1 if down == 1 else psi.shape[1] - 1
    shape = weight
    if not active:
        for t in range(top, 0, -1):
            at = a + t * down, b + t * right
            shape, stream = draw_theta(shape, psi[at] - q[at], stream)
            theta[at[0] - down, at[1]] = shape
        return 0.0
    log_q_top = log_q[a + top * down, b + top * right]
    log_v, stream = draw_log_arrival(log_weight + log_q_top, log_weight, log_q_top, stream)
    for t in range(top, 0, -1):
        at = a + t * down, b + t * right
        v = math.exp(log_v)
        shape, stream = draw_theta(shape + 1.0, psi[at] - v, stream)
        theta[at[0] - down, at[1]] = shape
        log_v = min(log_expm1(log_v, v) - psi[at], log_q[at[0] - down, at[1] - right])
    return min(log_expm1(log_v, math.exp(log_v)) - psi[a, b], 0.0)


@kernel
def draw_row(
    psi,
    log_q,
    q,
    log_weight,
    off,
    label,
    stream,
    log_rate,
    rate,
    left,
    active,
    log_exposure,
    theta,
):
    """Arrivals and theta of one row, from their exact joint distribution given its label.

    `psi` to `q` and `theta` are (experts, layers); `log_rate`, `rate` and `left` are scratch.
    The lowest theta is integrated out and not drawn.
    """
    n_experts, n_layers = psi.shape
    for k in range(n_experts):
        active[k] = 0
        log_exposure[k] = 0.0
    if label in (SUCCESS, IMPUTED):
        for k in range(n_experts):
            log_rate[k] = log_weight[k] + log_q[k, n_layers - 1]
        draw_active(log_rate, rate, left, label == IMPUTED, stream, active)
    for k in range(n_experts):
        if not off[k]:
            log_exposure[k] = draw_expert(
                psi,
                log_q,
                q,
                theta,
                k,
                0,
                0,
                log_weight[k],
                math.exp(log_weight[k]),
                active[k] == 1,
                expert_stream(stream, k),
            )


@kernel
def is_steep(weight, share):
    """Whether the linear term of a row is too large to be summed up with those of others."""
    return share * share > STEEP * STEEP * max(weight, 1.0)


@kernel
def is_heavy(weight, share, heavy):
    """Whether a row must not be summed up with others: heavier than `heavy`, or steep."""
    return weight > heavy or is_steep(weight, share)


@inlined_sampler
def draw_row_weight(shape, n, c, stream):
    """w ~ PG(shape + n, c) with c = psi + log exposure, and the row's linear term.

    The linear term is that of the step from the present coefficients, (n - shape) / 2 - w c:
    its parts nearly cancel, and for a theta of 1e17 nothing would be left of the coefficients
    if that were left to the sums. A row with w > 1e14 is *frozen*, as the last value says: it
    gets the weight 1e14 and a term of the same ratio to it, so that its predictor goes where it
    would, to within 1e-7.
    """
    if shape + n < NO_SHAPE:
        return 0.0, -0.5 * shape, False
    h = min(shape, LARGEST_SHAPE)
    w, _ = polya_gamma(stream, h + n, c)
    if w > FROZEN:
        return FROZEN, FROZEN * (0.5 * (n - h) / w - c), True
    return w, 0.5 * (n - h) - w * c, False
