"""The distribution function of t: its logs, its far tails, and the pieces that kernels use."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr

from pasb.binary.t_link import log_cdf, log_cdf_and_slope, log_tail, t_constant, t_link


@pytest.mark.parametrize("df", [0.3, 1.0, 6.0, 40.0, np.inf])
def test_pieces_against_the_continued_fraction(df):
    link = t_link(df)
    u = np.concatenate([np.linspace(-20, 20, 4001), [-1e3, 1e3, 0.0]])
    for x in u:
        low = log_tail(x, df, link[1])
        expected = np.log1p(-np.exp(low)) if x > 0 else low
        value, slope = log_cdf_and_slope(x, *link)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert value == log_cdf(x, *link)
        log_f = stats.norm.logpdf(x) if df == np.inf else stats.t.logpdf(x, df)
        assert slope == pytest.approx(np.exp(log_f - expected), rel=1e-8, abs=1e-10)


DEGREES = [0.3, 1.0, 2.0, 6.0, 7.3, 40.0, 1e3, 1e5, np.inf]


def log_tails(x, df):
    return np.array([log_tail(value, df, t_constant(df)) for value in x])


@pytest.mark.parametrize("df", DEGREES)
def test_nan_stays_nan(df):
    """No comparison of NaN is true, so a branch for numbers may never end."""
    assert np.isnan(log_tails([np.nan, -np.nan], df)).all()
    assert np.isnan(log_cdf(np.nan, *t_link(df)))


@pytest.mark.parametrize("df", DEGREES)
def test_log_tail_against_scipy(df):
    x = np.concatenate([10.0 ** np.arange(-6, 0), np.linspace(0, 30, 301)])
    expected = log_ndtr(-x) if df == np.inf else stats.t.logcdf(-x, df)
    # scipy's own logs give out where the tail is not a floating-point number
    right = np.isfinite(expected) & (expected > -650)
    assert right.sum() > 200
    # near zero scipy loses digits for df = 1
    assert log_tails(x[right], df) == pytest.approx(expected[right], rel=1e-10, abs=1e-7)


def test_far_tails_have_closed_forms():
    """F(-x) is atan(1 / x) / pi for df = 1, and 1 / (r (r + x)) with r^2 = 2 + x^2 for df = 2."""
    x = np.geomspace(1e-3, 1e12, 61)
    r = np.sqrt(2 + x**2)
    assert log_tails(x, 1.0) == pytest.approx(np.log(np.arctan2(1, x) / np.pi), rel=1e-13)
    assert log_tails(x, 2.0) == pytest.approx(-np.log(r * (r + x)), rel=1e-13)


@pytest.mark.parametrize("df", [6.0, 60.0, 1e4, 1e6])
def test_far_tails_by_quadrature(df):
    """log F(-x) = log f(x) + log of the integral of f(x + s) / f(x), which has no small parts."""
    nodes, weights = np.polynomial.laguerre.laggauss(60)
    for x in (40.0, 300.0, 1e3, 1e4):
        rate = (df + 1) * x / (df + x**2)  # minus the slope of log f at x
        s = nodes / rate
        ratio = -0.5 * (df + 1) * np.log1p(s * (2 * x + s) / (df + x**2)) + nodes
        expected = stats.t.logpdf(x, df) + np.log(np.sum(weights * np.exp(ratio)) / rate)
        assert log_tails([x], df)[0] == pytest.approx(expected, rel=1e-6)
