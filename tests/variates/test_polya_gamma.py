"""Polya-Gamma draws against exact references, from h = 1e-8 to 1e5 and c = 0 to 1e4."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy import stats

from pasb.variates import polya_gamma, polya_gamma_mean, polya_gamma_variance
from pasb.variates.scalar import polya_gammas

N = 300_000
SHAPES = (1e-8, 1e-4, 0.01, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 4.2, 4.5, 10.0, 100.0, 1e5)
TILTS = (0.0, 1e-3, 0.3, 1.0, 3.0, 10.0, 180.0, 1e4)
GRID = [(h, c) for h in SHAPES for c in TILTS]
QUANTILES = np.linspace(0.002, 0.998, 120)


def log_ratio(c, t):
    """log cosh(c/2) - log cosh(sqrt(c^2/4 + t/2)), which is log E exp(-tX) over h."""
    half = 0.5 * abs(c)
    root = np.sqrt(half * half + 0.5 * t)
    gap = 0.5 * t / (root + half)  # root - half, without cancellation
    return -gap + np.log1p(np.exp(-2.0 * half)) - np.log1p(np.exp(-2.0 * root))


def cdf_by_laplace(x, h, c, nodes=32):
    """Distribution function by Talbot's contour; for broad distributions."""
    theta = -np.pi + (np.arange(nodes) + 0.5) * 2.0 * np.pi / nodes
    cot = 1.0 / np.tan(0.6407 * theta)
    z = nodes * (0.5017 * theta * cot - 0.6122 + 0.2645j * theta)
    slope = 0.5017 * cot - 0.5017 * 0.6407 * theta / np.sin(0.6407 * theta) ** 2 + 0.2645j
    t = z / np.asarray(x)[:, None]
    terms = np.exp(z + h * log_ratio(c, t)) / z * nodes * slope
    return np.real(terms.sum(axis=1) / (1j * nodes))


def cdf_by_fourier(x, h, c):
    """Distribution function by Gil-Pelaez; for distributions of modest relative width."""
    mean, deviation = polya_gamma_mean(h, c), np.sqrt(polya_gamma_variance(h, c))
    step = 0.01
    s = (np.arange(6000) + 0.5) * step
    weights = np.exp(h * log_ratio(c, -1j * s / deviation) - 1j * s * mean / deviation) / s
    place = (np.asarray(x) - mean) / deviation
    return 0.5 - np.imag(np.exp(-1j * np.outer(place, s)) @ weights) * step / np.pi


def cdf(x, h, c):
    """Exact distribution function of PG(h, c)."""
    if polya_gamma_variance(h, c) < 0.15 * polya_gamma_mean(h, c) ** 2:
        return cdf_by_fourier(x, h, c)
    return cdf_by_laplace(x, h, c)


def probes(h, c, seed):
    """Places where the distribution has its mass, from draws that no comparison uses."""
    return np.quantile(polya_gamma(h, c, size=20_000, seed=seed + 1), QUANTILES)


def test_the_two_references_agree():
    x = np.linspace(0.2, 5.0, 50)
    for h, c in ((4.5, 0.0), (6.0, 1.0), (8.0, 2.0), (10.0, 0.1)):
        assert np.abs(cdf_by_laplace(x, h, c) - cdf_by_fourier(x, h, c)).max() < 1e-9


@pytest.mark.statistical(level=1e-6)
def test_mean_and_variance(seed, judge):
    for h, c in GRID:
        draws = polya_gamma(h, c, size=N, seed=seed)
        assert np.isfinite(draws).all()
        assert (draws > 0.0).all()
        if h >= 0.1:  # below, the moments rest on rare large values
            mean, variance = polya_gamma_mean(h, c), polya_gamma_variance(h, c)
            judge.mean(f"PG({h}, {c})", draws, mean, np.sqrt(variance))
            judge.variance(f"PG({h}, {c})", draws, mean, variance)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_laplace_transform(seed, judge):
    for h, c in GRID:
        draws = polya_gamma(h, c, size=N, seed=seed)
        for t in 1.0 / probes(h, c, seed)[[1, 30, 60, 90, 118]]:
            expected, square = np.exp(h * log_ratio(c, np.array([t, 2.0 * t])))
            deviation = np.sqrt(max(square - expected**2, 0.0))
            if deviation > 1e-6:
                judge.mean(f"exp(-{t} PG({h}, {c}))", np.exp(-t * draws), expected, deviation)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_distribution(seed, judge):
    for h, c in GRID:
        points = probes(h, c, seed)
        draws = polya_gamma(h, c, size=N, seed=seed)
        judge.distribution_at(f"PG({h}, {c})", draws, points, cdf(points, h, c))
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_tails_at_small_shape(seed, judge):
    """A PG of small h is nearly nil, but for rare draws of the size of one."""
    for h in (1e-5, 1e-4, 1e-3, 0.01, 0.1):
        for c in (0.0, 1.0, 3.0):
            draws = polya_gamma(h, c, size=1_000_000, seed=seed)
            for point in (1e-3, 0.03, 0.3):
                above = int((draws > point).sum())
                chance = 1.0 - cdf_by_laplace(np.array([point]), h, c)[0]
                p_value = stats.binomtest(above, len(draws), chance).pvalue
                judge.add(f"P(PG({h}, {c}) > {point})", p_value)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_exact_method(seed, judge):
    for h, c in ((5.0, 0.0), (20.0, 0.0), (30.0, -1.0), (200.0, 3.0), (500.0, 12.0), (1e4, 1e4)):
        draws = polya_gamma(h, c, size=20_000, seed=seed, method="exact")
        mean, variance = polya_gamma_mean(h, c), polya_gamma_variance(h, c)
        judge.mean(f"PG({h}, {c})", draws, mean, np.sqrt(variance))
        judge.variance(f"PG({h}, {c})", draws, mean, variance)
        points = probes(h, c, seed)
        judge.distribution_at(f"PG({h}, {c})", draws, points, cdf(points, h, c))
    draws = polya_gamma(1e5, 0.0, size=3, seed=seed, method="exact")
    judge.mean("PG(1e5, 0)", draws, 25_000.0, np.sqrt(1e5 / 24.0))
    judge.verdict()


