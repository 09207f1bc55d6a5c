"""Counts against their exact probabilities, and against moments where counts are large."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from pasb import variates
from pasb.variates.scalar import crts

N = 200_000


@pytest.mark.statistical(level=1e-6)
def test_poisson(seed, judge):
    for rate in (1e-4, 0.3, 1.0, 9.99, 10.0, 14.5, 100.0, 3000.0):
        draws = variates.poisson(rate, size=N, seed=seed)
        judge.counts(f"poisson({rate})", draws, stats.poisson(rate).pmf)
    for rate in (1e5, 1e9, 1e15, 2.0**60):
        draws = variates.poisson(rate, size=N, seed=seed)
        centred = (draws - rate) / np.sqrt(rate)
        judge.mean(f"poisson({rate})", centred, 0.0, 1.0)
        judge.variance(f"poisson({rate})", centred, 0.0, 1.0)
        if rate >= 1e9:
            judge.distribution(f"poisson({rate})", centred, stats.norm.cdf)
    assert (variates.poisson(0.0, size=100, seed=seed) == 0).all()
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_zero_truncated_poisson(seed, judge):
    for rate in (1e-3, 0.3, 1.0, 5.0, 30.0):
        draws = variates.zero_truncated_poisson(rate, size=N, seed=seed)
        assert draws.min() >= 1

        def pmf(k, rate=rate):
            return np.where(k > 0, stats.poisson(rate).pmf(k) / -np.expm1(-rate), 0.0)

        judge.counts(f"zero_truncated_poisson({rate})", draws, pmf)
    for rate in (0.0, 1e-300, 1e-20):
        assert (variates.zero_truncated_poisson(rate, size=1000, seed=seed) == 1).all()
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_binomial(seed, judge):
    for n in (1, 2, 17, 60, 1000, 100_000):
        for p in (1e-5, 0.03, 0.3, 0.5, 0.77, 0.9999):
            draws = variates.binomial(n, p, size=N, seed=seed)
            assert draws.max() <= n
            judge.counts(f"binomial({n}, {p})", draws, stats.binom(n, p).pmf)
    for n, p in ((10**9, 0.3), (10**15, 1e-6), (2**62, 0.5), (10**15, 0.99)):
        draws = variates.binomial(n, p, size=N, seed=seed)
        centred = ((draws - int(n * p)) - (n * p - int(n * p))) / np.sqrt(n * p * (1 - p))
        judge.mean(f"binomial({n}, {p})", centred, 0.0, 1.0)
        judge.variance(f"binomial({n}, {p})", centred, 0.0, 1.0)
        judge.distribution(f"binomial({n}, {p})", centred, stats.norm.cdf)
    draws = variates.binomial(2**62, 2.0**-62, size=N, seed=seed)
    judge.counts("binomial of mean one", draws, stats.poisson(1.0).pmf)
    judge.verdict()


def crt_pmf(m, r):
    """Probabilities of CRT(m, r), adding one guest after the other."""
    pmf = np.ones(1)
    for j in range(m):
        p = r / (r + j)
        pmf = np.convolve(pmf, [1.0 - p, p])
    return pmf


@pytest.mark.statistical(level=1e-6)
def test_crt_against_exact_probabilities(seed, judge):
    for m in (1, 2, 5, 40, 130, 700):
        for r in (1e-6, 0.02, 0.7, 3.0, 40.0, 1e3, 1e5):
            draws = variates.crt(m, r, size=N // 2, seed=seed)
            assert draws.min() >= 1
            assert draws.max() <= m
            exact = np.append(crt_pmf(m, r), 0.0)
            judge.counts(f"crt({m}, {r})", draws, lambda k, exact=exact: exact[k])
    judge.verdict()


def crt_moments(m, r):
    """Mean and variance by digamma functions."""
    mean = r * (special.digamma(r + m) - special.digamma(r))
    spread = r * r * (special.polygamma(1, r) - special.polygamma(1, r + m))
    return mean, mean - spread


@pytest.mark.statistical(level=1e-6)
def test_crt_of_many_guests(seed, judge):
    for m, r in ((10**4, 300.0), (10**5, 1.0), (10**6, 1e4), (10**5, 1e7), (10**12, 20.0)):
        draws = variates.crt(m, r, size=10_000, seed=seed)
        mean, variance = crt_moments(m, r)
        judge.mean(f"crt({m}, {r})", draws, mean, np.sqrt(variance))
        judge.variance(f"crt({m}, {r})", draws, mean, variance)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_crt_of_astronomically_many_guests(seed, judge):
    for m, r in ((10**18, 1e9), (10**12, 1e12), (10**17, 1e10)):
        draws = variates.crt(m, r, size=N, seed=seed)
        failures, variance, _ = crts._crt_moments(float(m), r)
        centred = (draws - (m - failures)) / np.sqrt(variance)
        judge.mean(f"crt({m}, {r})", centred, 0.0, 1.0)
        judge.variance(f"crt({m}, {r})", centred, 0.0, 1.0)
    judge.verdict()


def test_normal_crt_has_the_right_moments():
    for m, r in ((10**5, 3e3), (10**4, 1e6), (3 * 10**5, 3e5)):
        j = np.arange(m)
        p = r / (r + j)
        failures, variance, third = crts._crt_moments(float(m), r)
        assert failures == pytest.approx((1.0 - p).sum(), abs=1e-3)
        assert variance == pytest.approx((p * (1.0 - p)).sum(), rel=1e-5)
        # Without the correction by half a term, which matters little to a third moment.
        assert third == pytest.approx((p * (1.0 - p) * (1.0 - 2.0 * p)).sum(), rel=1e-2)


def test_normal_crt_errs_by_less_than_stated():
    """The exact probabilities, by Fourier inversion, at variances that are within reach."""
    for m, r in ((4000, 4000.0), (40_000, 1000.0), (4000, 40_000.0)):
        j = np.arange(m)
        p = r / (r + j)
        failures, variance, third = crts._crt_moments(float(m), r)
        size = 2 ** int(np.ceil(np.log2(30.0 * np.sqrt(variance))))
        turn = np.exp(2j * np.pi * np.arange(size) / size)
        start = int(m - failures) - size // 2
        transform = np.exp(np.array([np.log1p(p * (z - 1.0)).sum() for z in turn]))
        pmf = np.real(np.fft.fft(transform * turn ** (-float(start)))) / size
        points = start + np.arange(size) + 0.5
        place = (points - (m - failures)) / np.sqrt(variance)
        skew = third / variance**1.5
        inside = np.abs(place) < 7.0
        # The draw is below `place` when z + skew (z^2 - 1)/6 is.
        z = (-1.0 + np.sqrt(1.0 + 4.0 * skew / 6.0 * (place[inside] + skew / 6.0))) / (
            2.0 * skew / 6.0
        )
        error = np.abs(stats.norm.cdf(z) - np.cumsum(pmf)[inside]).max()
        assert error < 0.1 / variance
