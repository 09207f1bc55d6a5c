"""A normal approximation of a stick's coefficients, bent where its tails are heavy.

Where classes are nearly separated, the likelihood does not hold back a large coefficient, and
its posterior has the heavy tail of the t prior on one side. So an approximation may be normal on
another scale: with a *bend* k > 0, the coefficient b has the position

    u = asinh(k b) / k,  b = sinh(k u) / k,  db/du = cosh(k u),

which is b itself near zero and its logarithm far out, on either side. With a bend of zero, u is b.

Compiled code takes an approximation as one array: mode, scale and factor of the precision matrix
S^-1 L L' S^-1 of u, with S = diag(scale) and L = factor, lower triangular; the bends; then
log-determinant and log-evidence. Five arguments would cost more.

As a proposal it gets a wide second component, so that the tails are covered.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pasb.binary.coefficient_prior import coefficient_log_prior
from pasb.numerics.compiled import kernel, summing
from pasb.numerics.gaussian import draw_around, squared_distance

WIDE_SHARE, WIDTH = 0.2, 1.7  # the second component of the proposal

# mypy: disable-error-code="call-arg"


def pack(
    mode: NDArray[np.float64],
    scale: NDArray[np.float64],
    factor: NDArray[np.float64],
    log_determinant: float,
    log_evidence: float,
    bend: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Put the parts of an approximation into one array; it is not bent by default."""
    bend = np.zeros(len(mode)) if bend is None else bend
    ends = [log_determinant, log_evidence]
    return np.concatenate([mode, scale, np.tril(factor).ravel(), bend, ends])


def packed_size(n_columns: int) -> int:
    """Numbers in a packed approximation."""
    return (n_columns + 1) * (n_columns + 2)


@kernel
def unpacked(packed):
    """Mode, scale, factor, log-determinant, log-evidence; views, no copies."""
    n = int(math.sqrt(packed.shape[0])) - 1  # see `packed_size`
    factor = packed[2 * n : 2 * n + n * n].reshape(n, n)
    return packed[:n], packed[n : 2 * n], factor, packed[-2], packed[-1]


@kernel
def bend_of(packed):
    """The bends of a packed approximation; a view."""
    n = int(math.sqrt(packed.shape[0])) - 1
    return packed[packed.shape[0] - 2 - n : packed.shape[0] - 2]


@kernel
def position(bend, coef, out):
    """From coefficients to positions."""
    for v in range(coef.shape[0]):
        k = bend[v]
        out[v] = math.asinh(k * coef[v]) / k if k > 0.0 else coef[v]


@kernel
def coefficients(bend, place, out):
    """From positions to coefficients."""
    for v in range(place.shape[0]):
        k = bend[v]
        out[v] = math.sinh(k * place[v]) / k if k > 0.0 else place[v]


@kernel
def log_rise(bend, coef):
    """Log of the determinant of db/du at some coefficients."""
    total = 0.0
    for v in range(coef.shape[0]):
        if bend[v] > 0.0:
            total += 0.5 * math.log1p((bend[v] * coef[v]) ** 2)
    return total


@kernel
def slope_of_position(bend, coef, slope, out):
    """From the gradient of a log-density of b to that of the log-density of u."""
    for v in range(coef.shape[0]):
        k = bend[v]
        if k > 0.0:
            rise = math.sqrt(1.0 + (k * coef[v]) ** 2)
            out[v] = rise * slope[v] + k * k * coef[v] / rise
        else:
            out[v] = slope[v]


@kernel
def draw_gaussian(packed, key, out):
    """Draw coefficients from an approximation, or from a wider one."""
    mode, scale, factor, _, _ = unpacked(packed)
    draw_around(mode, scale, factor, WIDE_SHARE, WIDTH, key, out)
    coefficients(bend_of(packed), out, out)


@kernel
def draw_narrow(packed, key, out):
    """Draw coefficients from an approximation itself."""
    mode, scale, factor, _, _ = unpacked(packed)
    draw_around(mode, scale, factor, 0.0, 1.0, key, out)
    coefficients(bend_of(packed), out, out)


@kernel
def _distance_and_constant(packed, at):
    mode, scale, factor, log_determinant, _ = unpacked(packed)
    bend = bend_of(packed)
    n = mode.shape[0]
    place = np.empty(n)
    position(bend, at, place)
    distance = squared_distance(mode, scale, factor, place)
    constant = 0.5 * log_determinant - 0.5 * n * math.log(2 * math.pi) - log_rise(bend, at)
    return distance, constant


@kernel
def gaussian_log_density(packed, at):
    """Log-density of what `draw_gaussian` draws."""
    n = at.shape[0]
    distance, constant = _distance_and_constant(packed, at)
    narrow = math.log1p(-WIDE_SHARE) - 0.5 * distance
    wide = math.log(WIDE_SHARE) - n * math.log(WIDTH) - 0.5 * distance / WIDTH**2
    high, low = max(narrow, wide), min(narrow, wide)
    return constant + high + math.log1p(math.exp(low - high))


@kernel
def narrow_log_density(packed, at):
    """Log-density of what `draw_narrow` draws."""
    distance, constant = _distance_and_constant(packed, at)
    return constant - 0.5 * distance


@kernel
def log_weight(packed, at, prior):
    """Log of prior over proposal, up to a constant that depends on the size only."""
    return coefficient_log_prior(at, 1.0, prior) - gaussian_log_density(packed, at)


@summing
def solve(scale, factor, right, out):
    """``out = S L^-T L^-1 S right``: by the inverse of an approximation's precision matrix."""
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


@summing
def multiply(scale, factor, vector, out):
    """``out = S^-1 L L' S^-1 vector``: by the approximation's precision matrix."""
    n = scale.shape[0]
    for j in range(n):
        out[j] = 0.0
    for i in range(n):
        row = factor[i]
        value = vector[i] / scale[i]
        for k in range(i + 1):
            out[k] += row[k] * value
    for i in range(n - 1, -1, -1):
        row = factor[i]
        total = 0.0
        for k in range(i + 1):
            total += row[k] * out[k]
        out[i] = total / scale[i]