def three_gamma_error(h, c):
    """Largest error of the distribution function of `three_gammas`, by Fourier inversion."""
    first, second, third = polya_gammas._unit_cumulants(c)
    rates = 2.0 * np.pi**2 * np.array([0.5, 1.5]) ** 2 + 0.5 * c * c
    rest = np.array([first, second, third]) - [
        (1.0 / rates).sum(),
        (1.0 / rates**2).sum(),
        (2.0 / rates**3).sum(),
    ]
    scale = 0.5 * rest[2] / rest[1]
    shape = h * rest[1] / scale**2
    shift = h * rest[0] - shape * scale
    assert shift > 0.0
    deviation, step = math.sqrt(h * second), 0.02
    s = (np.arange(3000) + 0.5) * step
    t = s / deviation
    exact = h * log_ratio(c, -1j * t)
    nearly = 1j * t * shift - shape * np.log1p(-1j * t * scale)
    nearly -= h * np.log1p(-1j * t[:, None] / rates).sum(axis=1)
    weights = np.exp(exact - 1j * t * h * first) * -np.expm1(nearly - exact) / s
    places = np.linspace(-5.0, 8.0, 131)
    return np.abs(np.imag(np.exp(-1j * np.outer(places, s)) @ weights)).max() * step / np.pi


def test_three_gammas_err_by_less_than_stated():
    for c in (0.0, 0.2, 0.49, 0.51, 1.0, 2.0, 4.0, 8.0, 14.0):
        for burden in (polya_gammas.THREE_GAMMA_BURDEN, 5.0, 20.0):
            assert three_gamma_error(burden / np.log1p(np.exp(-c)), c) < 1e-7


def series_of_acceptance(x, h):
    """A(x) of the module's text, in sixty digits."""
    getcontext().prec = 60
    x, h = Decimal(x), Decimal(h)
    total, rising = Decimal(0), Decimal(1)
    for n in range(200):
        if n:
            rising *= (h + n - 1) / n
        total += (-1) ** n * rising * (2 * n + h) / h * (-n * (n + h) / (2 * x)).exp()
    return float(total)


def test_bounds_of_the_acceptance_probability():
    for h in (1e-8, 0.01, 0.1, 0.3, 0.6, 1.0, 1.4, 1.8, 2.1):
        assert series_of_acceptance(1.0, h) < np.polyval(polya_gammas._BOUND_ONE[::-1], h)
        assert series_of_acceptance(2.0, h) < np.polyval(polya_gammas._BOUND_TWO[::-1], h)
        assert series_of_acceptance(8.0 + h, h) < 1e-15
        values = [series_of_acceptance(x, h) for x in np.linspace(0.05, 4.0, 30)]
        assert (np.diff(values) <= 1e-15).all()
        for x in (0.05, 0.3, 0.9, 1.5, 3.0):
            chance = series_of_acceptance(x, h)
            assert polya_gammas._accepts(chance * (1 - 1e-9), x, h)
            assert not polya_gammas._accepts(chance * (1 + 1e-9), x, h)


def test_moments_agree_with_the_sum_over_gammas():
    k = np.arange(1, 400_001) - 0.5
    for c in (0.0, 1e-9, 1e-3, 0.1, 0.499, 0.501, 2.0, 30.0):
        rates = 2.0 * np.pi**2 * k**2 + 0.5 * c * c
        tail = 1.0 / (2.0 * np.pi**2 * 400_000)
        assert polya_gamma_mean(3.0, c) == pytest.approx(3.0 * (1 / rates).sum() + 3 * tail)
        variance = 3.0 * (1.0 / rates**2).sum()
        assert polya_gamma_variance(3.0, c) == pytest.approx(variance, rel=1e-12)
        third = 2.0 * (1.0 / rates**3).sum()
        assert polya_gammas._unit_cumulants(c)[2] == pytest.approx(third, rel=1e-10)
    assert polya_gamma_mean(1.0, -1e4) == pytest.approx(5e-5, rel=1e-12)
    assert polya_gamma_variance(1.0, 1e4) == pytest.approx(5e-13, rel=1e-12)
    assert polya_gamma_variance(1.0, 1e300) >= 0.0


def test_extreme_arguments_give_numbers():
    for h in (1e-300, 1e-100, 1e-8, 1.0, 1e5, 4e8, 1e100, 1e300):
        for c in (0.0, 1e-300, 1e-8, 250.0, 1e7, 1e8, 1e100, 1e300):
            draws = polya_gamma(h, c, size=100, seed=1)
            assert np.isfinite(draws).all(), (h, c)
            assert (draws >= 0.0).all(), (h, c)
            assert np.array_equal(draws, polya_gamma(h, -c, size=100, seed=1))
