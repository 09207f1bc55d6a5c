"""What the printed update of a softplus regression does to one row: counts and theta.

The names follow the derivation in `pasb.binary.softplus_printed`. Counts are floating-point
numbers: a predictor of 50 asks for some 1e21.

Arguments as in `pasb.binary.softplus_rows`; `counts` (K, T) are the latent counts of the layers,
and `count_stream` is the stream from which they are drawn.
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.softplus_rows import LARGEST_SHAPE, draw_row, draw_theta, expert_stream
from pasb.numerics.compiled import kernel
from pasb.sticks import SUCCESS
from pasb.variates.jit import sampler
from pasb.variates.scalar import crt, log_gamma, normal, poisson, uniform

LARGEST_COUNT = LARGEST_SHAPE  # larger ones are frozen with their rows
LARGEST_WHOLE = 2.0**60  # of rates and counts that are drawn as integers
LARGEST_RARE = 1e15  # of theta; guests beyond the first 2^60 then sit down alone but rarely
NO_OTHERS = 1e-18  # rate below which a count that is not zero is one
HALF_OF_AN_EXPERT = np.uint64(1 << 11)  # of the draws that an expert has in a row


@sampler
def large_poisson(stream, rate):
    """A Poisson count as a floating-point number, at most `LARGEST_COUNT`."""
    if rate <= LARGEST_WHOLE:
        count, stream = poisson(stream, rate)
        return np.float64(count), stream
    rate = min(rate, LARGEST_COUNT)
    z, stream = normal(stream)
    return rate + math.sqrt(rate) * z, stream


@sampler
def large_crt(stream, m, r):
    """CRT(m, r) for a count of any size.

    Guests beyond the first 2^60 sit down alone with a probability of r / 2^60 at most: their
    tables are a Poisson number where that is small, and a normal one where it is not.
    """
    whole = min(m, LARGEST_WHOLE)
    if m > LARGEST_WHOLE and r > LARGEST_RARE:
        share = m / (r + m)
        z, stream = normal(stream)
        spread = math.sqrt(r * max(math.log1p(m / r) - share, 0.0))
        return min(max(r * math.log1p(m / r) + spread * z, 1.0), m), stream
    count, stream = crt(stream, np.int64(whole), r)
    tables = np.float64(count)
    if m > whole:
        more, stream = large_poisson(stream, r * math.log((r + m) / (r + whole)))
        tables += more
    return tables, stream


@kernel
def split_count(log_theta, off, stream, rate, counts):
    """m ~ Poisson(sum of theta) given that it is not zero, split in proportion to theta.

    The first of the arrivals goes to one expert, the others are those of independent Poisson
    processes on the time that is left. `log_theta` (K) has the logs of theta; ``counts[k, 0]``
    becomes the share of expert k; `rate` is scratch.
    """
    n_experts = log_theta.size
    largest = -np.inf
    for k in range(n_experts):
        if not off[k]:
            largest = max(largest, log_theta[k])
    relative = 0.0
    for k in range(n_experts):
        rate[k] = 0.0 if off[k] else math.exp(log_theta[k] - largest)
        relative += rate[k]
    total = relative * math.exp(min(largest, 690.0))
    u, stream = uniform(stream)
    left = max(0.0, total + math.log1p(u * math.expm1(-total)))
    share = left / total if total > NO_OTHERS else 0.0
    u, stream = uniform(stream)
    place = u * relative
    first = -1
    for k in range(n_experts):
        if not off[k] and (place > 0.0 or first < 0):
            first = k
        place -= rate[k]
    for k in range(n_experts):
        count = 0.0
        if not off[k]:
            count, stream = large_poisson(stream, rate[k] / relative * total * share)
        counts[k, 0] = count + (k == first)


@kernel
def is_kept(label, counts):
    """Whether a row has counts of the update before; a success has none when it is new."""
    if label != SUCCESS:
        return False
    some = False
    for k in range(counts.shape[0]):
        some |= counts[k, 0] > 0.0
    return some


@kernel
def draw_kept_row(psi, q, log_weight, off, stream, count_stream, log_theta, rate, counts, theta):
    """Theta downward given the counts of a success, then new counts of the lowest layer.

    `psi`, `q`, `counts` and `theta` are (experts, layers); `log_theta` and `rate` are scratch.
    """
    n_experts, n_layers = psi.shape
    for k in range(n_experts):
        if off[k]:
            continue
        own = expert_stream(stream, k)
        shape = math.exp(log_weight[k])
        for t in range(n_layers - 1, 0, -1):
            shape, own = draw_theta(shape + counts[k, t], psi[k, t] - q[k, t], own)
            theta[k, t] = shape
        x, own = log_gamma(own, shape + counts[k, 0])
        log_theta[k] = x + psi[k, 0] - q[k, 0]
    split_count(log_theta, off, count_stream, rate, counts)


@kernel
def draw_new_row(
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
    counts,
    theta,
):
    """Theta and the counts of the lowest layer, from their exact joint distribution.

    By the first arrivals of `pasb.binary.softplus`: given theta of the lowest layer, arrivals
    after the first one are a Poisson number.
    """
    n_experts, n_layers = psi.shape
    draw_row(
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
    )
    for k in range(n_experts):
        counts[k, 0] = 0.0
        if active[k] == 0 or off[k]:
            continue
        key, counter = expert_stream(stream, k)
        own = key, counter + HALF_OF_AN_EXPERT
        shape = theta[k, 1] if n_layers > 1 else math.exp(log_weight[k])
        x = psi[k, 0] + log_exposure[k]
        exposure = max(x, 0.0) + math.log1p(math.exp(-abs(x)))
        lowest, own = draw_theta(shape + 1.0, psi[k, 0] - exposure, own)
        others, own = large_poisson(own, lowest * -math.expm1(log_exposure[k]))
        counts[k, 0] = 1.0 + others
