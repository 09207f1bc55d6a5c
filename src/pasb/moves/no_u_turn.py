"""Trajectories without a U-turn: how far a Hamiltonian trajectory goes is found on the way.

The no-U-turn sampler (Hoffman and Gelman 2014) with multinomial draws from the trajectory and the
generalised criterion (Betancourt 2017), doubling without recursion (Phan, Pradhan and Jankowiak
2019). It leaves the density of `pasb.binary.softplus_posterior` invariant for any step size and any
diagonal metric that do not depend on the position; these are adapted in the warm-up and then kept
(`pasb.numerics.adaptation`).
"""

from __future__ import annotations

import math

import numpy as np

from pasb.binary.softplus_posterior import log_posterior
from pasb.numerics.compiled import kernel
from pasb.variates.scalar import normal, open_stream, uniform

MOST_DOUBLINGS = 8  # 255 gradients
MOST_ERROR = 1000.0  # in energy: a trajectory with more has diverged

# mypy: disable-error-code="call-arg"


@kernel
def turns(inverse_mass, left, right, total):
    """Whether a trajectory turns back, from the momenta at its ends and their sum."""
    at_left, at_right = 0.0, 0.0
    for i in range(total.shape[0]):
        between = total[i] - 0.5 * (left[i] + right[i])
        at_left += inverse_mass[i] * left[i] * between
        at_right += inverse_mass[i] * right[i] * between
    return at_left <= 0.0 or at_right <= 0.0


@kernel
def energy_of(inverse_mass, momentum, log_density):
    """Kinetic energy minus the log-density."""
    total = 0.0
    for i in range(momentum.shape[0]):
        total += inverse_mass[i] * momentum[i] * momentum[i]
    return 0.5 * total - log_density


@kernel
def add_exp(a, b):
    """log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    if low == -np.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@kernel
def leapfrog(rows, prior, work, inverse_mass, step, position, momentum, gradient):
    """One step, in place; the log-density where it leads."""
    for i in range(position.shape[0]):
        momentum[i] += 0.5 * step * gradient[i]
        position[i] += step * inverse_mass[i] * momentum[i]
    log_density = log_posterior(rows, prior, position, gradient, work)
    if log_density == -np.inf:
        gradient[:] = 0.0
    for i in range(position.shape[0]):
        momentum[i] += 0.5 * step * gradient[i]
    return log_density


@kernel
def no_u_turn(rows, prior, work, inverse_mass, step, key, ends, saved, position):
    """Follow one trajectory from `position` and draw a point of it, in place.

    Parameters
    ----------
    rows, prior, work : tuple
        See `pasb.binary.softplus_posterior.log_posterior`.
    inverse_mass : array
        The diagonal metric: the variance that a coordinate is taken to have.
    step : float
    key : uint64
        Of the stream: row 0 for decisions, the rows behind it for the momentum.
    ends : array of shape (2, 3, n)
        Scratch: position, momentum and gradient at both ends.
    saved : array of shape (2, MOST_DOUBLINGS + 1, n)
        Scratch: momenta, and their sums, at points to which later ones are compared.
    position : array of shape (n,)

    Returns
    -------
    n_gradients : int
        0 where the density is zero: then nothing moves.
    acceptance : float
        Mean acceptance probability of the points, by which the step is adapted.
    diverged : bool
    """
    n = position.shape[0]
    stream = open_stream(key, np.int64(0))
    gradient = ends[0, 2]
    log_density = log_posterior(rows, prior, position, gradient, work)
    if log_density == -np.inf:
        return 0, 0.0, False  # beyond the bounds: it stays there
    for i in range(n):
        z, _ = normal(open_stream(key, np.int64(i + 1)))
        ends[0, 1, i] = z / math.sqrt(inverse_mass[i]) if inverse_mass[i] > 0.0 else 0.0
    ends[0, 0] = position
    ends[1] = ends[0]
    energy = energy_of(inverse_mass, ends[0, 1], log_density)
    total = ends[0, 1].copy()  # sum of momenta over the whole trajectory
    proposal, part = np.empty(n), np.empty(n)
    log_weight = 0.0
    n_gradients, sum_acceptance, diverged = 1, 0.0, False
    n_points = 0
    for doubling in range(MOST_DOUBLINGS):
        u, stream = uniform(stream)
        forward = u < 0.5
        end = ends[1] if forward else ends[0]
        signed = step if forward else -step
        # a subtree of as many points as there are, beyond one end
        part[:] = 0.0
        log_part = -np.inf
        turned = False
        for leaf in range(1 << doubling):
            log_density = leapfrog(rows, prior, work, inverse_mass, signed, end[0], end[1], end[2])
            n_gradients += 1
            n_points += 1
            error = energy_of(inverse_mass, end[1], log_density) - energy
            if not error < MOST_ERROR:
                diverged = True
                break
            sum_acceptance += math.exp(min(0.0, -error))
            log_part = add_exp(log_part, -error)
            u, stream = uniform(stream)
            if math.log(u) < -error - log_part:
                proposal[:] = end[0]
            for i in range(n):
                part[i] += end[1, i]
            # momenta of even leaves wait for the odd leaves that close their subtrees
            last = count_bits(leaf >> 1)
            if leaf % 2 == 0:
                saved[0, last] = end[1]
                saved[1, last] = part
                continue
            first = last - trailing_ones(leaf) + 1
            for j in range(last, first - 1, -1):
                between = part - saved[1, j] + saved[0, j]
                if turns(inverse_mass, saved[0, j], end[1], between):
                    turned = True
            if turned:
                break
        if diverged or turned:
            break
        # the new half is preferred, which leaves the distribution as it is
        u, stream = uniform(stream)
        if math.log(u) < log_part - log_weight:
            position[:] = proposal
        log_weight = add_exp(log_weight, log_part)
        for i in range(n):
            total[i] += part[i]
        if turns(inverse_mass, ends[0, 1], ends[1, 1], total):
            break
    return n_gradients, sum_acceptance / max(n_points, 1), diverged


@kernel
def count_bits(n):
    """Ones in the binary form of n."""
    total = 0
    while n > 0:
        total += n & 1
        n >>= 1
    return total


@kernel
def trailing_ones(n):
    """Ones at the end of the binary form of n."""
    total = 0
    while n & 1:
        total += 1
        n >>= 1
    return total
