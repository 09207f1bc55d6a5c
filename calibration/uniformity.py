"""Whether ranks are uniform: the ECDF and its simultaneous bands, exactly.

Of n ranks in 0..L, the number at most k is binomial under uniformity. A rank histogram is judged
by the smallest two-sided binomial p-value over all k, and the distribution of that minimum is that
of one path staying between bounds (Sailynoja, Burkner and Vehtari 2022). They simulate it; here it
is computed: counts per rank are independent Poisson variables given their sum, so the probability
that the path stays inside is a chain of convolutions. That reaches far into the tail, which a
correction for hundreds of tests needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom

LEAST = 1e-12  # smaller p-values are lost in rounding


def counts_up_to(ranks: NDArray[np.int64], n_draws: int) -> NDArray[np.int64]:
    """How many ranks are at most k, for k = 0..n_draws - 1."""
    return np.cumsum(np.bincount(ranks, minlength=n_draws + 1))[:-1]


def pointwise(counts: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Two-sided binomial p-values of the counts, each on its own."""
    share = np.arange(1, len(counts) + 1) / (len(counts) + 1)
    both = np.minimum(binom.cdf(counts, n, share), binom.sf(counts - 1, n, share))
    return np.minimum(1.0, 2 * both)


def p_value(ranks: NDArray[np.int64], n_draws: int) -> float:
    """Probability that n uniform ranks leave as narrow a band as these do, at least 1e-12."""
    n = len(ranks)
    least = pointwise(counts_up_to(ranks, n_draws), n).min()
    return max(LEAST, 1.0 - stays_inside(least, n, n_draws))


def bounds(gamma: float, n: int, n_draws: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Least and greatest counts whose pointwise p-value is above `gamma`."""
    share = np.arange(1, n_draws + 1) / (n_draws + 1)
    lower = binom.ppf(gamma / 2, n, share).astype(np.int64)
    lower += binom.cdf(lower, n, share) <= gamma / 2
    upper = binom.isf(gamma / 2, n, share).astype(np.int64)
    upper -= binom.sf(upper - 1, n, share) <= gamma / 2
    return lower, upper


def stays_inside(gamma: float, n: int, n_draws: int) -> float:
    """Probability that no pointwise p-value of n uniform ranks is `gamma` or less."""
    lower, upper = bounds(gamma, n, n_draws)
    kernel = _poisson(np.arange(n + 1), n / (n_draws + 1))
    mass = np.zeros(n + 1)
    mass[0] = 1.0
    for low, high in zip(lower, upper, strict=True):
        mass = np.convolve(mass, kernel)[: n + 1]
        mass[:low] = 0.0
        mass[high + 1 :] = 0.0
    return float(np.dot(mass, kernel[::-1]) / _poisson(np.array(n), float(n)))


def band(level: float, n: int, n_draws: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts between which the whole path stays with probability 1 - `level` or a little more."""
    low, high = level / (2 * n_draws), level
    for _ in range(25):
        middle = np.sqrt(low * high)
        if 1.0 - stays_inside(middle, n, n_draws) <= level:
            low = middle
        else:
            high = middle
    return bounds(low, n, n_draws)


def _poisson(k: NDArray[np.int64], mean: float) -> NDArray[np.float64]:
    return np.exp(k * np.log(mean) - mean - gammaln(k + 1.0))
