"""Continuous variates against SciPy over grids that reach the corners."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import special, stats

from pasb import variates
from pasb.variates.scalar import open_stream, stream_key, ziggurat

N = 200_000


@njit
def fill_with_tail(key, out):
    for i in range(out.size):
        out[i], _ = ziggurat._normal_tail(open_stream(key, i))


@pytest.mark.statistical(level=1e-6)
def test_uniform_normal_exponential(seed, judge):
    for name, known in (
        ("uniform", stats.uniform),
        ("normal", stats.norm),
        ("exponential", stats.expon),
    ):
        draws = getattr(variates, name)(size=2_000_000, seed=seed)
        judge.distribution(name, draws, known.cdf)
        judge.mean(name, draws, known.mean(), known.std())
        judge.variance(name, draws, known.mean(), known.var())
        for tail in (1e-2, 1e-3, 1e-4):
            for side, count in (
                ("above", (draws > known.isf(tail)).sum()),
                ("below", (draws < known.ppf(tail)).sum()),
            ):
                p_value = stats.binomtest(int(count), len(draws), tail).pvalue
                judge.add(f"{name} {side} {tail}", p_value)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_tail_of_the_normal_ziggurat(seed, judge):
    # The tail by itself, for there are few of it among the draws, ...
    draws = np.empty(2_000_000)
    fill_with_tail(np.uint64(stream_key(seed, 0, 0, 0, 0, 0)), draws)
    whole = stats.norm.sf(ziggurat.NORMAL_TAIL)
    judge.distribution("tail by itself", draws, lambda x: 1.0 - stats.norm.sf(x) / whole)
    # ... and where it joins the rest.
    draws = np.abs(variates.normal(size=5_000_000, seed=seed))
    whole = stats.norm.sf(3.5)
    judge.distribution("tail", draws[draws > 3.5], lambda x: 1.0 - stats.norm.sf(x) / whole)
    draws = variates.exponential(size=5_000_000, seed=seed)
    judge.distribution("exponential tail", draws[draws > 7.6] - 7.6, stats.expon.cdf)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_gamma(seed, judge):
    for shape in (0.02, 0.5, 0.999, 1.0, 1.001, 2.5, 30.0, 1e3, 9e4, 2e5, 1e8, 1e15):
        draws = variates.gamma(shape, size=N, seed=seed)
        if shape < 1e12:
            judge.distribution(f"gamma({shape})", draws, stats.gamma(shape).cdf)
        else:
            judge.distribution(f"gamma({shape})", (draws - shape) / np.sqrt(shape), stats.norm.cdf)
        if shape > 0.1:
            judge.mean(f"gamma({shape})", draws, shape, np.sqrt(shape))
            judge.variance(f"gamma({shape})", draws, shape, shape)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_log_gamma(seed, judge):
    for shape in (1e-300, 1e-100, 1e-12, 1e-3, 0.3, 1.0, 7.0, 1e4):
        draws = variates.log_gamma(shape, size=N, seed=seed)
        assert np.isfinite(draws).all()
        if shape <= 1e-12:
            # a log G is minus an exponential, up to a few times a
            judge.distribution(f"log_gamma({shape})", -shape * draws, stats.expon.cdf)
        else:
            judge.distribution(f"log_gamma({shape})", draws, stats.loggamma(shape).cdf)
            deviation = np.sqrt(special.polygamma(1, shape))
            judge.mean(f"log_gamma({shape})", draws, special.digamma(shape), deviation)
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_inverse_gaussian(seed, judge):
    for mean in (1e-3, 0.5, 1.0, 40.0, 1e6):
        for shape in (1e-4, 0.3, 1.0, 50.0, 1e5):
            draws = variates.inverse_gaussian(mean, shape, size=N, seed=seed)
            known = stats.invgauss(mean / shape, scale=shape)
            judge.distribution(f"inverse_gaussian({mean}, {shape})", draws, known.cdf)
    draws = variates.inverse_gaussian(np.inf, 2.0, size=N, seed=seed)
    judge.distribution("Levy", draws, stats.levy(scale=2.0).cdf)
    draws = variates.inverse_gaussian(2.0, 3.0, size=N, seed=seed)
    judge.mean("inverse_gaussian(2, 3)", draws, 2.0, np.sqrt(8.0 / 3.0))
    judge.verdict()


INTERVALS = [
    (-np.inf, np.inf),
    (-np.inf, 0.0),
    (0.0, np.inf),
    (0.59, np.inf),
    (0.61, np.inf),
    (-np.inf, -3.0),
    (5.0, np.inf),
    (-1.0, 1.0),
    (-0.3, 1.9),
    (-0.3, 2.1),
    (-8.0, 1.0),
    (-8.0, -7.0),
    (0.2, 0.2001),
    (3.0, 3.0001),
    (1.0, 1.5),
    (10.0, 12.0),
]


def restricted(known, lower, upper):
    """Distribution function of a distribution on an interval, by whichever tail is accurate."""
    if lower > 0.0:
        whole = known.sf(lower) - known.sf(upper)
        return lambda x: (known.sf(lower) - known.sf(x)) / whole
    whole = known.cdf(upper) - known.cdf(lower)
    return lambda x: (known.cdf(x) - known.cdf(lower)) / whole


@pytest.mark.statistical(level=1e-6)
def test_truncated_normal(seed, judge):
    for lower, upper in INTERVALS:
        draws = variates.truncated_normal(lower, upper, size=N, seed=seed)
        assert lower <= draws.min()
        assert draws.max() <= upper
        judge.distribution(f"[{lower}, {upper}]", draws, restricted(stats.norm, lower, upper))
    # Far out, x^2/2 is a shifted exponential but for a factor 1/x.
    for lower in (40.0, 1e4, 1e6):
        draws = variates.truncated_normal(lower, np.inf, size=N, seed=seed)
        tail = special.log_ndtr(-lower)
        judge.distribution(
            f"beyond {lower}", draws, lambda x, tail=tail: -np.expm1(special.log_ndtr(-x) - tail)
        )
    draws = variates.truncated_normal(41.0, np.inf, loc=1.0, scale=2.0, size=N, seed=seed)
    tail = special.log_ndtr(-20.0)
    judge.distribution(
        "loc and scale", draws, lambda x: -np.expm1(special.log_ndtr(-(x - 1.0) / 2.0) - tail)
    )
    judge.verdict()


@pytest.mark.statistical(level=1e-6)
def test_truncated_t(seed, judge):
    for df in (0.3, 1.0, 2.5, 7.0, 60.0, 1e6):
        known = stats.t(df)
        for lower, upper in INTERVALS:
            if df == 1e6 and lower == 10.0:
                continue  # SciPy's tail has too few digits
            draws = variates.truncated_t(df, lower, upper, size=N // 4, seed=seed)
            assert lower <= draws.min()
            assert draws.max() <= upper
            judge.distribution(
                f"t({df}) in [{lower}, {upper}]", draws, restricted(known, lower, upper)
            )
    # Far out the distribution is that of Pareto.
    for df, lower in ((0.1, 1e10), (3.0, 1e6), (7.0, 1e200)):
        draws = variates.truncated_t(df, lower, np.inf, size=N, seed=seed)
        judge.distribution(f"t({df}) beyond {lower}", draws / lower, stats.pareto(df).cdf)
    draws = variates.truncated_t(1e-3, -1e10, 1e10, size=N, seed=seed)
    root = np.sqrt(1e-3)
    judge.distribution(
        "nearly flat in asinh",
        np.arcsinh(draws / root) / np.arcsinh(1e10 / root) / 2.0 + 0.5,
        lambda x: restricted_log_t(x, 1e-3, 1e10),
    )
    draws = variates.truncated_t(np.inf, 1.0, 3.0, size=N, seed=seed)
    judge.distribution("t(inf)", draws, restricted(stats.norm, 1.0, 3.0))
    judge.verdict()


def restricted_log_t(x, df, bound):
    """Distribution function of (asinh(t/sqrt(df)) / asinh(bound/sqrt(df)) + 1) / 2.

    The density in v = asinh(t/sqrt(df)) is cosh(v)^-df; summed by the midpoint rule.
    """
    edge = np.arcsinh(bound / np.sqrt(df))
    grid = np.linspace(-edge, edge, 200_001)
    middle = 0.5 * (grid[1:] + grid[:-1])
    mass = np.concatenate([[0.0], np.cumsum(np.exp(-df * np.log(np.cosh(middle))))])
    return np.interp((2.0 * x - 1.0) * edge, grid, mass / mass[-1])
